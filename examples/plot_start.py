"""
Getting started
===============

Ten minutes, from a table to groups in order. You need Python 3.11 or later, and
``pip install ".[cli,plot]"`` in a copy of the repository (or ``make demo``, which sets everything up).

A table
-------

Three hundred rows of ten sensors. What the sensors follow is the time of day, but no column says so.
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
# You know that there are six shifts and that the last comes before the first. That is a ring of six. Say so, and
# `fit`. Nothing else has to be set.

model = StructuredClustering(structure="ring:6", random_state=0).fit(X)
print("the first labels:", model.labels_[:12])

# %%
# Label 3 lies between 2 and 4, and 5 next to 0. Here are the samples in the plane of their two main directions, and the
# ring drawn through the groups:

EmbeddingDisplay.from_predictions(X, model.labels_, model.structure_)
plt.show()

# %%
# Where does the ring begin, and which way does it run? Data alone cannot say. The true hours of the groups go
# round, one way or the other:

for place in range(6):
    mine = hour[model.labels_ == place]
    print(f"label {place}: {len(mine)} samples, around {np.median(mine) % 24:4.1f} o'clock")

# %%
# How sure?
# ---------
#
# A number about the order, and one about the search.
#
# - ``order_confidence_``: how likely the order is right. Below 0.5 a warning says what is in doubt.
# - ``gap_``: how far the search can be from the best labels there are. Small is good; it does not say that the clusters
#   are right.

print(f"order_confidence_ {model.order_confidence_:.2f}, gap_ {model.gap_:.2f}")

# %%
# The mean similarity between groups, in their order, should fade away from the diagonal, and on a ring come back in the
# corners:

K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 10)
SimilarityDisplay.from_predictions(K, model.labels_, model.structure_)
plt.show()

# %%
# New samples, and a finer answer
# -------------------------------
#
# ``predict`` finds the place of new samples, ``position`` a continuous place along the ring: here at midnight,
# about two and about four o'clock. ``medoids_`` are the most typical samples.

new = np.array([[1.0, 0.0], [np.cos(0.5), np.sin(0.5)], [np.cos(1.0), np.sin(1.0)]])  # 0:00, 1:55, 3:49
new = new @ np.linalg.lstsq(clock, X, rcond=None)[0]
print("labels:   ", model.predict(new))
print("positions:", model.position(new).round(2))
print("typical:  ", model.medoids_)

# %%
# Say what you know
# -----------------
#
# Two known rows, one around midnight and one around eight, fix the beginning and the direction. All other rows are -1.

y = np.full(300, -1)
for place in (0, 2):
    y[np.argmin(np.abs(hour - 4 * place))] = place
told = StructuredClustering(structure="ring:6", random_state=0).fit(X, y)
shift = np.round(hour / 4).astype(int) % 6
print(f"in the right shift: {np.mean(told.labels_ == shift):.0%}")

names = [f"{4 * place}h" for place in range(6)]
StructureDisplay.from_estimator(told, names=names).ax_.set_title("six shifts, by name; the area is the size")
plt.show()

# %%
# Ask what you do not know
# ------------------------
#
# Are there six groups at all? Every candidate is compared with data without clusters, and the table says why one was
# chosen. A hint, no proof.

print(select_n_clusters(X, range(3, 9), n_perturbations=2, n_null=5, random_state=0))

# %%
# Where to go from here
# ---------------------
#
# - Other structures, kernels, labels and links, many views: the user guide, in the bar above.
# - Your own kind of data: the nearest example of the gallery.
# - Without Python: ``kernelclust fit data.csv --structure ring:6 --report report.html``.
