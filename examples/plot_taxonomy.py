"""
A taxonomy of species
=====================

The data are short pieces of the genomes of nine simulated species in three families: an ancestor has three copies with
mutations, and each of these has three. On a tree, labels 0 to 2, 3 to 5 and 6 to 8 are siblings, so ``labels_ // 3``
are the families.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from kernelclust import StructuredClustering
from kernelclust.metrics import clustering_accuracy

rng = np.random.default_rng(0)
letters = np.array(list("ACGT"))


def copy(sequence, mistakes):
    """Return the sequence with a fraction of its letters replaced by random ones."""
    return np.where(rng.random(len(sequence)) < mistakes, rng.choice(letters, len(sequence)), sequence)


ancestor = rng.choice(letters, 3000)
families = [copy(ancestor, 0.15) for _ in range(3)]
species = [copy(family, 0.08) for family in families for _ in range(3)]
truth = rng.permutation(np.repeat(np.arange(9), 25))
genomes = ["".join(copy(species[which], 0.05)) for which in truth]

# %%
# Genomes are compared as texts of words of six letters.

X = TfidfVectorizer(analyzer="char", ngram_range=(6, 6)).fit_transform(genomes)
model = StructuredClustering(structure="tree:3x3", random_state=0).fit(X)
kmeans = KMeans(9, n_init=10, random_state=0).fit(X)
for name, labels in [("KMeans", kmeans.labels_), ("tree:3x3", model.labels_)]:
    print(
        f"{name:<9} species {clustering_accuracy(truth, labels):4.0%}   ",
        f"families from the labels {clustering_accuracy(truth // 3, labels // 3):4.0%}",
    )

# %%
# Similarities of genomes sorted by label: species are blocks within the blocks of families.

K = cosine_similarity(X)
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.6))
for ax, name, labels in zip(axes, ["KMeans", "tree:3x3"], [kmeans.labels_, model.labels_], strict=True):
    order = np.argsort(labels, kind="stable")
    ax.imshow(K[np.ix_(order, order)], cmap="magma", vmin=0, vmax=np.quantile(K, 0.97), interpolation="nearest")
    borders = np.cumsum(np.bincount(labels, minlength=9))[[2, 5]] - 0.5
    ax.hlines(borders, -0.5, len(K) - 0.5, colors="white", lw=1)
    ax.vlines(borders, -0.5, len(K) - 0.5, colors="white", lw=1)
    ax.set(title=f"{name}: sorted by label", xticks=[], yticks=[])
plt.show()
