"""
In a pipeline, with a grid search
=================================

Estimators follow scikit-learn's API, so they work in pipelines and grid searches. New rows are scaled and assigned to
clusters as the fitted ones.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelclust import StructuredClustering
from kernelclust.metrics import clustering_accuracy

X, y = load_wine(return_X_y=True)  # 178 wines, 13 measurements in different units; y is used for scoring only
old, new, y_old, y_new = train_test_split(X, y, random_state=0)

pipe = make_pipeline(StandardScaler(), StructuredClustering(3, kernel="rbf", random_state=0)).fit(old)
print(f"accuracy on fitted wines {clustering_accuracy(y_old, pipe[-1].labels_):.0%}, ", end="")
print(f"on new ones {clustering_accuracy(y_new, pipe.predict(new)):.0%}")

# %%
# ``score`` lies between 0 and 1, so `GridSearchCV` can choose the width of a kernel by samples that were not fitted.
# The score does not use the true classes, so the choice is only a hint. Do not compare graph kernels, such as the
# default, with other kernels by it: they nearly always have higher scores.

grid = {"structuredclustering__kernel__gamma": [0.003, 0.03, 0.3]}
search = GridSearchCV(pipe, grid, cv=4).fit(old)
scores = search.cv_results_["mean_test_score"]
print("chosen:", search.best_params_["structuredclustering__kernel__gamma"], "scores:", scores.round(3))

# %%
# ``transform`` returns the distances to the clusters: three features instead of thirteen, for example for a
# classifier. (In a single pipeline with a classifier, the clustering would get ``y`` as known labels. So the two are
# fitted one after the other.)

distances = pipe.transform(new)
short = LogisticRegression().fit(pipe.transform(old), y_old).score(distances, y_new)
full = make_pipeline(StandardScaler(), LogisticRegression()).fit(old, y_old).score(new, y_new)
print(f"accuracy of a classifier on new wines: 3 distances {short:.0%}, all 13 columns {full:.0%}")

fig, axes = plt.subplots(1, 3, figsize=(10, 3.5), sharex=True, sharey=True)
nearest = pipe.predict(new)
for ax, (a, b) in zip(axes, [(0, 1), (1, 2), (2, 0)], strict=True):
    for cluster, (color, marker) in enumerate(zip(["#3b6fb6", "#d1495b", "#2e8b74"], "os^", strict=True)):
        ax.scatter(
            *distances[nearest == cluster][:, [a, b]].T, s=26, c=color, marker=marker, label=f"cluster {cluster}"
        )
    ax.set(xlabel=f"distance to cluster {a}", ylabel=f"distance to cluster {b}")
axes[0].legend(frameon=False)
fig.suptitle("New wines by their distances to the three clusters")
plt.show()
