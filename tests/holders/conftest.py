"""Arrays of every library and device that is there; array-api-strict always is."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import sklearn


def _torch(device: str):
    torch = pytest.importorskip("torch")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    return lambda values, **kw: torch.as_tensor(np.asarray(values), device=device, **kw)


@pytest.fixture(params=["strict", "torch", "cuda"])
def arrays(request, monkeypatch):
    """`arrays(values)` makes an array of the library; scikit-learn dispatches to it meanwhile."""
    pytest.importorskip("sklearn.externals.array_api_compat", reason="arrays elsewhere need scikit-learn 1.7")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    if request.param == "strict":
        make = pytest.importorskip("array_api_strict").asarray
    else:
        make = _torch("cpu" if request.param == "torch" else "cuda")
    with sklearn.config_context(array_api_dispatch=True):
        yield SimpleNamespace(make=make, name=request.param)
