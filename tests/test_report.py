"""A report holds the facts, needs nothing from outside, and never says more than is known."""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from kernelclust._units import unit_warning
from kernelclust.report import build_report, describe_fit, gap_in_words, history_svg, margin_in_words, order_in_words
from kernelclust.structures import as_structure


def fitted(**changes):
    facts = {
        "structure_": as_structure("ring:4"),
        "labels_": np.array([0, 0, 0, 1, 2, 2, 3, 3]),
        "objective_": 9.5,
        "upper_bound_": 10.0,
        "gap_": 0.05,
        "placement_margin_": 1.25,
        "support_": None,
        "n_iter_": 3,
        "gamma_": 0.125,
        "history_": [1.0, 8.0, 9.5],
        "get_params": lambda deep: {"kernel": "rbf", "n_clusters": 8, "rho": 2.0, "kernel_params": None},
    }
    return SimpleNamespace(**(facts | changes))


class Balance(HTMLParser):
    """Raises unless every tag that is opened is closed in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_holds_the_facts_and_nothing_from_outside():
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(1, 1))
    facts = describe_fit(fitted(), neighbours=np.roll(np.eye(4), 1, 1) + np.roll(np.eye(4), -1, 1))
    page = build_report(facts, {"drawn": figure, "curve": history_svg([1, 2, 3])}, "A <title>")
    checker = Balance()
    checker.feed(page)
    assert checker.open == []
    assert "A &lt;title&gt;" in page
    assert "<td>0</td><td>3</td><td>37.5%</td><td>1, 3</td>" in page
    assert "<th>gamma</th><td>0.125</td>" in page
    assert "No labeling can exceed 10, so at most 5.0% is missing" in page
    assert "next different arrangement is 1.25" in page
    assert page.count("<figure>") == 2
    assert "data:image/png;base64," in page
    assert not re.search(r"https?:|//\w|<link|<script|url\(", page)


def test_texts_are_escaped():
    page = build_report(
        {"<b>": "<script>x</script>", "table": {"<i>": "<u>"}, "rows": [{"a&b": "<s>"}]}, {"<em>": "<svg></svg>"}, "t"
    )
    assert not re.search(r"<(b|script|i|u|s|em)>", page)


def test_empty_sections_leave_no_heading():
    assert "scores" not in build_report({"scores": {}}, {}, "t")
    assert "pictures" not in build_report({}, {}, "t")


@pytest.mark.parametrize(
    ("margin", "said"),
    [
        (0.299, "is 0.30 standard deviations of all arrangements behind"),
        (np.inf, "only one arrangement"),
        (np.nan, "only one arrangement"),
        (None, "only one arrangement"),
    ],
)
def test_margin_in_words(margin, said):
    text = margin_in_words(margin)
    assert said in text
    assert "%" not in text and "probab" not in text


@pytest.mark.parametrize(
    ("text", "confidence", "pvalue", "said"),
    [
        ("chain:8", 0.934, 0.01, "'chain:8' is right with a confidence of 93%. Noise would be arranged as well in 1%"),
        ("ring:4", 0.6, 0.4, "Only 3 arrangements exist"),
        ("tree:2x3", 0.9, 0.01, "slight changes of the data would hardly change them"),
        ("tree:2x3", 0.2, 0.5, "they are uncertain"),
    ],
)
def test_order_in_words(text, confidence, pvalue, said):
    assert said in order_in_words(as_structure(text), confidence, pvalue)
    page = build_report(describe_fit(fitted(order_confidence_=confidence, order_pvalue_=pvalue)), {}, "t")
    assert "The order of the clusters" in page


def test_nothing_is_said_of_an_order_that_was_not_judged():
    assert order_in_words(as_structure("chain:8"), None, None) == ""
    assert order_in_words(as_structure("flat:8"), np.nan, np.nan) == ""


@pytest.mark.parametrize("bound", [None, np.nan, np.inf])
def test_no_bound_is_said_to_be_unknown(bound):
    assert (
        gap_in_words(3.0, bound, None if bound is None else np.nan)
        == "The objective is 3. No upper bound is known for these settings."
    )


def test_unit_warning_starts_above_a_hundredfold():
    base = np.array([-1.0, 1.0, -1.0, 1.0])
    assert unit_warning(np.column_stack([base, 9.9 * base, 0 * base])) == ""
    text = unit_warning(np.column_stack([0 * base, base, 10.1 * base]))
    assert text.startswith("The variance of X[:, 2] is 102 times that of X[:, 1].")
    facts = describe_fit(fitted(), np.column_stack([np.arange(8), 1e3 * np.arange(8)]))
    assert '<p class="warning">The variance of X[:, 1] is' in build_report(facts, {}, "t")


@pytest.mark.parametrize("history", [[5.0], [2.0, 2.0, 2.0], [1e-300, 1e300]])
def test_curve_stays_inside_its_frame(history):
    drawn = history_svg(history, width=400, height=150)
    points = np.array([pair.split(",") for pair in re.search('points="(.*?)"', drawn)[1].split()], dtype=float)
    assert len(points) == len(history)
    assert ((points >= 0) & (points <= [400, 150])).all()


def test_curve_rises_with_the_objective():
    drawn = history_svg([1.0, 3.0, 4.0])
    heights = [float(pair.split(",")[1]) for pair in re.search('points="(.*?)"', drawn)[1].split()]
    assert heights == sorted(heights, reverse=True)  # downwards in the page's own axes
