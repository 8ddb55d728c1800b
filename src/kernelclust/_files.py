"""Files that are whole or not there: written aside, in the same folder, and renamed into place."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Contents = Mapping[str, str | bytes | Iterable[str] | Iterable[bytes]]


def write_files(contents: Contents) -> None:
    """Write each file under another name first, and rename all at the end: a reader never sees half of one.

    Killed at any moment, the old file is there or the new one. An error (a full disk) names the file, and leaves all
    as they were; only a process that is killed leaves its hidden file ".kernelclust-..." behind. Texts that come one
    by one are written as they come.
    """
    with files_aside(contents):
        pass


@contextlib.contextmanager
def files_aside(contents: Contents) -> Iterator[None]:
    """Write all files under other names, run the body, and rename all of them if it succeeds; if not, none."""
    waiting: dict[str, str] = {}
    try:
        for path, content in contents.items():
            target = os.path.realpath(path)  # a link stays a link
            try:
                _write_aside(target, [content] if isinstance(content, (str, bytes)) else content, waiting)
            except OSError as error:
                raise OSError(error.errno, error.strerror or str(error), path) from error
        yield
        _rename_all(waiting)
    finally:
        for name in waiting:
            os.unlink(name)


def _rename_all(waiting: dict[str, str]) -> None:
    """Rename all files, or put back those that were replaced before one failed."""
    replaced: list[tuple[str, str | None]] = []
    try:
        for name, target in list(waiting.items()):
            old = _linked(target)
            replaced.append((target, old))
            os.replace(name, target)
            del waiting[name]
    except BaseException:
        for target, old in replaced:
            if old is not None:
                os.replace(old, target)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(old)  # if it was not replaced, both names are of one file, and renaming keeps both
            elif target not in waiting.values():
                os.unlink(target)
        raise
    for _, old in replaced:
        if old is not None:
            os.unlink(old)


def _linked(target: str) -> str | None:
    """Return a second name, or a copy, of a file that is to be replaced; None if there is no such file."""
    name = tempfile.mktemp(dir=Path(target).parent, prefix=".kernelclust-")  # `link` refuses names that exist
    try:
        os.link(target, name)
    except FileNotFoundError:
        return None
    except OSError:  # the disk has no links
        shutil.copy2(target, name)
    return name


def _write_aside(target: str, content: Iterable[str | bytes], waiting: dict[str, str]) -> None:
    with tempfile.NamedTemporaryFile(dir=Path(target).parent, prefix=".kernelclust-", delete=False) as file:
        waiting[file.name] = target
        for part in content:
            file.write(part.encode() if isinstance(part, str) else part)
        file.flush()
        os.fsync(file.fileno())  # so that after a crash of the machine the name does not stand for an empty file
    os.chmod(file.name, os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o666 & ~_umask())


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
