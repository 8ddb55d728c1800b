"""Put the shuffled pictures of a turning photograph back on their ring, and draw it."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from kernelclust import StructuredClustering
from kernelclust.datasets import rotated_images
from kernelclust.metrics import structured_accuracy
from kernelclust.plots import plot_embedding

turned = rotated_images(n_clusters=10, random_state=0)  # 350 images, 10 groups around a full turn
model = StructuredClustering(structure="ring:10", random_state=0).fit(turned.data)

accuracy = structured_accuracy(turned.target, model.labels_, "ring:10")
print(f"right group at the right place, up to turning and mirroring the ring: {accuracy:.0%}")
print(f"objective {model.objective_:.1f}, at most {model.upper_bound_:.1f}")
print(f"confidence in the order {model.order_confidence_:.2f}")

ax = plot_embedding(turned.data, model.labels_, model.structure_)
picture = Path("build/examples/ring.png")
picture.parent.mkdir(parents=True, exist_ok=True)
ax.figure.savefig(picture, dpi=120)
print(f"picture: {picture}")
