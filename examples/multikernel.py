"""Three views of the same samples: two good ones, of which one comes twice, and one of noise.

python examples/multikernel.py
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from kernelclust import MultiKernelClustering

rng = np.random.default_rng(0)
truth = np.repeat(np.arange(4), 50)
shape = 2 * rng.standard_normal((4, 6))[truth] + 1.5 * rng.standard_normal((200, 6))
colour = 2 * rng.standard_normal((4, 6))[truth] + 1.5 * rng.standard_normal((200, 6))
copy = shape + 0.05 * rng.standard_normal(shape.shape)
noise = 3 * rng.standard_normal((200, 6))
views = [shape, copy, colour, noise]

colour[:20] = np.nan  # twenty samples were never photographed in colour

model = MultiKernelClustering(4, random_state=0).fit(views)
print("weights of shape, its copy, colour, noise:", model.weights_.round(2))
print("agreement with the truth:", round(adjusted_rand_score(truth, model.labels_), 3))

colour = np.where(np.isnan(colour), np.nanmean(colour, axis=0), colour)
together = KMeans(4, n_init=10, random_state=0).fit_predict(np.hstack([shape, copy, colour, noise]))
print("k-means of all columns side by side:", round(adjusted_rand_score(truth, together), 3))
