"""Topics in the order of their clusters: BERTopic numbers topics by size, which loses the order of a structure."""

from __future__ import annotations

from functools import partial
from typing import Any

METHOD = "_sort_mappings_by_frequency"  # by which BERTopic (0.17) renumbers topics


def keep_order(topic_model: Any) -> Any:
    """Make a BERTopic model number its topics like the clusters of its cluster model, and return it.

    A `StructuredClustering` is a cluster model of BERTopic (`hdbscan_model`); topic 3 then lies between 2 and 4. If
    topics are merged or left out later, the others are renumbered and stay in order. Topic -1 remains that of outliers;
    the estimators of kernelclust have none. This replaces a private method of BERTopic; tested with BERTopic 0.17.

    Parameters
    ----------
    topic_model : bertopic.BERTopic
        Not fitted yet, as its topics are numbered by `fit`.

    Returns
    -------
    topic_model : bertopic.BERTopic
        The same object.
    """
    if not callable(getattr(topic_model, METHOD, None)):
        raise TypeError(
            f"keep_order takes a BERTopic model of a version that numbers topics by {METHOD} (0.17 does); got "
            f"{type(topic_model).__name__}."
        )
    if getattr(topic_model, "topics_", None) is not None:
        raise ValueError("the topic model is fitted, and its topics are numbered by size: call keep_order before fit.")
    setattr(topic_model, METHOD, partial(_sort_by_cluster, topic_model))
    return topic_model


def _sort_by_cluster(topic_model: Any, documents: Any) -> Any:
    """Number the topics that are left from 0 on, in the order of their numbers."""
    left = sorted(topic for topic in set(documents.Topic) if topic >= 0)
    numbers = {-1: -1, **{topic: number for number, topic in enumerate(left)}}
    topic_model.topic_mapper_.add_mappings(numbers, topic_model=topic_model)
    documents.Topic = documents.Topic.map(numbers)
    topic_model._update_topic_size(documents)
    return documents
