"""Which handwritten digits are threes, which eights? Clusters that a wide margin separates, and a loss of one's own.

python examples/margin.py
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from kernelclust import MaxMarginClustering
from kernelclust.margin import most_violated
from kernelclust.margin.losses import rand
from kernelclust.metrics import normalized_mutual_info

X, y = load_digits(return_X_y=True)
X, y = X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)]
old, new = X[::2], X[1::2]

kmeans = KMeans(2, n_init=10, random_state=0).fit(X)
print(f"NMI of k-means: {normalized_mutual_info(y, kmeans.labels_):.2f}")
model = MaxMarginClustering(random_state=0).fit(X)
print(f"of max-margin clustering: {normalized_mutual_info(y, model.labels_):.2f}")
near = MaxMarginClustering(kernel="auto", random_state=0).fit(X)
print(f"the same among neighbours: {normalized_mutual_info(y, near.labels_):.2f}")

half = MaxMarginClustering(random_state=0).fit(old)
print(f"of images that it has not seen: {normalized_mutual_info(y[1::2], half.predict(new)):.2f}")

f = model.decision_function(X)
rival, value = most_violated(f, np.where(f > 0, 1, -1))
print(f"the labels most easily mistaken for these differ in {np.sum(rival != np.where(f > 0, 1, -1))} of {len(f)}")


class DearPairs:
    """Three times the share of pairs on which two labelings differ."""

    PARAMETERS = ()
    phi = staticmethod(rand.phi)

    @staticmethod
    def affine(own, given, n):
        base, rate = rand.affine(own, given, n)
        return 3 * base, 3 * rate


own = MaxMarginClustering(loss=DearPairs(), random_state=0).fit(X)
print(f"with a loss of one's own: {normalized_mutual_info(y, own.labels_):.2f}")
