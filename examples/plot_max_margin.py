"""
The widest gap: max-margin clustering
=====================================

Two long bands have a gap between them. KMeans cuts across the bands, because the variance is largest along them.
`MaxMarginClustering` separates the clusters at the gap.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score

from kernelclust import MaxMarginClustering


def nmi(y_true, y_pred):
    return normalized_mutual_info_score(y_true, y_pred, average_method="geometric")


rng = np.random.default_rng(0)
band = np.repeat([0, 1], 120)
X = np.column_stack([rng.uniform(-2, 2, 240), 1.6 * band - 0.8 + rng.uniform(-0.3, 0.3, 240)])

kmeans = KMeans(2, n_init=10, random_state=0).fit(X)
model = MaxMarginClustering(2, random_state=0).fit(X)

fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True)
for ax, labels, title in zip(axes, [kmeans.labels_, model.labels_], ["KMeans", "MaxMarginClustering"], strict=True):
    ax.scatter(*X.T, c=np.array(["#3b6fb6", "#e0a030"])[labels], s=16, linewidths=0)
    ax.set(title=f"{title}: NMI {nmi(band, labels):.2f}", xticks=[], yticks=[], aspect="equal")
x, y = np.meshgrid(np.linspace(-2.1, 2.1, 80), np.linspace(-1.4, 1.4, 60))
f = model.decision_function(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
axes[1].contour(x, y, f, levels=[0], colors="#30343b", linewidths=2)
plt.show()

# %%
# ``C`` is the cost of samples inside the margin. If the bands are much longer than here, the default is too small, and
# the bands are cut across: raise ``C``, or scale the columns.
#
# The second example has pictures of threes and eights. The loss is a score of whole clusterings (here NMI), and any
# kernel can be used, but you have to choose it.

digits = load_digits()
chosen = np.isin(digits.target, [3, 8])
X, y = digits.data[chosen], digits.target[chosen]
for name, fitted in [
    ("KMeans", KMeans(2, n_init=10, random_state=0).fit(X)),
    ("max-margin, linear", MaxMarginClustering(2, random_state=0).fit(X)),
    ("max-margin, neighbours", MaxMarginClustering(2, kernel="auto", random_state=0).fit(X)),
]:
    print(f"{name:<23} NMI {nmi(y, fitted.labels_):.2f}")

# %%
# ``predict`` assigns new samples:

half = MaxMarginClustering(2, random_state=0).fit(X[::2])
print(f"NMI of pictures that were not fitted: {nmi(y[1::2], half.predict(X[1::2])):.2f}")

# %%
# The digits nearest to the border, and those farthest from it on either side:

f = half.decision_function(X)
order = np.argsort(f)
rows = [order[:8], np.argsort(np.abs(f))[:8], order[-8:]]
fig, axes = plt.subplots(3, 8, figsize=(8, 3.3))
for row, (which, name) in enumerate(zip(rows, ["one side", "border", "other side"], strict=True)):
    for column, sample in enumerate(which):
        axes[row, column].imshow(X[sample].reshape(8, 8), cmap="gray_r")
        axes[row, column].set(xticks=[], yticks=[])
    axes[row, 0].set_ylabel(name)
plt.show()
