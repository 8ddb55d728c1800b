"""Store finished parts of long work in a file, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kernelclust._files import write_files


class Checkpoint:
    """Results by name in a JSON file, which is complete at any moment: it is written aside and renamed.

    `purpose` describes the work; a file with another purpose is refused. Without a path nothing is stored.
    """

    def __init__(self, path: Any, purpose: str):
        self.path = None if path is None else Path(path)
        self._content: dict[str, Any] = {"purpose": purpose, "parts": {}}
        if self.path is None or not self.path.exists():
            return
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            found = content["purpose"]
            content["parts"].items()
        except (ValueError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
            raise ValueError(f"{self.path} is not a checkpoint file; give another file.") from error
        if found != purpose:
            raise ValueError(
                f"{self.path} is a checkpoint of another computation (other data, settings or version); give another "
                "file or delete this one to start again."
            )
        self._content = content

    def __contains__(self, name: str) -> bool:
        return name in self._content["parts"]

    def part(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return the result stored under this name, or compute and store it; numbers, text and lists of them."""
        parts = self._content["parts"]
        if name not in parts:
            parts[name] = compute()
            self._write()
        return parts[name]

    def _write(self) -> None:
        if self.path is not None:
            write_files({str(self.path): json.dumps(self._content)})


def fingerprint(*things: Any) -> str:
    """Return a hash that is equal for equal arrays and settings; functions go by their names."""
    digest = hashlib.sha256()
    _add(digest, things)
    return digest.hexdigest()


def _add(digest: Any, thing: Any) -> None:
    if isinstance(thing, dict):
        thing = sorted(thing.items())
    if isinstance(thing, (list, tuple)):
        digest.update(f"({len(thing)}".encode())
        for one in thing:
            _add(digest, one)
    elif isinstance(thing, np.ndarray):
        digest.update(f"{thing.dtype} {thing.shape}".encode())
        digest.update(np.ascontiguousarray(thing).tobytes())
    else:
        digest.update(f" {getattr(thing, '__qualname__', None) or repr(thing)}".encode())
