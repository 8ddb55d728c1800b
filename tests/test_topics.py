"""BERTopic keeps the order of clusters, and the page in the guide does what it says; skipped without BERTopic."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelclust.topics import keep_order

PAGE = Path(__file__).parents[1] / "docs/guide/topics.md"


def run(change=lambda code: code):
    pytest.importorskip("bertopic")
    code = re.search(r"```\{code-block\} python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL).group(1)
    seen = {}
    exec(change(code), seen)
    return seen


def test_topics_are_clusters_in_order():
    seen = run()
    model, step, topics = seen["model"], seen["step"], np.array(seen["topics"])
    assert_array_equal(topics, model.hdbscan_model.labels_)
    assert_array_equal(topics, step if topics[step == 0][0] == 0 else 3 - step)
    words = [{word for word, weight in model.get_topic(topic) if weight > 1e-3} for topic in range(4)]
    assert all(len(words[j] & words[j + 1]) == 1 and not words[j] & words[(j + 2) % 4] for j in range(3))
    assert_array_equal(model.transform(seen["documents"], seen["embeddings"])[0], topics)
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(seen["documents"], seen["embeddings"])[0], topics)
    model.merge_topics(seen["documents"], [1, 2])
    assert_array_equal(model.topics_, np.array([0, 1, 1, 2])[topics])
    assert_array_equal(model.transform(seen["documents"], seen["embeddings"])[0], model.topics_)


def test_without_it_topics_are_numbered_by_size():
    seen = run(lambda code: code.replace("keep_order(model)", "model"))
    assert_array_equal(np.bincount(seen["topics"]), [30, 25, 15, 10])
    with pytest.raises(ValueError, match="call keep_order before fit"):
        keep_order(seen["model"])


def test_other_models_are_refused():
    with pytest.raises(TypeError, match=r"takes a BERTopic model .*; got object"):
        keep_order(object())
