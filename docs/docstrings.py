"""Docstrings hold formulas as plain text, for the terminal; this keeps Sphinx from reading them as markup."""

import re

CODE = re.compile(r"(``.*?``|`[^`]*`)")
HEADING = re.compile(r"[\w*][\w*, ]* : |[\w*][\w*, ]*$")  # of a parameter; numpydoc takes care of these
UNDERLINE = re.compile(r"-{3,}$")


def escaped(line: str) -> str:
    """The line with |x|, name_ and **name as they stand, outside of code."""
    parts = CODE.split(line)
    parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w)|(?<=[(\s])\*{2}(?=\w)", r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def plain(app, what, name, obj, options, lines) -> None:
    """Escape text; indented blocks before the first section are formulas, shown as they are."""
    out: list[str] = []
    section = example = formula = False
    for line in lines:
        section = section or bool(UNDERLINE.match(line))
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        begins = not section and not example and line.startswith("    ") and (not out or not out[-1].strip())
        if begins and not formula:
            out += [".. code-block:: text", ""]
        formula = begins or (formula and (line.startswith("    ") or not line.strip()))
        heading = section and not line.startswith(" ") and HEADING.match(line)
        out.append(line if formula or example or heading else escaped(line))
    lines[:] = out


def setup(app) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", plain, priority=100)  # before numpydoc
    return {"parallel_read_safe": True}
