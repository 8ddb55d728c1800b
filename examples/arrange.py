"""Groups that exist already: their order, a pseudotime along it, and what to ask where it is doubtful."""

import numpy as np
from sklearn.cluster import KMeans

from kernelclust import StructuredClustering, arrange

rng = np.random.default_rng(0)
time = rng.random(300)  # of a bent path, unknown to the model
X = np.c_[np.cos(4 * time), np.sin(4 * time), time] + 0.05 * rng.standard_normal((300, 3))

groups = KMeans(6, n_init=10, random_state=0).fit_predict(X)  # numbered as they came
names = np.array(["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"])[groups]
found = arrange(X, names, "chain")
print("order of the groups:", " - ".join(found.order), f"(placement margin {found.placement_margin:.2f})")
print("true mean time:     ", " - ".join(f"{time[found.labels == place].mean():.2f}" for place in range(6)))

model = StructuredClustering(structure="chain:6", random_state=0).fit(X)
print(f"position_ and true time: correlation {abs(np.corrcoef(model.position_, time)[0, 1]):.3f}")
for places, score in model.arrangements(3):
    print("arrangement", places, f"score {score:.2f}")
print("samples to ask for:", model.questions(2), "typical ones:", model.medoids_)
