"""
Getting started
===============

Ten minutes, from a table to clusters in order. You need Python 3.11 or later, and
``pip install ".[cli,plot]"`` in a clone of the repository.

A table
-------

The table has three hundred rows and a column for each of ten sensors. The sensors depend on the time of day, but no
column contains it.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelclust import StructuredClustering, select_n_clusters
from kernelclust.plots import EmbeddingDisplay, SimilarityDisplay, StructureDisplay

rng = np.random.default_rng(0)
hour = rng.choice([0, 4, 8, 12, 16, 20], 300) + rng.normal(0, 0.5, 300)  # six shifts, unknown to the model
clock = np.column_stack([np.cos(hour * np.pi / 12), np.sin(hour * np.pi / 12)])
X = clock @ rng.standard_normal((2, 10)) + 0.1 * rng.standard_normal((300, 10))

# %%
# Fit
# ---
#
# You know that there are six shifts, and that the first follows the last: they form a ring of six. Pass this as
# `structure`. Nothing else has to be set.

model = StructuredClustering(structure="ring:6", random_state=0).fit(X)
print("the first labels:", model.labels_[:12])

# %%
# Cluster 3 lies between 2 and 4, and 5 is next to 0. The samples in the plane of the first two principal components,
# with the ring drawn through the cluster means:

EmbeddingDisplay.from_predictions(X, model.labels_, model.structure_)
plt.show()

# %%
# The data do not determine where the ring begins or which way it runs. The true hours of the clusters rise or fall from
# one cluster to the next:

for node in range(6):
    hours = hour[model.labels_ == node]
    print(f"cluster {node}: {len(hours)} samples, around {np.median(hours) % 24:4.1f} o'clock")

# %%
# How certain is the order?
# -------------------------
#
# - ``order_confidence_`` is the estimated probability that the order is correct. Below 0.5 a warning gives the reason.
# - ``gap_`` is an upper bound on how far the objective is from its maximum. It is about the optimizer: a small gap does
#   not mean that the clusters are meaningful.

print(f"order_confidence_ {model.order_confidence_:.2f}, gap_ {model.gap_:.2f}")

# %%
# The mean similarity between clusters, in their order, should fall with the distance from the diagonal, and on a ring
# rise again in the corners:

K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 10)
SimilarityDisplay.from_predictions(K, model.labels_, model.structure_)
plt.show()

# %%
# New samples and continuous positions
# ------------------------------------
#
# ``predict`` returns the clusters of new samples, and ``position`` their continuous positions along the ring. The three
# new samples are from midnight, about two and about four o'clock. ``medoids_`` are the most typical samples.

new = np.array([[1.0, 0.0], [np.cos(0.5), np.sin(0.5)], [np.cos(1.0), np.sin(1.0)]])  # 0:00, 1:55, 3:49
new = new @ np.linalg.lstsq(clock, X, rcond=None)[0]
print("labels:   ", model.predict(new))
print("positions:", model.position(new).round(2))
print("medoids:  ", model.medoids_)

# %%
# Known labels
# ------------
#
# Two known labels, of one row around midnight and one around eight, fix where the ring begins and which way it runs.
# All other rows have -1.

y = np.full(300, -1)
for node in (0, 2):
    y[np.argmin(np.abs(hour - 4 * node))] = node
anchored = StructuredClustering(structure="ring:6", random_state=0).fit(X, y)
shift = np.round(hour / 4).astype(int) % 6
print(f"in the correct shift: {np.mean(anchored.labels_ == shift):.0%}")

names = [f"{4 * node}h" for node in range(6)]
StructureDisplay.from_estimator(anchored, names=names).ax_.set_title(
    "six shifts; the area of a node is the cluster size"
)
plt.show()

# %%
# How many clusters?
# ------------------
#
# If the number of clusters is unknown, compare several: the table has the scores and the reason for the choice. It is a
# hint, not a proof.

print(select_n_clusters(X, range(3, 9), n_perturbations=2, n_null=5, random_state=0))

# %%
# Where to go from here
# ---------------------
#
# - The other pages of *Learn*: structures, reading the result, kernels, known labels and links, several views.
# - The gallery, for an example with data like yours.
# - The command line: ``kernelclust fit data.csv --structure ring:6 --report report.html``.
