"""What the documents show runs, and what they link to exists."""

import ast
import importlib
import re
import runpy
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("changes/*.md")])


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
    assert ours and [pair for pair in ours if not hasattr(importlib.import_module(pair[0]), pair[1])] == []


def test_the_gallery_is_ordered_by_names_that_exist():
    order = runpy.run_path(str(ROOT / "docs/gallery_style.py"))["ORDER"]
    assert len(order) >= 12 and [name for name in order if not (ROOT / f"examples/plot_{name}.py").exists()] == []


@pytest.mark.parametrize("name", ["map", "pipeline"])  # `make docs` runs them all
def test_examples_run(name, tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*non-interactive")
        runpy.run_path(str(ROOT / f"examples/plot_{name}.py"))
    assert capsys.readouterr().out and plt.get_fignums()
    plt.close("all")


def test_readme_example_follows_the_clock():
    first, second = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    seen: dict = {}
    exec(first, seen)
    shift = np.round(seen["hour"] / 4).astype(int) % 6
    place = [np.bincount(seen["model"].labels_[shift == s]).argmax() for s in range(6)]
    assert set(np.diff([*place, place[0]]) % 6) in ({1}, {5})
    exec(second, seen)
    known = seen["known"].labels_
    np.testing.assert_array_equal(known[:12], seen["y"][:12])
    assert known[20] != known[21]
    assert np.mean(known == shift) > 0.95  # labels turn the ring the right way
    assert seen["views"].weights_.shape == (2,) and set(seen["halves"]) == {0, 1}


@pytest.mark.parametrize("structure", re.findall(r'structure="(.*?)"', (ROOT / "README.md").read_text()))
def test_structures_in_the_readme_exist(structure):
    from kernelclust.structures import as_structure

    assert as_structure(structure).n_clusters > 1


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
