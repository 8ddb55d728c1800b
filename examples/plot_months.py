"""
The months of a year
====================

720 simulated days have measurements, but no dates. Daylight and temperature follow a yearly cycle, and the temperature
of the air lags by a month. The days form twelve clusters on a ring, and two known days determine which cluster is
January.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from kernelclust import StructuredClustering
from kernelclust.plots import structure_colors
from kernelclust.structures import Ring

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

rng = np.random.default_rng(0)
month = np.repeat(np.arange(12), 60)
angle = 2 * np.pi * (month + rng.uniform(0.25, 0.75, 720)) / 12  # a day in the middle of its month
daylight = 12 - 4.3 * np.cos(angle) + rng.normal(0, 0.25, 720)  # hours
air = 10 - 9 * np.cos(angle - np.pi / 6) + rng.normal(0, 0.9, 720)  # °C, a month late
soil = 10 - 6 * np.cos(angle - np.pi / 3) + rng.normal(0, 0.6, 720)  # °C, two months late
X = StandardScaler().fit_transform(np.column_stack([daylight, air, soil]))  # the columns have different units

# %%
# The clusters have names. Two known days, one in January and one in April, fix where the ring begins and which way it
# runs; all other labels are unknown.

y = np.full(720, "", dtype=object)
y[month.searchsorted([0, 3])] = "Jan", "Apr"
model = StructuredClustering(structure=Ring(names=MONTHS), random_state=0).fit(X, y)
print(f"in the correct month: {np.mean(model.labels_ == month):.0%}; ", end="")
print(f"in it or a neighbouring month: {np.mean((model.labels_ - month + 1) % 12 < 3):.0%}")

# %%

colors = structure_colors(model.structure_)
fig, ax = plt.subplots(figsize=(7, 5))
ax.scatter(daylight, air, s=14, c=colors[model.labels_], alpha=0.7, linewidths=0)
for node, name in enumerate(model.cluster_names_):
    x, t = daylight[model.labels_ == node].mean(), air[model.labels_ == node].mean()
    ax.annotate(name, (x, t), ha="center", va="center", weight="bold", bbox={"fc": "white", "ec": colors[node]})
ax.set(
    xlabel="daylight (hours)", ylabel="temperature of the air (°C)", title="Twelve clusters, in the order of the year"
)
plt.show()
