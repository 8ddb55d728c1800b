"""Which kernel, how many clusters, which structure? Tables of evidence instead of a guess."""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")

from sklearn.datasets import make_circles

from kernelclust import select_kernel, select_n_clusters, select_structure
from kernelclust.datasets import rotated_images, structured_blobs
from kernelclust.plots import plot_selection

X, ring = make_circles(200, factor=0.4, noise=0.05, random_state=0)
kernel = select_kernel(X, n_clusters=2, n_perturbations=3, n_null=5, random_state=0)
print(kernel, end="\n\n")

blobs = structured_blobs("flat:4", n_samples=120, noise=0.2, random_state=0)
number = select_n_clusters(blobs.data, range(2, 7), n_perturbations=2, n_null=5, random_state=0)
print(number, end="\n\n")

turned = rotated_images(6, per_cluster=12, skip=3, size=16, random_state=0)  # a full turn
structure = select_structure(turned.data, ["flat:6", "chain:6", "ring:6"], n_perturbations=0, n_null=9, random_state=0)
print(structure, end="\n\n")

ax = plot_selection(number)
picture = Path("build/examples/selection.png")
picture.parent.mkdir(parents=True, exist_ok=True)
ax.figure.savefig(picture, dpi=120)
print(f"samples in each ring: {np.bincount(kernel.labels_)}; picture: {picture}")
