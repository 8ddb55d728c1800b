"""The source keeps its own rules: private modules stay at home, no operator is asked how it stores itself."""

import re
from pathlib import Path

import kernelclust

SOURCE = Path(kernelclust.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))


def test_no_package_imports_a_private_module_of_another():
    wrong = []
    for file in FILES:
        home = file.relative_to(SOURCE).parts[0]
        for package, module in re.findall(r"from kernelclust\.(\w+)\.((?:\w+\.)?_\w+) import", file.read_text()):
            if package != home:
                wrong.append(f"{file.relative_to(SOURCE)}: {package}.{module}")
    assert len(FILES) > 100
    assert wrong == []


def test_nobody_asks_an_operator_how_it_stores_itself():
    asked = re.compile(r"isinstance\([^)]*(Kernel|Operator)\b|(kernel|operator)\.(form|K|B)\b")
    wrong = [f"{file.relative_to(SOURCE)}: {m.group()}" for file in FILES for m in asked.finditer(file.read_text())]
    assert wrong == []


def test_warnings_find_the_users_line_by_themselves():
    assert [str(f) for f in FILES if "stacklevel=" in f.read_text() and f.name != "_warnings.py"] == []
