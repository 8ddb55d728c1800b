"""Texts say what a thing is or does: no docstring begins with a word that leaves this open."""

import ast
import re
from pathlib import Path

import kernelclust

SOURCE = Path(kernelclust.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
OPENINGS = re.compile(r"(What|Whether|The same|Of|And|How|Who|Where|Which|Those|With)\b")
WORDS = re.compile(r"\b(graphics cards?|made anew|crumbs?|not there yet|of like size|is said|are told)\b")


def docstrings(file: Path):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", file.stem), text


def found(pattern, search) -> list[str]:
    return [
        f"{file.relative_to(SOURCE)}: {name}"
        for file in FILES
        for name, text in docstrings(file)
        if search(pattern, text)
    ]


def test_docstrings_begin_with_what_a_thing_is_or_does():
    assert len(FILES) > 200 and OPENINGS.match("Whether X is a frame.")
    assert found(OPENINGS, re.match) == []


def test_docstrings_use_the_words_of_the_field():
    assert WORDS.search("Fit on a graphics card.")
    assert found(WORDS, re.search) == []
