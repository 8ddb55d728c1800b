"""
How many clusters, which structure?
===================================

Both can be chosen without labels. Numbers of clusters are compared with fits of noisy copies of the data and of
reference data without clusters; structures are compared over the same clusters. The result is a table with a choice
and its reason. It is a hint, not a proof.
"""

import matplotlib.pyplot as plt

from kernelclust import select_n_clusters, select_structure
from kernelclust.datasets import rotated_images, structured_blobs
from kernelclust.plots import SelectionDisplay

# %%
# **How many?** Four blobs.

blobs = structured_blobs("flat:4", n_samples=120, noise=0.2, random_state=0)
number = select_n_clusters(blobs.data, range(2, 7), n_perturbations=2, n_null=5, random_state=0)
print(number)

# %%
# **Which structure?** A photograph, turned full circle.

turned = rotated_images(6, per_cluster=10, skip=3, size=16, random_state=0)
structure = select_structure(turned.data, n_clusters=6, random_state=0)
print(structure)

# %%
# Left: the bars show the range for data without clusters, and the filled dot is the choice. Right: probabilities.

fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8))
for ax, selection, title in zip(axes, [number, structure], ["how many clusters?", "which structure?"], strict=True):
    SelectionDisplay.from_selection(selection, ax=ax).ax_.set_title(title)
plt.show()
