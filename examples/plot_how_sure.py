"""
How certain is the order?
=========================

Every fit estimates the probability that its order is correct, ``order_confidence_``. Here chains of six clusters have
more and more noise, with five draws for each amount. The confidence, which does not use the truth, falls as orders
become wrong.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from kernelclust import StructuredClustering
from kernelclust.datasets import structured_blobs

warnings.simplefilter("ignore")  # that an order is uncertain, which is the subject of this page


def in_order(truth, labels):
    """Return True if the true clusters that match the fitted ones are in rising or falling order."""
    table = np.zeros((6, 6), dtype=int)
    np.add.at(table, (truth, labels), 1)
    step = np.diff(linear_sum_assignment(-table)[1])
    return bool(np.all(step == 1) or np.all(step == -1))


NOISES = [0.2, 0.4, 0.6, 0.8, 1.0]
confidence, correct = np.zeros((5, 5)), np.zeros((5, 5), dtype=bool)
for i, noise in enumerate(NOISES):
    for seed in range(5):
        blobs = structured_blobs("chain:6", n_samples=180, noise=noise, random_state=seed)
        model = StructuredClustering(structure="chain:6", kernel="rbf", random_state=0).fit(blobs.data)
        confidence[i, seed] = model.order_confidence_
        correct[i, seed] = in_order(blobs.target, model.labels_)
    print(f"noise {noise}: mean confidence {confidence[i].mean():.2f}, {correct[i].sum()} of 5 orders correct")

# %%

fig, ax = plt.subplots()
x = np.repeat(NOISES, 5).reshape(5, 5) + np.linspace(-0.03, 0.03, 5)
ax.axhspan(0, 0.5, color="0.94", zorder=0)
ax.scatter(x[correct], confidence[correct], s=60, c="#2e8b74", marker="o", label="correct order")
ax.scatter(x[~correct], confidence[~correct], s=60, c="#d1495b", marker="X", label="wrong order")
ax.text(0.15, 0.03, "below 0.5 a warning gives the reason", color="0.4")
ax.set(
    xlabel="noise", ylabel="order_confidence_", ylim=(0, 1), xticks=NOISES, title="The confidence falls with the noise"
)
ax.legend(frameon=False, loc="upper right")
plt.show()

# %%
# ``order_.pvalue`` answers a weaker question: how often does data without an order, clustered and arranged in the same
# way, fit the structure as well? *Reading the result* explains both, and reports how often the confidence was right.
