"""What the documents show runs, and what they link to exists."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("changes/*.md")])


@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/*.py")), ids=lambda path: path.stem)
def test_examples_run(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))
    assert capsys.readouterr().out


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
