"""A report leads with the verdict, tells of clusters in the user's own columns, and needs nothing from outside."""

import html
import re
import shutil
import subprocess
import warnings
from html.parser import HTMLParser

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from kernelclust import KernelKMeans, MultiKernelClustering, StructuredClustering
from kernelclust.kernels import RBF
from kernelclust.plots import EmbeddingDisplay
from kernelclust.report import (
    Section,
    TableColumn,
    deciding_column,
    gap_in_words,
    html_report,
    order_in_words,
    page,
    readable,
)
from kernelclust.report import _fit as fitted
from kernelclust.report import _page as parts
from kernelclust.report import _words as words
from kernelclust.structures import Ring, as_structure

pytestmark = pytest.mark.usefixtures("few_starts")

HOSTILE = "<img src=x onerror=alert(1)>\"'&"
RNG = np.random.default_rng(0)
STAGE = np.repeat(np.arange(4), 15)
X = np.column_stack([10.0 * STAGE, -STAGE]) + 0.3 * RNG.standard_normal((60, 2))


@pytest.fixture(scope="module")
def model():
    return StructuredClustering(structure="chain:4", kernel="rbf", random_state=0).fit(X)


class Balance(HTMLParser):
    """Raises unless every tag that is opened is closed in order; gathers ids of elements and addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.found = [], []

    def handle_starttag(self, tag, attrs):
        self.found += [(tag, name, value or "") for name, value in attrs]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text):
    checker = Balance()
    checker.feed(text)
    assert checker.open == []
    return checker


def said(text):
    return html.unescape(re.sub(r"<[^>]+>", " ", text))


def test_page_is_whole_and_loads_nothing(model):
    text = html_report(model, X, columns=["height", "depth"], title="A <title>")
    seen = parsed(text)
    assert "A &lt;title&gt;" in text
    for tag, name, value in seen.found:
        if name in ("src", "href", "xlink:href"):
            assert value.startswith(("data:", "#")), (tag, name)
    assert not re.search(r"https?:|<link|url\((?!#)|@import", text)
    assert not any(name == "alt" and not value for _, name, value in seen.found)
    assert [value for tag, name, value in seen.found if tag == "svg" and name == "aria-label"]


def test_verdict_first_then_clusters_then_evidence_then_how_settings_last(model):
    text = said(html_report(model, X, columns=["height", "depth"], again={"Command line": "kernelclust fit x.csv"}))
    marks = ["60 rows fall into 4 clusters in a row, of 15 rows each", "What to do next", "differs by", "height high:",
             "of its upper bound", "How to reproduce this page", "kernelclust fit x.csv", "StructuredClustering(",
             "All settings"]  # fmt: skip
    at = [text.index(mark) for mark in marks]
    assert at == sorted(at)
    assert "with an estimated probability of" in text


def test_options_of_a_command_are_not_broken_between_lines(model):
    command = "kernelclust fit x.csv -s chain:4 --out labels.csv --use-labels"
    text = html_report(model, X, again={"Command line": command})
    lines = re.findall(r"<pre><code>(.*?)</code></pre>", text, re.DOTALL)
    assert command in [html.unescape(re.sub(r"<[^>]+>", "", line)) for line in lines]
    assert re.findall(r"<span>(.*?)</span>", lines[0]) == ["-s", "--out", "--use-labels"]


def test_typical_and_borderline_rows_are_by_distance_to_means(model):
    found = fitted._rows(model, X)
    D = model.transform(X)
    for j in range(4):
        inside = np.flatnonzero(model.labels_ == j)
        assert found.typical[j][0] == model.medoids_[j] == inside[np.argmin(D[inside, j])]
        other = np.delete(D, j, axis=1).min(axis=1)
        silhouette = (other - D[:, j]) / np.maximum(other, D[:, j])
        assert found.borderline[j][0] == inside[np.argmin(silhouette[inside])]


def test_ids_stand_for_rows(model):
    ids = [f"cell {i}" for i in range(60)]
    assert f"cell {model.medoids_[2]}" in said(html_report(model, X, ids=ids))


def test_profile_is_means_and_standard_scores():
    labels = np.array([0, 0, 1, 1, 3])
    data = np.array([[1.0, 5.0], [3.0, 5.0], [10.0, 5.0], [20.0, 5.0], [0.0, 5.0]])
    for given in (data, sparse.csr_array(data)):
        found = fitted.Profile.of(given, labels, 4, ["a", "b"])
        assert found.texts[0] == ["2", "15", "", "0"]
        np.testing.assert_allclose(found.scores[[0, 1, 3], 0], (np.array([2, 15, 0]) - 6.8) / data[:, 0].std())
        assert np.all(found.scores[[0, 1, 3], 1] == 0)  # a column that is the same everywhere tells nothing
        assert np.isnan(found.scores[2]).all()  # an empty cluster
        assert found.telling(1) == ["a high: 15"]
        assert found.columns(10).tolist() == [0]


def test_own_units_are_shown_beside_a_fit_of_standardised_columns():
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KernelKMeans(4, random_state=0).fit(Z)
    table = [TableColumn("height", X[:, 0], lambda mean: f"{mean:.3f} m"), TableColumn("depth", X[:, 1])]
    text = said(html_report(model, Z, table=table))
    assert f"{X[model.labels_ == 0, 0].mean():.3f} m" in text and "depth" in text


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (-2.776e-17, 1.0, "0"),
        (6.614e-05, 1.0, "0"),
        (33585.2, 12000.0, "33,585"),
        (0.5, 0.25, "0.5"),
        (-1.239, 3.0, "-1.24"),
        (1e12, 1e11, "1e+12"),
        (3e-9, 1e-9, "3e-09"),
        (7.0, 0.0, "7"),
    ],
)
def test_numbers_are_written_for_people(value, scale, text):
    assert readable(value, scale) == text


def test_columns_that_turn_have_circular_means():
    hours = np.array([23.0, 1.0, 5.0, 7.0])
    angle = 2 * np.pi * hours / 24
    turning = TableColumn("hour", np.c_[np.cos(angle), np.sin(angle)], lambda turn: f"{24 * turn % 24:.1f}")
    found = fitted.Profile.of_table([turning], np.array([0, 0, 1, 1]), 2)
    assert found.texts == [["0.0", "6.0"]]


def test_samples_are_drawn_in_the_directions_of_the_kernel():
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    rings = np.r_[np.c_[np.cos(angle), np.sin(angle)], 5 * np.c_[np.cos(angle), np.sin(angle)]]  # one inside the other
    model = KernelKMeans(2, kernel="graph", random_state=0).fit(rings)
    shown = EmbeddingDisplay.from_distances(model.transform(rings), model.labels_, model.structure_)
    points = np.asarray(shown.ax_.collections[0].get_offsets())[:, 0]
    inside, outside = points[model.labels_ == 0], points[model.labels_ == 1]
    assert max(inside) < min(outside) or max(outside) < min(inside)  # apart, as they are to the kernel


def test_a_deciding_column_has_all_information_or_none_is_named():
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=400)
    noise = rng.standard_normal(400)
    found = deciding_column({"noise": noise, "which": labels * 3.0}, labels)
    assert found.column == "which" and found.information == pytest.approx(1) and abs(found.next_information) < 0.05
    assert deciding_column({"which": labels * 3.0}, labels) is None  # there is no other column
    assert deciding_column({"which": labels * 3.0, "again": -labels}, labels) is None  # neither decides alone
    many = {"which": labels[:100] * 3.0, "names": rng.integers(80, size=100)}  # by chance, names seem to know labels
    assert deciding_column(many, labels[:100]).next_information < 0.15
    halves = deciding_column({"noise": noise, "half": labels // 2}, labels)
    assert halves is None  # two of four clusters are not told apart
    country = np.where(rng.random(400) < 0.15, rng.integers(4, size=400), labels)  # most rows of a cluster, not all
    unsure = np.where(rng.random(400) < 0.5, rng.integers(4, size=400), labels)
    found = deciding_column({"country": country, "noise": noise}, labels)
    assert found.column == "country" and 0.6 < found.information < 0.8
    assert deciding_column({"country": country, "also": unsure, "as well": country[::-1]}, labels) is not None
    also = np.where(rng.random(400) < 0.25, rng.integers(4, size=400), labels)
    assert deciding_column({"country": country, "also": also}, labels) is None  # has more than half as much


@pytest.mark.parametrize("m", [12, 30, 60, 100])
def test_numbers_that_are_all_different_tell_nothing_by_chance(m):
    rng = np.random.default_rng(m)
    labels = np.arange(m) % 3
    assert deciding_column({"noise": rng.standard_normal(m), "zero": np.zeros(m)}, labels) is None
    found = deciding_column({"which": labels + 0.01 * rng.standard_normal(m), "noise": rng.standard_normal(m)}, labels)
    assert m == 12 or (found.column == "which" and 0.8 < found.information < 1.001)  # 12 rows are too few to tell


def words_in_common(A, B):
    return A @ B.T


LINEAGE = nx.Graph([("egg", "stem"), ("stem", "skin"), ("stem", "bone")])
WEIGHTED = nx.Graph()
WEIGHTED.add_nodes_from([3, 0, 2, 1])  # the order of the clusters
WEIGHTED.add_weighted_edges_from([(0, 1, 0.5), (1, 2, 0.25), (2, 3, 1.0)])


@pytest.mark.parametrize(
    "given",
    [
        {"structure": LINEAGE, "kernel": "linear"},
        {"structure": WEIGHTED, "kernel": "rbf"},
        {"structure": np.eye(4) * 2 + np.eye(4, k=1) + np.eye(4, k=-1), "kernel": "linear"},
        {"structure": Ring(4), "kernel": RBF(gamma=0.1)},
        {"structure": "chain:4", "kernel": words_in_common},
    ],
    ids=["graph", "weights", "matrix", "structure", "function"],
)
def test_the_python_of_a_page_runs_as_printed(given):
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0], [0, 4], [-3, 7], [3, 7]], 15, axis=0) + 0.5 * rng.standard_normal((60, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of orders that are uncertain
        model = StructuredClustering(random_state=0, **given).fit(X)
        page = html_report(model, X)
        python = html.unescape(re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)[-1])
        seen = {"X": X, "words_in_common": words_in_common}
        exec(re.sub(r"</?span>", "", python), seen)
    assert np.array_equal(seen["model"].labels_, model.labels_) and " at 0x" not in page
    assert seen["model"].cluster_names_.tolist() == model.cluster_names_.tolist()
    graph = not isinstance(given["structure"], str | Ring)
    assert ("fall into 4 clusters on a graph" in page and "order of the clusters on the graph" in page) == graph
    assert "custom" not in page


def test_wrong_number_of_names_is_an_error(model):
    with pytest.raises(ValueError, match="3 names, but there are 2 columns"):
        html_report(model, X, columns=["a", "b", "c"])


def test_hostile_texts_stay_texts(model):
    text = html_report(
        model,
        X,
        columns=[HOSTILE, "</style><script>alert(2)</script>"],
        ids=[HOSTILE] * 60,
        title=HOSTILE,
        warnings=[HOSTILE],
        scores={HOSTILE: HOSTILE},
        again={HOSTILE: HOSTILE},
        lead=[HOSTILE],
    )
    seen = parsed(text)
    assert not any(name.startswith("on") for _, name, _ in seen.found)
    assert "<img" not in text and text.count("<script>") == 1  # that of the tables


@pytest.mark.parametrize(
    ("structure", "kernel"),
    [("flat:3", "auto"), ("ring:5", "graph"), ("grid:2x2", "auto"), ("tree:2x2", "rbf"), ("chain:30", "rbf")],
)
def test_every_structure_and_kernel(structure, kernel):
    data = RNG.random((60, 2))
    model = StructuredClustering(structure=structure, kernel=kernel, compute_confidence=False, random_state=0)
    parsed(html_report(model.fit(data), data))


def test_similarities_views_pictures_and_nothing_at_all():
    K = np.exp(-(np.subtract.outer(X[:, 0], X[:, 0]) ** 2) / 50)
    model = StructuredClustering(structure="chain:4", kernel="precomputed", random_state=0).fit(K)
    assert "differs by" not in html_report(model, K)
    views = MultiKernelClustering(3, random_state=0).fit([X[:, :1], X])
    parsed(html_report(views))
    pixels = RNG.random((40, 90))
    model = KernelKMeans(3, kernel="rbf", random_state=0).fit(pixels)
    assert "differs by" not in html_report(model, pixels, thumbnails=pixels[:3].reshape(3, 9, 10))
    assert "differs by" in html_report(model, pixels, columns=[f"gene {i}" for i in range(90)])
    counts = sparse.random(40, 12, density=0.4, random_state=0, format="csr")
    parsed(html_report(KernelKMeans(3, random_state=0).fit(counts), counts))


def test_without_matplotlib_it_says_what_is_missing(model, monkeypatch):
    monkeypatch.setattr("kernelclust.report._fit.have_matplotlib", lambda: False)
    text = html_report(model, X)
    assert "pip install matplotlib" in text and "<svg" not in text
    parsed(text)


def test_an_open_order_asks_for_labels_of_rows():
    noise = np.random.default_rng(1).standard_normal((80, 20))
    model = StructuredClustering(structure="chain:6", random_state=0).fit(noise)
    assert model.order_confidence_ < words.ASK
    asked = ", ".join(f"row {i}" for i in model.order_.queries(3))
    assert asked in said(html_report(model, noise, ids=[f"row {i}" for i in range(80)]))


def test_sections_without_content_leave_no_heading():
    assert "scores" not in page("t", [Section("scores", [parts.facts({}), parts.table([])])])


@pytest.mark.parametrize(("margin", "words_said"), [(1.25, "1.25 standard deviations"), (None, "")])
def test_margin_in_words(margin, words_said):
    assert words_said in words.margin_in_words(margin) and bool(words.margin_in_words(margin)) == bool(words_said)


@pytest.mark.parametrize(("confidence", "pvalue"), [(None, None)])
def test_an_order_that_was_not_judged_is_not_spoken_of(confidence, pvalue):
    assert order_in_words(as_structure("flat:3"), confidence, pvalue) == ""


@pytest.mark.parametrize(("confidence", "pvalue", "both"), [(0.19, 0.02, True), (0.19, 0.3, False), (0.9, 0.01, False)])
def test_an_order_may_exist_and_be_another_one(confidence, pvalue, both):
    text = order_in_words(as_structure("chain:6"), confidence, pvalue)
    assert f"estimated probability of {confidence:.0%}" in text and f"as well in {pvalue:.0%} of draws" in text
    assert ("there is probably an order, but it need not be this one" in text) == both


def test_four_on_a_ring_can_hardly_be_told():
    assert "Only 3 arrangements exist" in order_in_words(as_structure("ring:4"), 0.5, 0.4)


@pytest.mark.parametrize(("bound", "gap"), [(None, None), (np.inf, 1.0), (np.nan, np.nan)])
def test_no_bound_is_said_where_there_is_none(bound, gap):
    assert gap_in_words(1.0, bound, gap) == "The objective is 1. No upper bound is known for these settings."


@pytest.mark.parametrize(("silhouette", "text"), [(0.8, "well apart"), (0.3, "touch"), (0.1, "overlap"), (np.nan, "")])
def test_how_far_apart(silhouette, text):
    assert text in words.apart_in_words(silhouette)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOOK = """<script>window.bad = []; window.onerror = text => window.bad.push(text)</script>"""
TELL = """<script>for (const b of document.querySelectorAll("th button")) b.click()
document.title = [window.bad.length, document.documentElement.scrollWidth <= window.innerWidth, window.innerWidth,
  getComputedStyle(document.body).backgroundColor].join("|")</script>"""


def browsed(path, *flags):
    """(errors, whether it fits, width, colour of the paper) as a browser sees them."""
    line = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", *flags, "--dump-dom", path.as_uri()]
    dom = subprocess.run(line, capture_output=True, text=True, timeout=120, check=True).stdout
    return re.search(r"<title>(.*?)</title>", dom).group(1).split("|")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: how reports look in a browser is NOT tested")
def test_in_a_browser(model, tmp_path):
    long = ["an exceedingly long column name without end " * 3, "x" * 200]
    text = html_report(model, X, columns=long, title="y" * 300, ids=[HOSTILE] * 60)
    path = tmp_path / "report.html"
    path.write_text(text.replace("<head>", f"<head>{LOOK}").replace("</body>", f"{TELL}</body>"))
    phone = browsed(path, "--window-size=390,800")
    dark = browsed(path, "--window-size=1200,800", "--blink-settings=preferredColorScheme=0")
    light = browsed(path, "--window-size=1200,800", "--blink-settings=preferredColorScheme=1")
    for seen in (phone, dark, light):
        assert seen[:2] == ["0", "true"]
    assert int(phone[2]) < 600
    assert dark[3] != light[3]
