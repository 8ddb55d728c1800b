"""
Only similarities: generations of copies
========================================

Scribes copy a text, and copies of copies accumulate mistakes. The data are only the similarities of pairs of copies,
from the words that they share; there is no table with columns. ``kernel="precomputed"`` orders the generations.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import CountVectorizer

from kernelclust import StructuredClustering
from kernelclust.plots import SimilarityDisplay

rng = np.random.default_rng(0)
letters = np.array(list("ACGT"))


def copy(sequence, mistakes):
    """Return the sequence with a fraction of its letters replaced by random ones."""
    return np.where(rng.random(len(sequence)) < mistakes, rng.choice(letters, len(sequence)), sequence)


ancestor, texts = rng.choice(letters, 1500), []
generation = np.repeat(np.arange(6), 25)
for _ in range(6):
    texts += ["".join(copy(ancestor, 0.05)) for _ in range(25)]
    ancestor = copy(ancestor, 0.12)
shuffled = rng.permutation(len(texts))
generation = generation[shuffled]

# %%
# The similarity of two texts is the number of words of six letters that they share, scaled to 1 for a text with itself.

words = CountVectorizer(analyzer="char", ngram_range=(6, 6), binary=True).fit_transform(texts)[shuffled]
K = (words @ words.T).toarray().astype(float)
K /= np.sqrt(np.outer(np.diag(K), np.diag(K)))

model = StructuredClustering(structure="chain:6", kernel="precomputed", random_state=0).fit(K)
order = abs(spearmanr(model.labels_, generation).statistic)  # a chain may run in either direction
print(f"rank correlation of labels and generations {order:.3f}, order_confidence_ {model.order_confidence_:.2f}")

# %%
# The shuffled matrix shows no pattern. In the order of the clusters, the similarity falls with every generation.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.3))
left.imshow(K, cmap="magma", vmax=0.5, interpolation="nearest")
left.set(title="150 copies, shuffled", xticks=[], yticks=[])
SimilarityDisplay.from_predictions(K, model.labels_, model.structure_, ax=right)
plt.show()
