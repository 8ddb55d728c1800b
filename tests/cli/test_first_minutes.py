"""Commands that people typed in their first minutes, and what the program answers."""

import re
import shutil

import numpy as np
import pytest
from sklearn.datasets import make_circles

pytest.importorskip("typer")

from kernelclust import StructuredClustering, arrange
from kernelclust.cli import main
from kernelclust.cli.guard import IN_OPTIONS

pytestmark = pytest.mark.usefixtures("few_starts")


@pytest.fixture
def stages(tmp_path):
    """3 columns that rise over five stages, under noise."""
    rng = np.random.default_rng(0)
    stage = rng.integers(5, size=400)
    path = tmp_path / "stages.csv"
    rows = np.column_stack([stage, 2 * stage, stage / 2]) + rng.normal(0, 0.5, (400, 3)) * [1, 2, 0.5]
    path.write_text("a,b,c\n" + "".join(f"{x:.3f},{y:.3f},{z:.3f}\n" for x, y, z in rows))
    return path


@pytest.fixture
def similarities(tmp_path):
    """A matrix that is no kernel."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 15)
    S = np.exp(-np.abs(group[:, None] - group)) + rng.normal(0, 0.3, (60, 60))
    path = tmp_path / "sim.csv"
    names = [f"s{i}" for i in range(60)]
    lines = [
        ",".join([name, *(f"{value:.4f}" for value in row)]) for name, row in zip(names, (S + S.T) / 2, strict=True)
    ]
    path.write_text("\n".join([",".join(["id", *names]), *lines]) + "\n")
    return path, (S + S.T) / 2, group


def said(capsys, *line, code=0):
    assert main([str(part) for part in line]) == code
    return capsys.readouterr().err


def test_fit_select_and_compare_agree_on_a_noisy_chain(stages, capsys):
    fit = said(capsys, "fit", stages, "-s", "chain:5", "-k", "rbf", "--standardize")
    assert float(re.search(r"chain ([\d.]+)", fit)[1]) > 0.9
    assert (
        main(["select", "structure", str(stages), "--among", "flat:5,chain:5,ring:5", "--standardize", "-k", "rbf"])
        == 0
    )
    chosen = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("*"))
    assert chosen.split()[1] == "chain:5" and float(chosen.split()[2]) > 0.9


def test_several_files_are_named_by_their_folder(stages, tmp_path, capsys):
    folder = tmp_path / "two of them"
    folder.mkdir()
    for name in ("a.csv", "b.csv"):
        shutil.copy(stages, folder / name)
    error = said(capsys, "fit", *sorted(folder.iterdir()), "-s", "chain:5", code=2)
    assert "2 files are named" in error and f"kernelclust fit '{folder}'" in error and len(error) < 400
    assert "fit takes no argument 'chain:5'; kernelclust fit -h" in said(capsys, "fit", stages, "chain:5", code=2)
    assert said(capsys, "fit", folder, "-s", "chain:5", "-k", "rbf", "--standardize").count("chain") >= 1


def test_a_newick_file_by_its_name_alone(stages, capsys):
    assert "write 'tree:' in front of its name: 'tree:t.nwk'" in said(capsys, "fit", stages, "-s", "t.nwk", code=2)


def test_advice_about_a_matrix_that_is_no_kernel_works_as_printed(similarities, capsys):
    path, S, group = similarities
    line = ["fit", path, "--id-column", 1, "-k", "precomputed", "-s", "chain:4"]
    error = said(capsys, *line, code=2)
    advice = re.search(r"\((--indefinite \w+)\)", error)[1].split()
    assert "Precomputed(" not in error and "clustered into chain:4" in said(capsys, *line, *advice)
    with pytest.raises(ValueError, match=r"\(kernel=Precomputed\(indefinite='clip'\)\)") as refused:
        arrange(S, group, "chain", kernel="precomputed")
    assert "--indefinite" not in str(refused.value)


def test_advice_is_given_in_options(stages, tmp_path, capsys):
    error = said(capsys, "fit", stages, "-s", "tree:((A,B),(C,D))", "-k", "rbf", "--standardize")
    assert "--label-column COLUMN --use-labels" in error and "in y" not in error
    assert "may be the wrong structure" in error and "order_." not in error and "select structure" in error


def test_the_default_kernel_and_rbf_by_options(tmp_path, capsys):
    path = tmp_path / "rings.csv"
    rings, _ = make_circles(200, factor=0.4, noise=0.03, random_state=0)
    np.savetxt(path, rings, delimiter=",", header="a,b", comments="")
    error = said(capsys, "fit", path, "-s", "flat:2")
    assert "Compare both" in error and "--kernel rbf" in error and "kernel='" not in error


def test_every_line_of_advice_in_python_is_in_a_message():
    """A message that is changed and no longer found by its pattern would come out in Python again."""
    import kernelclust

    folder = __import__("pathlib").Path(kernelclust.__file__).parent
    text = " ".join(
        " ".join(file.read_text().replace('"\n', '"').split())
        for file in folder.rglob("*.py")
        if "cli" not in file.parts
    )
    text = re.sub(r'" f?"', "", text)
    for pattern, _ in IN_OPTIONS:
        assert re.search(pattern.replace(r"([\d.]*\d)", r"({SIZE_PRIOR}|0)"), text), pattern


def test_a_chain_of_names_without_labels_warns_in_words_of_python():
    X = np.repeat(np.arange(3.0), 20)[:, None] + 0.1 * np.random.default_rng(0).standard_normal((60, 2))
    with pytest.warns(UserWarning, match=r"names a, c may be on the wrong clusters.*some samples in y"):
        StructuredClustering(structure="chain:(a,b,c)", kernel="rbf").fit(X)


def test_hints_to_install_something_name_packages_that_exist():
    """Before a release pip knows no kernelclust: hints name the package that is missing, as `pyproject.toml` has it."""
    import tomllib
    from pathlib import Path

    import kernelclust

    folder = Path(kernelclust.__file__).parent
    text = " ".join(file.read_text() for file in folder.rglob("*.py"))
    named = set(re.findall(r"pip install ([\w-]+)\.", text))
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = {re.split(r"[<>=\[;]", one)[0] for some in project["optional-dependencies"].values() for one in some}
    assert named >= {"cvxpy", "matplotlib", "pillow"} and named <= extras and "pip install 'kernelclust" not in text


def test_the_default_kernel_keeps_a_noisy_chain():
    rng = np.random.default_rng(2)
    stage = rng.integers(5, size=300)
    X = stage[:, None] + rng.normal(0, 1.0, (300, 3))
    model = StructuredClustering(structure="chain:5", random_state=0).fit((X - X.mean(axis=0)) / X.std(axis=0))
    assert abs(np.corrcoef(model.labels_, stage)[0, 1]) > 0.85 and model.order_confidence_ > 0.7
