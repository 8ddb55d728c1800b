"""Files that are whole or not there: written aside, in the same folder, and renamed into place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path


def write_files(contents: Mapping[str, str | bytes | Iterable[str] | Iterable[bytes]]) -> None:
    """Write each file under another name first, and rename all at the end: a reader never sees half of one.

    Killed at any moment, the old file is there or the new one. An error (a full disk) names the file, and leaves all
    as they were; only a process that is killed leaves its hidden file ".kernelclust-..." behind. Texts that come one
    by one are written as they come.
    """
    waiting: dict[str, str] = {}
    try:
        for path, content in contents.items():
            target = os.path.realpath(path)  # a link stays a link
            try:
                _write_aside(target, [content] if isinstance(content, (str, bytes)) else content, waiting)
            except OSError as error:
                raise OSError(error.errno, error.strerror or str(error), path) from error
        for name, target in list(waiting.items()):
            os.replace(name, target)
            del waiting[name]
    finally:
        for name in waiting:
            os.unlink(name)


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
