"""Every display of the folder is one in scikit-learn's manner: it draws where it is told to, and returns itself."""

import inspect
import warnings
from pathlib import Path

import numpy as np
import pytest
from flat_parameters import build

from kernelclust import MultiKernelClustering, StructuredClustering, _names, plots

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

NAMES = _names.names(plots)
PARTS = [_names.load(plots, name).PART for name in NAMES]
API = (Path(__file__).parents[2] / "docs/api.md").read_text().split()
every_part = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    """Samples, their classes, and models that displays are made from."""
    y = np.repeat([0, 1, 2], 8)
    X = np.column_stack([y, y**2]) + 0.1 * np.random.default_rng(0).standard_normal((24, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = {"random_state": 0, "n_init": 1}
        chain = build(
            StructuredClustering, structure="chain:3", kernel="linear", compute_confidence=False, **start
        ).fit(X)
        return X, y, [chain, MultiKernelClustering(3, kernel=["linear", "rbf"], random_state=0).fit(X)]


def makers(part):
    """Class methods that make a display."""
    return {name: one for name, one in inspect.getmembers(part, inspect.ismethod) if name.startswith("from_")}


def test_the_folder_is_found():
    assert {"structure_display", "embedding_display", "similarity_display", "selection_display"} <= set(NAMES)


@every_part
def test_every_display_is_found_by_the_name_of_its_class(part):
    assert issubclass(part, plots.Display)
    assert getattr(plots, part.__name__) is part
    assert part.__name__ in dir(plots)
    assert part.__doc__ and makers(part)
    assert f"plots.{part.__name__}" in API


@every_part
def test_a_display_draws_on_the_given_axes_and_returns_itself(part):
    import matplotlib.pyplot as plt

    display = part.example()
    assert plt.get_fignums() == []
    figure, (given, other) = plt.subplots(1, 2)
    assert display.plot(given) is display
    assert display.ax_ is given and display.figure_ is figure
    assert given.has_data() and not other.has_data()
    assert display.plot().ax_ is not given
    figure.savefig("/dev/null", format="png")


@every_part
def test_what_makes_a_display_takes_axes_and_says_what_it_draws(part):
    for make in makers(part).values():
        ax = inspect.signature(make).parameters["ax"]
        assert ax.kind is ax.KEYWORD_ONLY and ax.default is None
        assert make.__doc__


@every_part
def test_a_display_of_an_estimator_needs_the_samples_at_most(part, fitted):
    """Of at least one kind of estimator, by the model, X and y alone."""
    import matplotlib.pyplot as plt

    make = makers(part).get("from_estimator")
    if make is None:
        pytest.skip("not of an estimator")
    X, y, models = fitted
    needed = [one for one in inspect.signature(make).parameters.values() if one.default is one.empty]
    data = {name: {"X": X, "y": y}[name] for name in (one.name for one in needed[1:])}
    drawn = 0
    for model in models:
        given = plt.figure().subplots()
        try:
            display = make(model, ax=given, **data)
        except TypeError as error:
            assert type(model).__name__ in str(error)
            continue
        assert isinstance(display, part) and display.ax_ is given and given.has_data()
        drawn += 1
    assert drawn
