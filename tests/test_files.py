"""A file is old or new and whole, whatever happens while it is written."""

import os
import signal
import subprocess
import sys

import pytest

from kernelclust import _files
from kernelclust._files import write_files

SLOW = """
import os, sys, time, types
package = types.ModuleType("kernelclust")  # what the package itself imports takes seconds
package.__path__ = [{folder!r}]
sys.modules["kernelclust"] = package
from kernelclust import _files

step = {step!r}
wait = lambda *_, **__: (print("writing", flush=True), time.sleep(60))
if step == "half":
    def aside(target, content, waiting, whole=_files._write_aside):
        whole(target, content[: len(content) // 2], waiting)
        wait()
    _files._write_aside = aside
else:
    os.replace = wait
_files.write_files({{{path!r}: b"new" * 100_000}})
"""


@pytest.mark.parametrize("step", ["half", "before the rename"])
@pytest.mark.parametrize("old", [None, "old"])
def test_killed_while_writing(step, old, tmp_path):
    target = tmp_path / "labels.csv"
    if old:
        target.write_text(old)
    code = SLOW.format(step=step, path=str(target), folder=os.path.dirname(_files.__file__))
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"writing\n"
    assert any(name.startswith(".kernelclust-") for name in os.listdir(tmp_path))  # it was at work
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert (target.read_text() if target.exists() else None) == old
    write_files({str(target): "newer"})
    assert target.read_text() == "newer"


def test_a_full_disk_is_named_and_nothing_is_left(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*labels.csv'"):
        write_files({str(tmp_path / "labels.csv"): "new"})
    assert os.listdir(tmp_path) == []


def test_the_rights_of_a_file_stay(tmp_path):
    target = tmp_path / "private.csv"
    target.write_text("old")
    target.chmod(0o600)
    write_files({str(target): "new"})
    assert target.stat().st_mode & 0o777 == 0o600


def test_texts_that_come_one_by_one_are_one_file_or_none(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("old")

    def broken():
        yield "row,label\n"
        raise ValueError("a partition is lost")

    with pytest.raises(ValueError, match="is lost"):
        write_files({str(path): broken()})
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["labels.csv"]
    write_files({str(path): (f"{i}," for i in range(3))})
    assert path.read_text() == "0,1,2,"


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("fails", [0, 1, 2])
def test_a_file_that_cannot_be_renamed_leaves_all_as_they_were(fails, linked, tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("labels.csv", "stages.model", "report.html")]
    for path in paths[:2]:
        path.write_text("old")
    replace, done = os.replace, []

    def failing(name, target):
        if len(done) == fails:
            done.append("failed")
            raise PermissionError(1, "not now")
        done.append(target)
        replace(name, target)

    def no_links(*_):
        raise OSError(95, "not supported")

    monkeypatch.setattr(os, "replace", failing)
    if not linked:
        monkeypatch.setattr(os, "link", lambda a, b: no_links() if os.path.exists(a) else os.stat(a))
    with pytest.raises(PermissionError):
        write_files({str(path): "new" for path in paths})
    assert sorted(os.listdir(tmp_path)) == ["labels.csv", "stages.model"]
    assert [path.read_text() for path in paths[:2]] == ["old", "old"]
    write_files({str(path): "new" for path in paths})
    assert [path.read_text() for path in paths] == ["new"] * 3 and len(os.listdir(tmp_path)) == 3
