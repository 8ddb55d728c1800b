"""Every command of the folder is part of the program: documented, with options and help that need no library."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")

from kernelclust import _names
from kernelclust.cli import commands, options

NAMES = _names.names(commands)
PAGE = (Path(__file__).parents[2] / "docs/command-line.md").read_text()


def test_the_folder_is_found():
    assert {"compare", "demo", "fit", "info", "list", "predict", "select"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_is_complete(name):
    command = _names.load(commands, name)
    assert command.__doc__ and command.__doc__.rstrip().endswith(".")
    assert options.TALK.keys() <= command.OPTIONS.keys()
    assert all(isinstance(one, options.Option) for one in command.OPTIONS.values())
    assert list(inspect.signature(command.run).parameters) == ["arguments"]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_is_documented(name):
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert any(re.search(rf"`{name}[ `]", row) for row in rows)


def test_help_of_every_command_needs_no_library():
    code = f"""
import sys
from kernelclust.cli import main
for name in {NAMES}:
    assert main([name, "--help"]) == 0
assert main(["--help"]) == 0
assert "numpy" not in sys.modules and "sklearn" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f"kernelclust {name} " in done.stdout for name in NAMES)
