"""
How many clusters, which structure?
===================================

Questions without labels to answer them. Numbers of clusters are fitted again on noisy copies, and on data without
clusters; structures are compared over the same clusters. What comes back is a table of evidence with a choice and its
reason: a hint, no proof.
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
# Left, the bars are what data without clusters reach, and the filled dot is the choice; right, probabilities.

fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8))
for ax, found, title in zip(axes, [number, structure], ["how many clusters?", "which structure?"], strict=True):
    SelectionDisplay.from_selection(found, ax=ax).ax_.set_title(title)
plt.show()
