"""What the documents show runs, and what they link to exists."""

import ast
import importlib
import re
import runpy
import sys
import warnings
from pathlib import Path
from types import ModuleType

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from kernelclust import StructuredClustering
from kernelclust.metrics import clustering_accuracy, structured_accuracy

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md")])
DOCUMENTS = sorted([*ROOT.glob("*.md"), *PAGES, *ROOT.glob("changes/*.md")])


def code_of(document: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document.read_text(), flags=re.DOTALL)


EXAMPLES = sorted(ROOT.glob("examples/*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_pages_of_the_gallery(script):
    page = ast.parse(script.read_text())
    title, underline, empty, *text = (ast.get_docstring(page) or "").splitlines()
    assert script.name.startswith("plot_") and underline == "=" * len(title) and not empty and text
    assert any("print(" in line for line in script.read_text().splitlines())  # numbers come from here
    imported = [node for node in ast.walk(page) if isinstance(node, ast.ImportFrom) and node.module]
    ours = [
        (node.module, name.name) for node in imported for name in node.names if node.module.startswith("kernelclust")
    ]
    assert [pair for pair in ours if not hasattr(importlib.import_module(pair[0]), pair[1])] == []


def test_the_gallery_is_ordered_by_names_that_exist():
    order = runpy.run_path(str(ROOT / "docs/gallery_style.py"))["ORDER"]
    assert len(order) >= 12 and [name for name in order if not (ROOT / f"examples/plot_{name}.py").exists()] == []


@pytest.mark.parametrize("name", ["sequences", "views"])  # `make docs` runs them all
def test_examples_run(name, tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*non-interactive")
        runpy.run_path(str(ROOT / f"examples/plot_{name}.py"))
    assert capsys.readouterr().out and plt.get_fignums()
    plt.close("all")


def test_readme_example_follows_the_clock():
    example, terms = code_of(ROOT / "README.md")
    seen: dict = {}
    exec(example, seen)
    exec(terms.replace("StructuredClustering(", "written_out = StructuredClustering("), seen)
    assert len(set(seen["written_out"].fit(seen["X"]).labels_)) == 6
    shift = np.round(seen["hour"] / 4).astype(int) % 6
    place = [np.bincount(seen["model"].labels_[shift == s]).argmax() for s in range(6)]
    assert set(np.diff([*place, place[0]]) % 6) in ({1}, {5})


def test_what_the_guide_says_of_labels_and_links_holds():
    seen: dict = {}
    exec("\n".join(code_of(ROOT / "docs/guide/side-information.md")), seen)
    known, y = seen["known"].labels_, seen["y"]
    np.testing.assert_array_equal(known[:12], y[:12])
    assert known[20] != known[21] and np.bincount(known).min() >= 20
    assert np.mean(known == np.round(seen["hour"] / 4).astype(int) % 6) > 0.95  # labels turn the ring the right way


@pytest.mark.parametrize("name", ["guide/views", "guide/max-margin", "guide/beyond-labels", "guide/seriation"])
def test_code_of_the_guide_runs(name):
    (code,) = code_of(ROOT / f"docs/{name}.md")
    exec(code, {})


def test_series_are_ordered_by_warped_distances(monkeypatch):
    """The guide takes the distances from tslearn."""
    tslearn = ModuleType("tslearn.metrics")
    tslearn.cdist_dtw = warped_distances
    monkeypatch.setitem(sys.modules, "tslearn", ModuleType("tslearn"))
    monkeypatch.setitem(sys.modules, "tslearn.metrics", tslearn)
    seen: dict = {}
    exec("\n".join(code_of(ROOT / "docs/guide/kernels.md")), seen)
    grown = seen["grown"]
    assert structured_accuracy(grown, seen["stages"].labels_, "chain:4") == 1
    for kernel in ("auto", "rbf"):
        direct = StructuredClustering(structure="chain:4", kernel=kernel, random_state=0).fit(seen["series"])
        assert structured_accuracy(grown, direct.labels_, "chain:4") < 0.5


def warped_distances(X):
    """Distances (m, m) by dynamic time warping of series (m, t)."""
    m, t = X.shape
    cost = np.full((t + 1, t + 1, m, m), np.inf)
    cost[0, 0] = 0
    for i in range(t):
        for j in range(t):
            before = np.minimum(np.minimum(cost[i, j + 1], cost[i + 1, j]), cost[i, j])
            cost[i + 1, j + 1] = before + (X[:, i][:, None] - X[:, j]) ** 2
    return np.sqrt(cost[-1, -1])


def test_what_the_page_of_questions_shows_holds(capsys):
    seen: dict = {}
    exec("\n".join(code_of(ROOT / "docs/faq.md")), seen)
    assert clustering_accuracy(np.repeat(np.arange(3), 75), seen["families"]) == 1
    assert next(iter(seen["taxonomy"].diagnostics_.structures)).name == "hierarchy"
    assert float(capsys.readouterr().out.split()[-1]) > 0.9  # of the copy in scikit-learn


def test_what_the_page_of_cells_shows_holds():
    pytest.importorskip("anndata")
    seen: dict = {}
    exec("\n".join(code_of(ROOT / "docs/guide/cells.md")), seen)
    adata, cells, dividing = seen["adata"], seen["cells"], seen["dividing"]
    assert np.corrcoef(adata.obs["kernelclust_pseudotime"], seen["time_of_cells"])[0, 1] > 0.95
    groups = np.repeat(["egg", "stem", "skin", "bone"], 30)
    assert np.mean(cells.obs["kernelclust"].astype(str) == groups) > 0.95
    assert all(len(names) == 10 for names in seen["ends"].values())
    assert np.mean(groups[np.array(seen["ends"]["skin"], dtype=int)] == "skin") == 1
    around, phase = 2 * np.pi * dividing.obs["kernelclust_position"].to_numpy() / 8, seen["phase"]
    assert max(abs(np.exp(1j * (around - phase)).mean()), abs(np.exp(1j * (around + phase)).mean())) > 0.95
    left = dividing.X[:, :20] @ np.exp(2j * np.pi * np.arange(20) / 20)  # of the cycle
    both = np.corrcoef([left.real, left.imag, np.cos(phase), np.sin(phase)])
    assert np.abs(both[:2, 2:]).max() < 0.2
    assert abs(np.corrcoef(dividing.X[:, 20], seen["kind"])[0, 1]) > 0.7
    assert seen["test"].statistic > 0 and seen["test"].pvalue < 0.05 and seen["agreement"] > 0.9
    assert list(adata.obs["leiden"].cat.categories) == ["0", "1", "2", "3"]
    assert adata.uns["leiden_arrangement"]["groups"].tolist() == ["3", "0", "2", "1"]
    assert np.corrcoef(adata.obs["lineage_pseudotime"], seen["time_of_cells"])[0, 1] > 0.95


WORDS = "".join(page.read_text() for page in [ROOT / "README.md", *PAGES])
NAMED = sorted(set(re.findall(r'structure="(.*?)"', WORDS)))


@pytest.mark.parametrize("structure", NAMED)
def test_structures_in_the_documents_exist(structure):
    from kernelclust.structures import as_structure

    sized = ":" in structure or "(" in structure
    assert as_structure(structure, None if sized else 8).n_clusters > 1


def test_the_numbers_of_the_evidence_are_those_of_the_program():
    from kernelclust.engine import _order as order
    from kernelclust.engine._structure_weights import CONFIDENCE

    page = (ROOT / "docs/mathematics.md").read_text()
    rows = re.findall(r"^\| (chain|ring|tree|grid)[\w ]* \|((?: -?\d+\.\d+ \|){5})$", page, flags=re.MULTILINE)
    shown = {name: [float(cell) for cell in cells.split("|")[:-1]] for name, cells in rows}
    assert shown == {name: pytest.approx(weights, abs=5.1e-4) for name, weights in CONFIDENCE.items()}
    atanh, half, kept, less = order.CONNECTED
    assert f"{atanh} \\operatorname{{artanh}} T + {half}\\, h + {kept}\\, J - {less}" in page
    assert f"{order.PARTS:.0f} J - {order.LESS:.0f}" in page and f"{order.JITTERS} perturbations" in page
    assert f"e^{{{order.JITTER} " in page and f"N = {order.NOISE_DRAWS}$ for up to {order.MANY_CLUSTERS} cl" in page
    assert f"and {order.FEWER_DRAWS} beyond" in page and f"({order.NOISE_SAMPLES} points for each)" in page
    assert f"{order.LINK} + {1 - order.LINK:.1f}$ `order_confidence_`" in page and f"at least {order.KEPT}" in page


def test_the_readme_links_to_nothing_that_a_package_index_lacks():
    links = re.findall(r"(?<!!)\[[^\]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert links and all(link.startswith("https://") for link in links)


def test_paths_in_the_readme_exist():
    named = re.findall(r"`((?:docs|examples)/[\w/.-]+)`", (ROOT / "README.md").read_text())
    assert len(named) > 5 and [name for name in named if not (ROOT / name).exists()] == []


def test_pages_that_are_linked_exist():
    for page in PAGES:
        for target in re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", page.read_text()):
            there = (page.parent / target).resolve().relative_to(ROOT)
            found = ROOT / f"examples/{there.name}.py" if "gallery" in there.parts else ROOT / f"{there}.md"
            assert found.exists() or there.parts[-2:] == ("gallery", "index"), f"{page.name}: {target}"


def test_what_the_documents_use_is_in_the_reference():
    listed = re.findall(r"^   ([a-zA-Z][\w.]+)$", (ROOT / "docs/api.md").read_text(), flags=re.MULTILINE)
    lacking = []
    for name in listed:
        module, _, attribute = f"kernelclust.{name}".rpartition(".")
        if not getattr(importlib.import_module(module), attribute, None).__doc__:
            lacking.append(name)
    assert len(listed) > 60 and lacking == []
    imports = re.findall(r"from kernelclust[\w.]* import ([\w, ]+)", WORDS)
    used = {name for line in imports for name in line.split(", ")}
    used |= set(re.findall(r"\b(?:kernel|approximation|objective|solver|method|loss)=([A-Z]\w+)\(", WORDS))
    assert {"StructuredClustering", "RBF", "Dependence", "CuttingPlane"} <= used
    assert used - {name.rpartition(".")[2] for name in listed} == set()


def test_docstrings_keep_their_formulas():
    escaped = runpy.run_path(str(ROOT / "docs/docstrings.py"))["escaped"]
    assert escaped("|w|^2 of labels_, `labels_` and ``a|b``") == r"\|w\|^2 of labels\_, `labels_` and ``a|b``"


def test_the_citation_names_five_papers():
    text = (ROOT / "CITATION.cff").read_text()
    titles = re.findall(r'^    title: "(.*)"$', text, flags=re.MULTILINE)
    page = re.sub(r"\s+", " ", (ROOT / "docs/cite.md").read_text())
    assert len(titles) == 5 and [title for title in titles if f"*{title}.*" not in page] == []
    dois = re.findall(r"^    doi: (.*)$", text, flags=re.MULTILINE)
    assert len(dois) == 4 and [doi for doi in dois if f"(https://doi.org/{doi})" not in page] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    links = [link for link in re.findall(r"\]\(([^)#]+)", document.read_text()) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_paths_in_the_architecture_exist():
    named = re.findall(
        r"`((?:kernels|structures|objectives|solvers|metrics)/\w*(?:\.py)?)`",
        (ROOT / "docs/architecture.md").read_text(),
    )
    assert len(named) > 8
    assert [name for name in named if not (ROOT / "src/kernelclust" / name).exists()] == []
