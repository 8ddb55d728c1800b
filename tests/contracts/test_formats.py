"""Every file format: declared in its module, found by the folder, and refusing what it cannot read."""

import inspect

import pytest

from kernelclust import _names
from kernelclust.tables import formats, read
from kernelclust.tables._read import N_BYTES

pytest.importorskip("pyarrow")
NAMES = _names.names(formats)


@pytest.mark.parametrize("name", NAMES)
def test_a_format_declares_how_its_files_are_recognised(name):
    module = _names.load(formats, name)
    assert module.__doc__ and module.read.__doc__
    assert f".{name}" in module.SUFFIXES and all(suffix == suffix.lower() for suffix in module.SUFFIXES)
    assert all(isinstance(begin, bytes) and 0 < len(begin) <= N_BYTES for begin in module.BEGINS)
    assert isinstance(module.NEEDS, tuple)
    signature = inspect.signature(module.read)
    assert list(signature.parameters)[:2] == ["file", "source"] and "texts" in _names.keywords(module.read)


def test_suffixes_are_of_one_format_each():
    suffixes = [suffix for name in NAMES for suffix in _names.load(formats, name).SUFFIXES]
    assert len(set(suffixes)) == len(suffixes)


@pytest.mark.parametrize("name", NAMES)
def test_options_of_a_format_are_options_of_the_command_line(name):
    pytest.importorskip("typer")
    from kernelclust.cli.options import HOW

    assert set(_names.keywords(_names.load(formats, name).read)) <= {"texts", *HOW}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_damaged_is_refused_by_name(name, tmp_path):
    module = _names.load(formats, name)
    for library in module.NEEDS:
        pytest.importorskip(library)
    path = tmp_path / f"t.{name}"
    for rest in (b"", b"\x00\xff" * 40):
        path.write_bytes(b"".join(module.BEGINS[:1]) + rest)
        with pytest.raises(ValueError) as caught:
            read(str(path))
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", [name for name in NAMES if _names.load(formats, name).NEEDS])
def test_a_missing_library_is_named_with_its_extra(name, tmp_path, monkeypatch):
    module = _names.load(formats, name)
    monkeypatch.setitem(__import__("sys").modules, module.NEEDS[0], None)
    path = tmp_path / f"t.{name}"
    path.write_bytes(b"".join(module.BEGINS[:1]) + b"1,2\n")
    with pytest.raises(ValueError, match=rf"{module.NEEDS[0]} reads: pip install \w+\.$"):
        read(str(path))


def test_help_names_every_format():
    pytest.importorskip("typer")
    from kernelclust.cli.options import FORMATS

    assert FORMATS == NAMES


NEW = '''"""Numbers, one per line, after a first line that says so."""
import numpy as np
from kernelclust.tables._table import Column, Table
SUFFIXES, BEGINS, NEEDS = (".ones",), (b"ONES",), ()
def read(file, source, *, texts=()):
    """Read one column."""
    return Table(source, [Column("x", np.array([float(line) for line in list(file)[1:]]))])
'''


def test_a_new_format_is_one_file(tmp_path, monkeypatch):
    (tmp_path / "ones.py").write_text(NEW)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    (tmp_path / "data.any").write_bytes(b"ONES\n1\n2\n")
    assert read(str(tmp_path / "data.any")).columns[0].values.tolist() == [1, 2]


def test_formats_of_text_are_told_apart_by_their_suffix(tmp_path, monkeypatch):
    (tmp_path / "twos.py").write_text(NEW.replace("ones", "twos").replace('(b"ONES",)', "()"))
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    for name, n_rows in (("t.twos", 1), ("t.csv", 2), ("t.any", 2)):
        (tmp_path / name).write_bytes(b"1\n2\n")
        assert read(str(tmp_path / name)).n_rows == n_rows
