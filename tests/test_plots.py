"""Pictures show what they claim: places, sizes, lines, colours, means."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from kernelclust import KernelKMeans, MaxMarginClustering, StructuredClustering
from kernelclust.plots import EmbeddingDisplay, SimilarityDisplay, StructureDisplay, neighbours, structure_colors
from kernelclust.structures import Custom, as_structure

pytestmark = pytest.mark.usefixtures("few_starts")

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def plot_structure(structure, **options):
    return StructureDisplay(structure, **options).plot().ax_


def plot_embedding(*given, **options):
    return EmbeddingDisplay.from_predictions(*given, **options).ax_


def plot_similarity(*given, **options):
    return SimilarityDisplay.from_predictions(*given, **options).ax_


TEXTS = ["flat:4", "flat:25", "chain:5", "ring:7", "grid:3x4", "tree:3x3", "flat:2*chain:3", "chain:1", "chain:2"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("text", TEXTS)
def test_every_structure_is_drawn_within_the_picture(text, tmp_path):
    structure = as_structure(text)
    sizes = np.arange(1, structure.n_clusters + 1)
    ax = plot_structure(structure, sizes=sizes, thumbnails=[np.eye(8)] * structure.n_clusters)
    ax.figure.savefig(tmp_path / "picture.png")
    lines, discs = ax.collections
    assert len(lines.get_segments()) == len(structure.segments())
    boxes = [path.get_extents() for path in discs.get_paths()]
    centers = np.array([[(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2] for box in boxes])
    assert_allclose(centers, structure.positions(), atol=1e-9)
    areas = np.array([box.width * box.height for box in boxes])
    big = sizes >= 0.06 * sizes.max()
    assert_allclose(areas[big] / areas.max(), sizes[big] / sizes.max(), rtol=1e-6)
    low, high = np.sort(ax.get_xlim()), np.sort(ax.get_ylim())
    assert all(low[0] <= box.x0 and box.x1 <= low[1] and high[0] <= box.y0 and box.y1 <= high[1] for box in boxes)
    distance = np.linalg.norm(centers[:, None] - centers, axis=2) + np.diag(np.full(len(centers), np.inf))
    assert max(box.width for box in boxes) <= distance.min()  # no two overlap


def test_values_get_a_colour_bar_and_names_replace_numbers():
    ax = plot_structure(as_structure("chain:3"), values=[1.0, 5.0, 3.0], names=["early", "middle", "late"])
    assert_array_equal(ax.collections[1].get_array(), [1, 5, 3])
    assert len(ax.figure.axes) == 2
    assert [text.get_text() for text in ax.texts] == ["early", "middle", "late"]


def test_similarity_is_the_mean_over_pairs():
    rng = np.random.default_rng(0)
    K, labels = rng.random((9, 9)), np.array([0, 2, 1, 0, 2, 2, 0, 1, 1])
    shown = plot_similarity(K, labels).images[0].get_array()
    assert_allclose(shown, [[K[np.ix_(labels == a, labels == b)].mean() for b in range(3)] for a in range(3)])


def test_similarity_leaves_an_empty_cluster_blank_and_refuses_a_wrong_matrix():
    shown = plot_similarity(np.eye(3), [0, 0, 2], as_structure("chain:4")).images[0].get_array()
    assert shown.shape == (4, 4)
    assert np.ma.getmaskarray(np.ma.masked_invalid(shown))[1].all()
    with pytest.raises(ValueError, match=r"shape \(3, 2\), but 3 labels need \(3, 3\)"):
        plot_similarity(np.ones((3, 2)), [0, 0, 1])


def test_embedding_joins_the_means_of_neighbours_in_the_given_axes():
    import matplotlib.pyplot as plt

    given = plt.figure().subplots()
    X = np.array([[0.0, 0], [2, 0], [5, 5], [9, 1]])
    ax = plot_embedding(X, [0, 0, 1, 2], as_structure("chain:3"), ax=given)
    assert ax is given
    segments = next(c for c in ax.collections if hasattr(c, "get_segments")).get_segments()
    assert_allclose(segments, [[[1, 0], [5, 5]], [[5, 5], [9, 1]]])


def test_embedding_skips_an_empty_cluster():
    ax = plot_embedding(np.eye(3), [0, 0, 2], as_structure("chain:3"))
    assert [text.get_text() for text in ax.texts] == ["0", "2"]
    assert next(c for c in ax.collections if hasattr(c, "get_segments")).get_segments() == []
    assert ax.get_xlabel() == "first principal component"


def test_neighbours():
    assert not neighbours(as_structure("flat:5")).any()
    assert neighbours(as_structure("ring:5")).sum(axis=1).tolist() == [2] * 5
    assert neighbours(as_structure("grid:3x3")).sum() == 2 * 12
    tree = neighbours(as_structure("tree:2x3"))
    assert_array_equal(tree, np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6) > 0)


@pytest.mark.parametrize("text", TEXTS)
def test_colours_tell_clusters_apart(text):
    colors = structure_colors(as_structure(text))
    assert colors.shape == (as_structure(text).n_clusters, 4)
    assert len(np.unique(colors.round(3), axis=0)) == len(colors)
    assert ((colors >= 0) & (colors <= 1)).all()


def test_colours_follow_the_structure():
    def step(colors, a, b):
        return np.linalg.norm(colors[a] - colors[b])

    ring = structure_colors(as_structure("ring:12"))
    assert step(ring, 0, 11) < step(ring, 0, 6)  # the cycle closes
    chain = structure_colors(as_structure("chain:8"))
    assert step(chain, 0, 7) == max(step(chain, 0, k) for k in range(8))
    tree = structure_colors(as_structure("tree:3x3"))
    assert max(step(tree, 0, 1), step(tree, 0, 2)) < min(step(tree, 0, k) for k in range(3, 9))


# Linear light to CIE XYZ, and what people without long, middle or short cones see of it (Machado et al. 2009).
TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
SIGHTS = {
    "all cones": np.eye(3),
    "no long": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "no middle": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "no short": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize(("text", "apart"), [("flat:10", 15), ("ring:8", 10), ("chain:8", 10), ("grid:3x3", 15)])
def test_colours_are_told_apart_by_everybody(text, apart, sight):
    colors = structure_colors(as_structure(text))[:, :3]
    light = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(light @ SIGHTS[sight].T, 0, 1) @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116).T
    lab = np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])
    distance = np.linalg.norm(lab[:, None] - lab, axis=2)
    assert distance[~np.eye(len(lab), dtype=bool)].min() > apart


def test_a_structure_of_ones_own_is_drawn():
    star = Custom(np.eye(4) * 3 + np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))
    assert neighbours(star)[0].sum() == 3
    plot_structure(star)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        plot_structure(as_structure("ring:4"))


def test_text_is_a_structure():
    assert plot_structure("ring:6").get_title() == "ring:6"
    assert plot_embedding(np.eye(3), [0, 0, 2], "chain:3").get_title() == "chain:3"
    assert plot_similarity(np.eye(3), [0, 0, 2], "chain:4").images[0].get_array().shape == (4, 4)


@pytest.mark.parametrize(
    ("draw", "error", "says"),
    [
        (lambda: plot_structure("rign:6"), ValueError, "Did you mean 'ring'"),
        (lambda: plot_structure(StructuredClustering(structure="ring:6")), ValueError, "is not fitted yet: call fit"),
        (lambda: plot_structure(KMeans(2).fit(np.eye(4))), TypeError, "KMeans has no structure"),
        (lambda: plot_structure(KernelKMeans(3)), ValueError, "this KernelKMeans is not fitted yet"),
        (lambda: plot_structure(MaxMarginClustering(2).fit(np.eye(4))), TypeError, "MaxMarginClustering has no struc"),
        (lambda: plot_structure(3.5), TypeError, "structure must be text such as"),
        (lambda: plot_structure("ring:6", names=["a", "b"]), ValueError, "names has 2 entries, but 'ring:6' has 6"),
        (lambda: plot_structure("ring:6", sizes=[1.0] * 7), ValueError, "sizes has 7 entries"),
        (lambda: plot_structure("ring:6", sizes=3), TypeError, "sizes=3: give one for each of the 6 clusters"),
        (lambda: plot_structure("ring:6", values=[1.0]), ValueError, "values has 1 entries"),
        (lambda: plot_structure("ring:6", thumbnails=[np.eye(2)]), ValueError, "thumbnails has 1 entries"),
        (lambda: plot_embedding(np.eye(3), [0, 0, 5], "chain:3"), ValueError, "labels go up to 5, but 'chain:3' has"),
        (lambda: plot_embedding(np.eye(3), [0, 0, -1]), ValueError, "labels must be integers of 0 or more"),
        (lambda: plot_embedding(np.eye(3), [0, 0]), ValueError, r"X has shape \(3, 3\), but 2 labels"),
        (lambda: plot_similarity(np.eye(3), [0, 0, 5], "chain:3"), ValueError, "labels go up to 5"),
    ],
)
def test_what_cannot_be_drawn_is_named_and_leaves_no_figure(draw, error, says):
    import matplotlib.pyplot as plt

    with pytest.raises(error, match=says):
        draw()
    assert plt.get_fignums() == []


def test_numbers_whose_squares_overflow_are_drawn():
    X = np.random.default_rng(0).standard_normal((60, 3))
    shown = [plot_embedding(scale * X, [0, 1, 2] * 20).collections[0].get_offsets() for scale in (1, 1e300)]
    small, large = (np.asarray(points) / np.abs(points).max() for points in shown)
    assert_allclose(small, large, atol=1e-6)
