"""
The time of day from ten sensors
================================

Ten sensors depend on the hour of the day, each in a different way. `StructuredClustering` finds eight shifts on a
ring, and `position_` is a continuous estimate of the hour.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernelclust import StructuredClustering
from kernelclust.plots import structure_colors

rng = np.random.default_rng(0)
hour = rng.uniform(0, 24, 600)  # unknown to the model
dial = 2 * np.pi * hour / 24
X = np.column_stack([np.cos(dial), np.sin(dial)]) @ rng.standard_normal((2, 10)) + rng.normal(0, 0.25, (600, 10))

y = np.full(600, -1)
for node in (0, 2):  # one sample around midnight, one around six
    y[np.argmin(np.abs(hour - 3 * node))] = node
model = StructuredClustering(structure="ring:8", random_state=0).fit(X, y)

# %%
# Each of the eight clusters covers three hours, so the position times three is a time of day. Errors are taken modulo
# 24.

read = 3 * model.position_ % 24
error = (read - hour + 12) % 24 - 12
print(f"typical error of the hour: {np.median(np.abs(error)):.2f}; largest: {np.abs(error).max():.1f}")
print(f"order_confidence_ {model.order_confidence_:.2f}")

# %%

fig, ax = plt.subplots(figsize=(5.6, 5.6), subplot_kw={"projection": "polar"})
ax.set(theta_zero_location="N", theta_direction=-1, yticks=[], ylim=(0, 1.15))
ax.set_xticks(np.arange(8) * np.pi / 4, [f"{3 * node}:00" for node in range(8)])
ax.scatter(dial, 1 + 0.07 * error, s=22, c=structure_colors(model.structure_)[model.labels_], alpha=0.75, linewidths=0)
for node, medoid in enumerate(model.medoids_):
    ax.plot([0, 2 * np.pi * read[medoid] / 24], [0, 0.8], lw=3, color=structure_colors(model.structure_)[node])
ax.set_title("Angle: the true hour. Colour: the cluster. Hands: its medoid.", fontsize=10, pad=18)
plt.show()
