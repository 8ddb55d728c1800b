"""
Topics in order: what a help page speaks of, from beginning to end
==================================================================

Topics of texts often follow each other: steps of a process, eras of an archive, parts of a document. Here the help
pages of SciPy's functions are cut into pieces of 40 words. Nobody says where in its page a piece was; on a *chain* the
topics should come out in the order in which pages speak of them: the subject, parameters, results, notes, examples.
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
    """The pieces of a page, and where they are: 0 is its beginning, 1 its end. What many pages say is left out."""
    text = "\n".join(part for part in text.split("\n\n") if common[part] < 3)
    words = re.findall("[A-Za-z]{3,}", text)
    number = len(words) // LENGTH
    return [(" ".join(words[k * LENGTH : (k + 1) * LENGTH]), (k + 0.5) / number) for k in range(number)]


modules = [importlib.import_module(f"scipy.{name}") for name in MODULES]
functions = [getattr(module, name) for module in modules for name in sorted(module.__all__)]
pages = [inspect.getdoc(function) or "" for function in functions if inspect.isfunction(function)]
pages = [page for page in pages if len(page) > 1500]
common = Counter(part for page in pages for part in set(page.split("\n\n")))
found = [piece for page in pages for piece in pieces_of(page)][:3000]
documents, place = [text for text, _ in found], np.array([at for _, at in found])

# %%
# Embeddings of a language model are the usual choice. Ten directions of word counts need no download.
embed = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=10), TruncatedSVD(10, random_state=0), Normalizer())
embeddings = embed.fit_transform(documents)

clustering = StructuredClustering(structure=f"chain:{TOPICS}", kernel="linear", random_state=0)
clustering.fit(embeddings)
topics = clustering.labels_
if np.corrcoef(topics, place)[0, 1] < 0:  # which end is the first is free
    topics = TOPICS - 1 - topics
means = [place[topics == topic].mean() for topic in range(TOPICS)]
print(f"{len(documents)} pieces; mean place in the page of topics 0 to {TOPICS - 1}:", np.round(means, 2).tolist())
print(f"how likely the order is right, by the data alone: {clustering.order_confidence_:.2f}")

# %%
# The order is wrong, and the confidence is low; a warning says so too. These topics overlap, and their words alone do
# not tell which is next to which. A few known pieces do: of one page in ten it is known here which piece is its first
# and which its last.
y = np.full(len(documents), -1)
first, last = np.flatnonzero(np.diff(place, prepend=1) < 0)[::10], np.flatnonzero(np.diff(place, append=0) < 0)[::10]
y[first], y[last] = 0, TOPICS - 1
clustering.fit(embeddings, y)
topics = clustering.labels_
left = y < 0
means = [place[left & (topics == topic)].mean() for topic in range(TOPICS)]
print(f"with {(~left).sum()} known pieces; mean place of all others:", np.round(means, 2).tolist())

# %%
# The words of a topic are those that are more frequent in it than in the others.
words = CountVectorizer(min_df=10, stop_words="english")
counts = words.fit_transform(documents)
share = np.vstack([counts[topics == topic].sum(axis=0) for topic in range(TOPICS)]).astype(float)
share = np.asarray(share / share.sum(axis=1))
told = share * np.log(1 + share.mean() / share.mean(axis=0))
names = words.get_feature_names_out()
typical = ["\n".join(names[np.argsort(-row)[:5]]) for row in told]

fig, ax = plt.subplots()
parts = np.clip((place * 10).astype(int), 0, 9)
table = np.array([[np.mean(topics[parts == part] == topic) for part in range(10)] for topic in range(TOPICS)])
ax.stackplot(np.arange(10) / 10 + 0.05, table, labels=[text.replace("\n", ", ") for text in typical])
ax.set(xlabel="place in the page", ylabel="share of the topic", xlim=(0.05, 0.95), ylim=(0, 1))
ax.set_title("what help pages speak of, from beginning to end")
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), fontsize=8.5, frameon=False)
plt.show()

# %%
# In `BERTopic <https://maartengr.github.io/BERTopic/>`_ the same clustering takes the place of HDBSCAN. BERTopic
# numbers topics by size; :func:`~kernelclust.topics.keep_order` leaves them in the order of the chain. Without BERTopic
# this last part does nothing.
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
