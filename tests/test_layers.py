"""The source keeps its own rules: private modules stay at home, no operator is asked how it stores itself."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import kernelclust

SOURCE = Path(kernelclust.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_no_package_imports_a_private_module_of_another():
    wrong = []
    for file in FILES:
        home = file.relative_to(SOURCE).parts[0]
        for package, module in re.findall(r"from kernelclust\.(\w+)\.((?:\w+\.)?_\w+) import", file.read_text()):
            if package != home:
                wrong.append(f"{file.relative_to(SOURCE)}: {package}.{module}")
    assert len(FILES) > 100
    assert wrong == []


def test_the_package_does_not_need_the_reproduction_of_the_papers():
    imported = re.compile(r"^\s*(from|import) reproduction\b|import_module\(.reproduction", re.MULTILINE)
    assert [str(file) for file in FILES if imported.search(file.read_text())] == []


def test_nobody_asks_an_operator_how_it_stores_itself():
    asked = re.compile(r"isinstance\([^)]*\w(Kernel|Operator)\b|(kernel|operator)\.(form|K|B)\b")
    wrong = [f"{file.relative_to(SOURCE)}: {m.group()}" for file in FILES for m in asked.finditer(file.read_text())]
    assert wrong == []


def test_warnings_find_the_users_line_by_themselves():
    assert [str(f) for f in FILES if "stacklevel=" in f.read_text() and f.name != "_warnings.py"] == []


def test_every_module_has_a_layer_and_the_document_lists_them_in_order():
    """pyproject.toml is the source."""
    contract = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    layer = {name: level for level, line in enumerate(contract) for name in re.findall(r"kernelclust\.(\w+)", line)}
    modules = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(layer) == modules - {"__init__", "__main__"}
    block = re.search(
        r"## The folders\n.*?\n\n((?:    [^\n]*\n)+)", (ROOT / "docs/architecture.md").read_text(), re.DOTALL
    )
    listed = []
    for line in block[1].splitlines():
        if line[4] == "_":
            listed += line.split()
        elif line[4] != " ":
            listed.append(line.split()[0].rstrip("/"))
    assert sorted(listed) == sorted(layer)
    assert [layer[name] for name in listed] == sorted(layer.values())


def test_the_lock_was_made_from_these_requirements():
    """What they need in turn is complete because `uv lock` made it."""
    own = PROJECT["project"]
    lists = [own["dependencies"], *own["optional-dependencies"].values(), *PROJECT["dependency-groups"].values()]
    written = [Requirement(text) for texts in lists for text in texts if isinstance(text, str)]
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    (source,) = [package["metadata"] for package in packages if package["name"] == "kernelclust"]
    lists = [source["requires-dist"], *source["requires-dev"].values()]
    recorded = {(each["name"], each["specifier"]) for requirements in lists for each in requirements}
    assert recorded == {(canonicalize_name(each.name), str(each.specifier)) for each in written}


def test_the_conda_recipe_asks_for_the_same_versions():
    recipe = (ROOT / "recipe/recipe.yaml").read_text()
    own = PROJECT["project"]
    needed = [Requirement(text) for text in own["dependencies"] + own["optional-dependencies"]["cli"]]
    listed = re.findall(r"^    - ([\w-]+) (>=[\d.]+)$", recipe.partition("  run:\n")[2], re.MULTILINE)
    assert dict(listed) == {each.name: str(each.specifier) for each in needed}
    assert f"    - setuptools {Requirement(PROJECT['build-system']['requires'][0]).specifier}\n" in recipe
    assert f'python_min: "{own["requires-python"].removeprefix(">=")}"' in recipe
