"""
Topics in order: parts of help pages, from beginning to end
===========================================================

Topics of texts often have an order: steps of a process, eras of an archive, parts of a document. Here the help pages of
SciPy's functions are split into pieces of 40 words. The position of a piece in its page is not used; on a *chain* the
topics should be in the order of the pages: the subject, parameters, results, notes, examples.
"""

import importlib
import inspect
import re
from collections import Counter
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from kernelclust import StructuredClustering
from kernelclust.topics import keep_order

MODULES = ["stats", "signal", "ndimage", "linalg", "special", "optimize", "interpolate", "integrate", "fft"]
LENGTH, TOPICS = 40, 4


def pieces_of(text):
    """Return pieces of a page with their positions, 0 to 1; paragraphs that three or more pages share are left out."""
    text = "\n".join(part for part in text.split("\n\n") if common[part] < 3)
    words = re.findall("[A-Za-z]{3,}", text)
    number = len(words) // LENGTH
    return [(" ".join(words[k * LENGTH : (k + 1) * LENGTH]), (k + 0.5) / number) for k in range(number)]


modules = [importlib.import_module(f"scipy.{name}") for name in MODULES]
functions = [getattr(module, name) for module in modules for name in sorted(module.__all__)]
pages = [inspect.getdoc(function) or "" for function in functions if inspect.isfunction(function)]
pages = [page for page in pages if len(page) > 1500]
common = Counter(part for page in pages for part in set(page.split("\n\n")))
pieces = [piece for page in pages for piece in pieces_of(page)][:3000]
documents, position = [text for text, _ in pieces], np.array([p for _, p in pieces])

# %%
# The usual choice are embeddings from a language model. Ten principal directions of word counts need no download.
embed = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=10), TruncatedSVD(10, random_state=0), Normalizer())
embeddings = embed.fit_transform(documents)

clustering = StructuredClustering(structure=f"chain:{TOPICS}", kernel="linear", random_state=0)
clustering.fit(embeddings)
topics = clustering.labels_
if np.corrcoef(topics, position)[0, 1] < 0:  # the direction of a chain is arbitrary
    topics = TOPICS - 1 - topics
means = [position[topics == topic].mean() for topic in range(TOPICS)]
print(f"{len(documents)} pieces; mean position in the page of topics 0 to {TOPICS - 1}:", np.round(means, 2).tolist())
print(f"estimated probability that the order is correct: {clustering.order_confidence_:.2f}")

# %%
# The order is wrong, the confidence is low, and a warning is issued: these topics overlap, and their words do not
# determine which are neighbours. A few known labels do. Here the first and last piece are known for one page in ten.
y = np.full(len(documents), -1)
first, last = (
    np.flatnonzero(np.diff(position, prepend=1) < 0)[::10],
    np.flatnonzero(np.diff(position, append=0) < 0)[::10],
)
y[first], y[last] = 0, TOPICS - 1
clustering.fit(embeddings, y)
topics = clustering.labels_
unknown = y < 0
means = [position[unknown & (topics == topic)].mean() for topic in range(TOPICS)]
print(f"with {(~unknown).sum()} known pieces; mean position of all others:", np.round(means, 2).tolist())

# %%
# Each topic is described by the words that are more frequent in it than in the others.
words = CountVectorizer(min_df=10, stop_words="english")
counts = words.fit_transform(documents)
share = np.vstack([counts[topics == topic].sum(axis=0) for topic in range(TOPICS)]).astype(float)
share = np.asarray(share / share.sum(axis=1))
weight = share * np.log(1 + share.mean() / share.mean(axis=0))
names = words.get_feature_names_out()
typical = ["\n".join(names[np.argsort(-row)[:5]]) for row in weight]

fig, ax = plt.subplots()
parts = np.clip((position * 10).astype(int), 0, 9)
table = np.array([[np.mean(topics[parts == part] == topic) for part in range(10)] for topic in range(TOPICS)])
ax.stackplot(np.arange(10) / 10 + 0.05, table, labels=[text.replace("\n", ", ") for text in typical])
ax.set(xlabel="position in the page", ylabel="fraction of the topic", xlim=(0.05, 0.95), ylim=(0, 1))
ax.set_title("topics of help pages, from beginning to end")
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), fontsize=8.5, frameon=False)
plt.show()

# %%
# In `BERTopic <https://maartengr.github.io/BERTopic/>`_ the same clustering replaces HDBSCAN. BERTopic numbers topics
# by size; :func:`~kernelclust.topics.keep_order` leaves them in the order of the chain. This last part runs only if
# BERTopic is installed.
if find_spec("bertopic"):
    from bertopic import BERTopic
    from bertopic.dimensionality import BaseDimensionalityReduction

    model = BERTopic(
        embedding_model=None,
        umap_model=BaseDimensionalityReduction(),
        hdbscan_model=StructuredClustering(structure=f"chain:{TOPICS}", kernel="linear", random_state=0),
        vectorizer_model=CountVectorizer(stop_words="english"),
    )
    numbers, _ = keep_order(model).fit_transform(documents, embeddings, y=y)
    print(f"the same topic in BERTopic: {np.mean(np.array(numbers) == topics):.0%} of the pieces")
    print(model.get_topic_info()[["Topic", "Count", "Name"]].to_string(index=False))
