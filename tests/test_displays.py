"""Displays hold what they show, and draw it; names of clusters are in every picture."""

import warnings

import numpy as np
import pytest
from flat_parameters import build
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics.pairwise import linear_kernel

from kernelclust import KernelKMeans, MaxMarginClustering, MultiKernelClustering, StructuredClustering
from kernelclust.plots import (
    ConfusionDisplay,
    EmbeddingDisplay,
    KernelWeightsDisplay,
    ProfileDisplay,
    SilhouetteDisplay,
    SimilarityDisplay,
    StructureDisplay,
)
from kernelclust.structures import Chain, Grid, Tree, as_structure

pytestmark = pytest.mark.usefixtures("few_starts")

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
STAGES = ["seed", "sprout", "bloom"]

rng = np.random.default_rng(0)
TRUE = np.repeat([0, 1, 2], 12)
X = np.column_stack([TRUE, 0 * TRUE]) + 0.1 * rng.standard_normal((36, 2))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return fitted("linear")


def fitted(kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = {"random_state": 0, "n_init": 2, "compute_confidence": False}
        return build(StructuredClustering, structure=Chain(names=STAGES), kernel=kernel, **start).fit(X)


def texts(ax):
    ticks = [*ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts]
    return [one.get_text().replace("\n", " ") for one in ticks]


@pytest.mark.parametrize("kernel", ["linear", "auto", "graph"])
def test_every_display_of_an_estimator_draws_names(kernel):
    import matplotlib.pyplot as plt

    model = fitted(kernel)
    for make in (
        lambda ax: StructureDisplay.from_estimator(model, ax=ax),
        lambda ax: EmbeddingDisplay.from_estimator(model, X, ax=ax),
        lambda ax: SimilarityDisplay.from_estimator(model, ax=ax),
        lambda ax: ConfusionDisplay.from_estimator(model, X, TRUE, ax=ax),
        lambda ax: ProfileDisplay.from_estimator(model, X, ax=ax),
        lambda ax: SilhouetteDisplay.from_estimator(model, X, ax=ax),
    ):
        given = plt.figure().subplots()
        display = make(given)
        assert display.ax_ is given
        assert display.figure_ is given.figure
        assert set(STAGES) <= set(texts(given))


def test_displays_from_estimators_and_predictions_agree(model):
    labels = model.predict(X)
    assert_array_equal(
        StructureDisplay.from_estimator(model).sizes, StructureDisplay.from_predictions(labels, Chain(3)).sizes
    )
    centred = X - X.mean(axis=0)
    assert_allclose(
        SimilarityDisplay.from_estimator(model).similarity,
        SimilarityDisplay.from_predictions(linear_kernel(centred), labels, "chain:3").similarity,
        atol=1e-12,
    )
    silhouettes = SilhouetteDisplay.from_estimator(model, X).silhouette
    means = np.array([X[labels == j].mean(axis=0) for j in range(3)])
    assert_allclose(silhouettes, SilhouetteDisplay.from_predictions(cdist(X, means), labels).silhouette, atol=1e-6)


def test_a_display_can_be_drawn_again():
    display = StructureDisplay.from_predictions([0, 1, 1], "chain:2")
    first = display.ax_
    assert display.plot().ax_ is not first
    assert display.plot(first).ax_ is first


def test_silhouettes_by_their_formula():
    away = np.array([[1.0, 4.0, 2.0], [3.0, 1.0, np.nan], [0.0, 0.0, 5.0]])
    assert_allclose(SilhouetteDisplay.from_predictions(away, [0, 0, 1], "flat:3").silhouette, [0.5, -2 / 3, 0.0])


def test_directions_between_means_hold_the_means_apart(model):
    """For a linear kernel the picture is a linear map of X: distances between means along it are theirs."""
    points = EmbeddingDisplay.from_estimator(model, X).points
    design = np.column_stack([X, np.ones(len(X))])
    residual = points - design @ np.linalg.lstsq(design, points, rcond=None)[0]
    assert np.abs(residual).max() < 1e-9 * np.abs(points).max()


def test_confusion_counts_in_the_order_of_the_structure():
    labels = [2, 2, 1, 0, 0]
    for true in (["bloom", "bloom", "bloom", "seed", ""], [2, 2, 2, 0, -1], ["bloom", "bloom", "bloom", "seed", None]):
        found = ConfusionDisplay.from_predictions(true, labels, Chain(names=STAGES))
        assert found.rows == found.columns == STAGES
        assert_array_equal(found.table, [[1, 0, 0], [0, 0, 0], [0, 1, 2]])
    other = ConfusionDisplay.from_predictions(["z", "z", "m", "a", np.nan], [0, 0, 1, 2, 2], "chain:3")
    assert other.rows == ["z", "m", "a"]  # by place, so that an order shows as a diagonal
    assert_array_equal(other.table, np.diag([2, 1, 1]))


def test_a_profile_is_the_mean_of_standardised_columns():
    found = ProfileDisplay.from_predictions(X, TRUE, Chain(names=STAGES), columns=["height", "width"])
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(found.profile, np.array([Z[j == TRUE].mean(axis=0) for j in range(3)]).T)
    assert found.columns == ["height", "width"]
    wide = np.column_stack([rng.standard_normal((36, 50)), TRUE])
    few = ProfileDisplay.from_predictions(wide, TRUE)
    assert few.profile.shape == (30, 3)
    assert few.columns[-1] == "X[:, 50]"
    assert "30 columns that differ most, of 51" in few.ax_.get_title()
    constant = ProfileDisplay.from_predictions(np.ones((4, 1)), [0, 0, 2, 2])
    assert_array_equal(constant.profile, [[0, np.nan, 0]])


def test_weights_of_kernels():
    views = MultiKernelClustering(3, random_state=0, kernel=["linear", "rbf"]).fit(X)
    found = KernelWeightsDisplay.from_estimator(views, names=["plain", "round"])
    assert [bar.get_width() for bar in found.ax_.patches] == pytest.approx([*views.weights_, *views.explained_])
    with pytest.raises(ValueError, match="1 entries, but there are 2 kernels"):
        KernelWeightsDisplay.from_estimator(views, names=["plain"])


def test_what_cannot_be_shown_is_said_in_words(model):
    with pytest.raises(TypeError, match="KernelKMeans has one kernel"):
        KernelWeightsDisplay.from_estimator(KernelKMeans(2, random_state=0).fit(X))
    with pytest.raises(TypeError, match="MaxMarginClustering has no distances"):
        SilhouetteDisplay.from_estimator(MaxMarginClustering(2, random_state=0).fit(X), X)
    with pytest.raises(ValueError, match="3 names, but X has 2 columns"):
        ProfileDisplay.from_estimator(model, X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="2 entries, but there are 3 labels"):
        ConfusionDisplay.from_predictions([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match=r"shape \(2, 1\)"):
        SilhouetteDisplay.from_predictions(np.ones((2, 1)), [0, 0])
    with pytest.raises(ValueError, match="labels go up to 5"):
        StructureDisplay.from_predictions([0, 5], "chain:3")
    with pytest.raises(ValueError, match="not fitted"):
        EmbeddingDisplay.from_estimator(StructuredClustering(2), X)
    placed = AgglomerativeClustering(4).fit(X)  # knows no new samples, has no structure
    with pytest.raises(ValueError, match="AgglomerativeClustering cannot assign new samples"):
        ProfileDisplay.from_estimator(placed, X[:5])
    assert ProfileDisplay.from_estimator(placed, X).profile.shape == (2, 4)


@pytest.mark.parametrize("text", ["chain:30", "grid:4x5", "tree:3x4", "flat:3*chain:3", "ring:12", "chain:5"])
def test_thumbnails_cover_no_other_cluster(text):
    structure = as_structure(text)
    ax = StructureDisplay(structure, thumbnails=[np.eye(4)] * structure.n_clusters).plot().ax_
    where = structure.positions()
    boxes = np.array([image.get_extent() for image in ax.images])
    middle, half = (boxes[:, ::2] + boxes[:, 1::2]) / 2, (boxes[:, 1] - boxes[:, 0]) / 2
    apart = np.abs(middle[:, None] - middle).max(axis=2) + np.diag(np.full(len(middle), np.inf))
    assert apart.min() >= 2 * half[0] - 1e-12
    others = np.abs(middle[:, None] - where).max(axis=2) + np.diag(np.full(len(middle), np.inf))
    assert others.min() > half[0]


def test_a_long_chain_goes_to_and_fro():
    """Neighbours on the chain are next to each other in the picture, and no two others are nearer."""
    for c in (13, 30, 47, 100):
        points = Chain(c).positions()
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        assert_allclose(steps, steps[0])
        apart = np.linalg.norm(points[:, None] - points, axis=2) + np.diag(np.full(c, np.inf))
        assert apart.min() >= steps[0] - 1e-12
        assert steps[0] > 1.5 / c  # a single row would have 1 / (c - 1)
    assert np.ptp(Chain(12).positions()[:, 1]) == 0


@pytest.mark.parametrize(
    "structure",
    [
        Chain(names=STAGES),
        Grid(2, 2, ["north west", "north east", "south west", "south east"]),
        Tree([[f"a species with a long name {i}{j}" for j in range(5)] for i in range(3)]),
    ],
    ids=["chain", "grid", "tree"],
)
def test_names_are_written_within_the_figure(structure, tmp_path):
    ax = StructureDisplay(structure).plot().ax_
    ax.figure.savefig(tmp_path / "picture.png")
    shown = [one.get_text().replace("\n", " ") for one in ax.texts]
    assert shown == list(structure.names)
    page = ax.figure.bbox
    for one in ax.texts:
        box = one.get_window_extent()
        assert page.x0 - 1 <= box.x0 and box.x1 <= page.x1 + 1 and page.y0 - 1 <= box.y0 and box.y1 <= page.y1 + 1
