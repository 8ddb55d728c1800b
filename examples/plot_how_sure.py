"""
How sure is the order?
======================

Every fit says how likely its order is right: ``order_confidence_``. Here chains of six groups drown slowly in
noise, five draws for each amount. The confidence falls as orders go wrong, and it has not seen the truth.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from kernelclust import StructuredClustering
from kernelclust.datasets import structured_blobs

warnings.simplefilter("ignore")  # they say that an order is uncertain: what this page is about


def in_order(truth, labels):
    """Whether the clusters, each named by the group that it matches, run up or down."""
    table = np.zeros((6, 6), dtype=int)
    np.add.at(table, (truth, labels), 1)
    step = np.diff(linear_sum_assignment(-table)[1])
    return bool(np.all(step == 1) or np.all(step == -1))


NOISES = [0.2, 0.4, 0.6, 0.8, 1.0]
confidence, right = np.zeros((5, 5)), np.zeros((5, 5), dtype=bool)
for i, noise in enumerate(NOISES):
    for seed in range(5):
        blobs = structured_blobs("chain:6", n_samples=180, noise=noise, random_state=seed)
        model = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0).fit(blobs.data)
        confidence[i, seed] = model.order_confidence_
        right[i, seed] = in_order(blobs.target, model.labels_)
    print(f"noise {noise}: mean confidence {confidence[i].mean():.2f}, {right[i].sum()} of 5 orders right")

# %%

fig, ax = plt.subplots()
x = np.repeat(NOISES, 5).reshape(5, 5) + np.linspace(-0.03, 0.03, 5)
ax.axhspan(0, 0.5, color="0.94", zorder=0)
ax.scatter(x[right], confidence[right], s=60, c="#2e8b74", marker="o", label="the order is right")
ax.scatter(x[~right], confidence[~right], s=60, c="#d1495b", marker="X", label="it is not")
ax.text(0.15, 0.03, "here a warning says what is in doubt", color="0.4")
ax.set(
    xlabel="noise", ylabel="order_confidence_", ylim=(0, 1), xticks=NOISES, title="The confidence knows when to fall"
)
ax.legend(frameon=False, loc="upper right")
plt.show()

# %%
# ``order_.pvalue`` asks a weaker question: how often would noise, clustered and placed the same way, look as
# orderly? The user guide says how to read both, and how often the confidence was right where it was tried.
