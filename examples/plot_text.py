"""
Text: help pages of SciPy by module
===================================

The help pages of SciPy's functions are real texts that are already on your machine. Pages of six modules are clustered
by their words. Modules have no order, so the structure is flat.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer

from kernelclust import StructuredClustering
from kernelclust.metrics import clustering_accuracy

MODULES = ["stats", "signal", "ndimage", "linalg", "special", "optimize"]


def help_pages(name, limit=80):
    """Return the help pages of the public functions of a module of SciPy that have more than 300 characters."""
    module = importlib.import_module(f"scipy.{name}")
    pages = [inspect.getdoc(getattr(module, function)) or "" for function in sorted(module.__all__)]
    return [page for page in pages if len(page) > 300][:limit]


pages = [help_pages(module) for module in MODULES]
truth = np.repeat(np.arange(6), [len(group) for group in pages])
words = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=3, token_pattern="[a-zA-Z]{3,}")
X = words.fit_transform([page for group in pages for page in group])  # a sparse matrix

# %%
# A warning reports that the default and an rbf kernel find different clusters: without labels the program cannot tell
# which are right. Here the modules are known, and used for scoring only: on these pages KMeans is more accurate.

model = StructuredClustering(6, random_state=0).fit(X)
kmeans = KMeans(6, n_init=10, random_state=0).fit(X)
print(f"{X.shape[0]} pages, {X.shape[1]} words")
print(f"accuracy: kernelclust {clustering_accuracy(truth, model.labels_):.0%}, ", end="")
print(f"KMeans {clustering_accuracy(truth, kmeans.labels_):.0%}")

# %%
# Each cluster is described by the words that are more common inside than outside.

table = np.zeros((6, 6), dtype=int)
np.add.at(table, (truth, model.labels_), 1)
order = np.argsort(table.argmax(axis=0), kind="stable")  # clusters in the order of their most frequent module
vocabulary = words.get_feature_names_out()
typical = []
for cluster in order:
    inside = model.labels_ == cluster
    surplus = np.asarray(X[inside].mean(axis=0) - X[~inside].mean(axis=0)).ravel()
    typical.append("\n".join(vocabulary[np.argsort(-surplus)[:4]]))

fig, ax = plt.subplots(figsize=(7.5, 5))
ax.imshow(table[:, order], cmap="Blues", aspect="auto")
for (row, column), count in np.ndenumerate(table[:, order]):
    ax.text(column, row, count or "", ha="center", va="center", color="white" if count > 40 else "0.2")
ax.set_yticks(range(6), [f"scipy.{module}" for module in MODULES])
ax.set_xticks(range(6), typical)
ax.set(title="help pages: module by cluster, with typical words")
ax.tick_params(length=0)
ax.spines[:].set_visible(False)
plt.show()
