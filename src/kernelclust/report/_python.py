"""Python that makes a fitted model again."""

from __future__ import annotations

from typing import Any

from kernelclust._terms import Term


def model_in_python(model: Any) -> tuple[list[str], str]:
    """Return the imports that the text of an unfitted copy of a model needs, and this text.

    Examples
    --------
    >>> from kernelclust import StructuredClustering
    >>> from kernelclust.kernels import RBF
    >>> imports, text = model_in_python(StructuredClustering(kernel=RBF(gamma=0.5)))
    >>> imports[1], text
    ('from kernelclust.kernels import RBF', 'StructuredClustering(kernel=RBF(gamma=0.5))')
    """
    classes = {type(value) for value in model.get_params(deep=False).values() if isinstance(value, Term)}
    homes = {(".".join(one.__module__.split(".")[:2]), one.__name__) for one in classes}
    imports = [f"from kernelclust import {type(model).__name__}"]
    return imports + [f"from {home} import {name}" for home, name in sorted(homes)], model.__repr__(N_CHAR_MAX=10**6)
