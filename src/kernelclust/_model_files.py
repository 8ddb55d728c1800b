"""Store fitted models in files that hold no code: one zip archive of arrays and JSON (docs/model-files.md).

Values are written by what they are: numbers, texts, lists, arrays, sparse matrices, and objects of this library, which
are made again by their own constructors. Nothing here knows what an estimator is made of.

skops 0.16 was tried instead. For models of 5000 samples its files are 10 % larger (3.34 and 3.02 MB), saving takes 0.02
to 0.11 s (here 0.02 to 0.04 s), loading as long. It names truncated files, damaged bytes and foreign classes as this
module does. But a user has to list 7 to 10 private classes as trusted; a model that is loaded and saved again gives
other bytes; and it neither calls constructors nor compares sizes: a model whose labels have the wrong length, or are
missing, loads without a word. A compressed file of 0.5 MB loads too, with 348 MB and 7 s of processor time. An array
header of 8 TiB ends in a MemoryError, other forgeries in a KeyError, AttributeError or RecursionError that does not
name the file. These checks would have to be written around it.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

FORMAT = 1
CONTENTS = "model.json"
KINDS = "biufU"  # of arrays: booleans, numbers, texts
SPARSE = {kind.__name__: kind for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)}
HOMES = "constraints|engine|estimators|kernels|margin|multikernel|objectives|policies|solvers|structures"
OURS = re.compile(rf"kernelclust\.({HOMES})(\.[a-z_]+)*\.\w+")
MAX_CLUSTERS = 2**15  # a structure's matrix of so many would fill 8 GB
MAX_CONTENTS_BYTES = 2**24
MAX_VALUES = 10**6  # in the contents; Python needs up to 90 bytes for each
NOT_KEPT = ("_skl_callbacks",)  # they watch fits of one process


def model_bytes(model: BaseEstimator, extra: dict[str, Any] | None = None) -> Iterator[bytes]:
    """Return a model as the bytes of one file, a member at a time, with a dict of JSON values beside it.

    A model that cannot be saved is refused before the first byte.
    """
    writer = _Writer()
    root = writer.encoded(model, type(model).__name__)
    contents = {
        "format": FORMAT,
        "kernelclust": _version(),
        "extra": _checked_extra(extra),
        "objects": writer.objects,
        "model": root,
    }
    text = json.dumps(contents, allow_nan=False)
    _check_contents(text.encode())
    return _archive(text, writer.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    No code in the file is run, and no pickle is read. A file that is damaged or forged, or whose version of the format
    is not supported, raises a ValueError with the reason.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : the fitted estimator

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import kernelclust
    >>> X = np.repeat([[0.0], [1.0], [2.0]], 10, axis=0)
    >>> model = kernelclust.StructuredClustering(structure="chain:3", kernel="rbf", random_state=0).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "stages.model")
    >>> model.save(path)
    >>> bool((kernelclust.load(path).predict(X) == model.predict(X)).all())
    True
    """
    return _read(path, _model)


def load_extra(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the dict that was passed as `save(path, extra=...)`; empty if there was none."""
    return _read(path, lambda archive, contents: contents["extra"])


# -- writing -----------------------------------------------------------------------------------------------------------


class _Writer:
    """Values as JSON; arrays and objects are listed once, in the order in which they can be made again."""

    def __init__(self) -> None:
        self.objects: list[dict] = []
        self.arrays: list[np.ndarray] = []
        self._places: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no two have one id

    def encoded(self, value: Any, where: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self._each(value, where)
        if kind is tuple:
            return {"tuple": self._each(value, where)}
        if kind is dict:
            return {
                "dict": [[self.encoded(key, where), self.encoded(value[key], f"{where}[{key!r}]")] for key in value]
            }
        if kind is slice:
            return {"slice": self._each([value.start, value.stop, value.step], where)}
        if isinstance(value, np.generic) and value.dtype.kind in KINDS:
            return {"scalar": value.dtype.str, "value": self.encoded(value.item(), where)}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"type": np.dtype(value).str}
        return {"object": self._listed(value, where)}

    def _each(self, values: Iterable, where: str) -> list:
        return [self.encoded(value, f"{where}[{i}]") for i, value in enumerate(values)]

    def _listed(self, value: Any, where: str) -> int:
        if id(value) not in self._places:
            described = self._described(value, where)
            self._places[id(value)] = len(self.objects)
            self._alive.append(value)
            self.objects.append(described)
        return self._places[id(value)]

    def _described(self, value: Any, where: str) -> dict:
        kind = type(value)
        if kind in (np.ndarray, np.memmap) and value.dtype.kind in KINDS:
            self.arrays.append(value)
            return {"array": len(self.arrays) - 1, "dtype": value.dtype.str, "shape": list(value.shape)}
        if kind is np.ndarray and value.ndim == 1 and all(type(one) is str for one in value):
            return {"names": value.tolist()}
        if kind in SPARSE.values():
            parts = {name: self.encoded(getattr(value, name), where) for name in ("data", "indices", "indptr")}
            return {"sparse": kind.__name__, "shape": list(value.shape), **parts}
        if kind is np.random.RandomState and value.get_state()[0] == "MT19937":
            return {"random_state": self.encoded(value.get_state(), where)}
        name = f"{kind.__module__}.{kind.__qualname__}"
        if OURS.fullmatch(name) and (parts := _parts(kind)):
            taken = parts(value)
            _check_clusters(kind, taken)
            return {"class": name, "parts": {part: self.encoded(taken[part], f"{where}.{part}") for part in taken}}
        raise ValueError(_cannot_hold(value, where, name))


def _parts(kind: type) -> Any:
    """The function that takes an object of one of our classes apart, by name; None where there is no way."""
    if issubclass(kind, BaseEstimator):
        return lambda value: {name: one for name, one in vars(value).items() if name not in NOT_KEPT}
    if is_dataclass(kind):
        return lambda value: {one.name: getattr(value, one.name) for one in fields(value) if one.init}
    if issubclass(kind, tuple):
        return lambda value: value._asdict()
    if kind.__reduce__ is not object.__reduce__:  # structures: constructor and arguments
        return lambda value: {"arguments": list(value.__reduce__()[1])}
    return None


def _cannot_hold(value: Any, where: str, name: str) -> str:
    if inspect.isroutine(value) or isinstance(value, type):
        what, todo = f"a function ({_name(value)})", "Name a kernel or fit kernel='precomputed'"
    elif hasattr(value, "compute"):
        what, todo = f"lazy ({name})", f"Set {where.partition('.')[2]} to its compute() first"
    else:
        what, todo = f"of class {name}", "Give it as numbers, text or an array"
    return (
        f"{where} is {what}, and a model file holds no code: only numbers, texts, arrays and parts of kernelclust. "
        f"{todo}, or keep this model with joblib.dump."
    )


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", repr(function))


def _checked_extra(extra: dict[str, Any] | None) -> dict[str, Any]:
    extra = {} if extra is None else extra
    try:
        same = isinstance(extra, dict) and json.loads(json.dumps(extra, allow_nan=False)) == extra
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"extra cannot be stored as JSON: {error}.") from None
    if not same:
        raise ValueError(
            "extra would change when read back from JSON: give a dict with strings as keys, and lists instead of "
            "tuples."
        )
    return extra


def _archive(text: str, arrays: list[np.ndarray]) -> Iterator[bytes]:
    """The bytes of the archive, a member at a time; nothing is compressed, so that no file is larger than it looks."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as archive:  # type: ignore[arg-type]
        archive.writestr(zipfile.ZipInfo(CONTENTS), text)
        yield sink.taken()
        for number, array in enumerate(arrays):
            with archive.open(zipfile.ZipInfo(_member(number)), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """A file that is handed on as it is written."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._waiting.append(bytes(part))
        return len(part)

    def taken(self) -> bytes:
        whole, self._waiting = b"".join(self._waiting), []
        return whole


def _member(number: int) -> str:
    return f"arrays/{number}.npy"


def _version() -> str:
    return str(import_module("kernelclust").__version__)


# -- reading -----------------------------------------------------------------------------------------------------------


def _read(path: str | os.PathLike, wanted: Any) -> Any:
    """Return what `wanted` extracts from a file; any problem with the file raises a ValueError, so that it does not
    look like a bug.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise ValueError("it is not a regular file.")
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            _check_members(archive, os.fstat(file.fileno()).st_size)
            text = archive.read(CONTENTS)
            _check_contents(text)
            contents = json.loads(text)
            _check_version(contents)
            return wanted(archive, contents)
    except OSError:
        raise
    except zipfile.BadZipFile as error:
        raise ValueError(f"{os.fspath(path)} is not a model file, or it is incomplete: {error}.") from None
    except Exception as error:
        raise ValueError(f"{os.fspath(path)} cannot be loaded: {error}") from error


def _check_members(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse what `save` does not write, before anything is read."""
    found = archive.infolist()
    names = [one.filename for one in found]
    if CONTENTS not in names:
        raise ValueError(f"it is a zip archive, but not a model: it has no {CONTENTS}.")
    expected = [CONTENTS, *map(_member, range(len(names) - 1))]
    if names != expected:
        strange = [name for name in names if name not in expected] or names
        raise ValueError(f"it is no model: it has a member {strange[0]!r} that models do not have, or has one twice.")
    for one in found:
        if one.compress_type != zipfile.ZIP_STORED or one.file_size != one.compress_size or one.flag_bits & 1:
            raise ValueError(f"{one.filename!r} is compressed or encrypted, and members of models are neither.")
    if any(not 0 <= one.header_offset < size for one in found):
        raise ValueError("its directory places members outside the file.")
    if sum(one.file_size for one in found) > size:
        raise ValueError("its directory states members larger than the file.")
    if archive.getinfo(CONTENTS).file_size > MAX_CONTENTS_BYTES:
        raise ValueError(f"{CONTENTS} has more than {MAX_CONTENTS_BYTES} bytes.")


def _check_contents(text: bytes) -> None:
    """Refuse contents that no model has, before they fill the memory."""
    if len(text) > MAX_CONTENTS_BYTES or sum(map(text.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise ValueError(f"{CONTENTS} has more than {MAX_CONTENTS_BYTES} bytes or {MAX_VALUES} values.")


def _check_version(contents: Any) -> None:
    if not isinstance(contents, dict) or not isinstance(contents.get("format"), int):
        raise ValueError(f"{CONTENTS} names no format; it is not a model.")
    if contents["format"] != FORMAT:
        raise ValueError(
            f"it was saved by kernelclust {contents.get('kernelclust')!s:.40} in format {contents['format']}; this is "
            f"kernelclust {_version()}, which reads format {FORMAT}. Load it with that version, or fit again."
        )
    if not isinstance(contents.get("extra"), dict) or not isinstance(contents.get("objects"), list):
        raise ValueError(f"{CONTENTS} has no 'extra' or no 'objects'; it is damaged.")


def _model(archive: zipfile.ZipFile, contents: dict) -> Any:
    made: list[Any] = []
    try:
        for described in contents["objects"]:
            made.append(_made(described, made, archive))
        model = _decoded(contents["model"], made)
        if not isinstance(model, BaseEstimator):
            raise ValueError("it holds no estimator.")
        model._check_loaded()  # type: ignore[attr-defined]
    except Exception as error:
        saved, here = str(contents.get("kernelclust"))[:40], _version()
        hint = "" if saved == here else f" It was saved by kernelclust {saved}; this is {here}: load it there."
        raise ValueError(f"{str(error).rstrip('.')}.{hint}") from error
    return model


def _decoded(node: Any, made: list[Any]) -> Any:
    def each(nodes: list) -> list:
        return [_decoded(one, made) for one in nodes]

    match node:
        case None | bool() | int() | float() | str():
            return node
        case list():
            return each(node)
        case {"float": "nan" | "inf" | "-inf" as text}:
            return float(text)
        case {"tuple": list(items)}:
            return tuple(each(items))
        case {"dict": list(items)}:
            return {_decoded(key, made): _decoded(value, made) for key, value in items}
        case {"slice": [_, _, _] as items}:
            return slice(*each(items))
        case {"scalar": str(kind), "value": value}:
            return _plain(kind).type(_decoded(value, made))
        case {"type": str(kind)}:
            return _plain(kind).type
        case {"object": int(number)} if 0 <= number < len(made):
            return made[number]
    raise ValueError(f"{CONTENTS} has a value that cannot be read: {node!s:.80}")


def _made(node: Any, made: list[Any], archive: zipfile.ZipFile) -> Any:
    match node:
        case {"array": int(number), "dtype": str(kind), "shape": list(shape)}:
            return _array(archive, _member(number), _plain(kind), tuple(shape))
        case {"names": list(names)} if all(type(name) is str for name in names):
            return np.array([*names, None], dtype=object)[:-1].copy()
        case {"sparse": str(kind), "shape": [int(), int()] as shape} if kind in SPARSE:
            parts = tuple(_decoded(node[name], made) for name in ("data", "indices", "indptr"))
            matrix = SPARSE[kind](parts, shape=tuple(shape))
            matrix.check_format(full_check=True)
            return matrix
        case {"random_state": state}:
            generator = np.random.RandomState()
            generator.set_state(_decoded(state, made))
            return generator
        case {"class": str(name), "parts": dict(parts)}:
            return _instance(name, {key: _decoded(value, made) for key, value in parts.items()})
    raise ValueError(f"{CONTENTS} has an object that cannot be read: {node!s:.80}")


def _plain(kind: str) -> np.dtype:
    dtype = np.dtype(kind)
    if dtype.kind not in KINDS or dtype.names is not None:
        raise ValueError(f"{kind!r} is not a type of numbers or strings that models hold.")
    return dtype


def _array(archive: zipfile.ZipFile, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """An array whose header says what the contents say, and no more than there is; pickles are never read."""
    with archive.open(name) as member:
        version = np.lib.format.read_magic(member)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in readers:
            raise ValueError(f"{name!r} is an array of another format, {version}.")
        try:
            found, _, kind = readers[version](member)
        except ValueError:
            raise ValueError(f"{name!r} has a header that cannot be read, or is too long.") from None
        length = archive.getinfo(name).file_size - member.tell()
        if kind != dtype or found != shape:
            raise ValueError(f"{name!r} has shape {found!s:.80} of {kind!s:.40}, not {shape!s:.80} of {dtype}.")
        if any(n < 0 for n in shape) or math.prod(shape) * kind.itemsize != length:
            raise ValueError(f"{name!r} has shape {found!s:.80} of {kind!s:.40}, but {length} bytes.")
    with archive.open(name) as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        member.read(1)  # to the end, where the sum of the bytes is checked
    return array


def _instance(name: str, parts: dict[str, Any]) -> Any:
    kind = _class(name)
    if issubclass(kind, BaseEstimator):
        return _estimator(kind, parts)
    _check_clusters(kind, parts)
    return kind(*parts["arguments"]) if set(parts) == {"arguments"} else kind(**parts)


def _check_clusters(kind: type, parts: dict[str, Any]) -> None:
    """Refuse a structure whose matrix would fill the memory, in what is saved as in what is loaded."""
    n_clusters = 1
    for size in _sizes(parts["arguments"]) if set(parts) == {"arguments"} else ():
        n_clusters *= size
        if n_clusters > MAX_CLUSTERS:
            raise ValueError(f"it has a {kind.__name__} of more than {MAX_CLUSTERS} clusters.")


def _sizes(value: Any) -> Iterator[int]:
    """Yield the integers in arguments of a structure, and the sizes of structures that it is made of."""
    if type(value) in (list, tuple):
        for item in value:
            yield from _sizes(item)
    elif isinstance(value, tuple):
        raise ValueError(f"a structure cannot be built from a {type(value).__name__}.")
    elif isinstance(value, (int, np.integer)):
        yield max(int(value), 1)
    else:
        yield getattr(value, "n_clusters", 1)


def _class(name: str) -> type:
    """A class of this library whose objects models are made of."""
    if not OURS.fullmatch(name):
        raise ValueError(f"it has an object of class {name[:80]!r}, which is not part of kernelclust.")
    home, _, short = name.rpartition(".")
    try:
        found = getattr(import_module(home), short)
    except (ImportError, AttributeError):
        raise ValueError(f"it has an object of class {name[:80]!r}, which does not exist here.") from None
    if not isinstance(found, type) or found.__module__ != home or _parts(found) is None:
        raise ValueError(f"{name[:80]!r} is not a class whose objects models hold.")
    return found


def _estimator(kind: Any, attributes: dict[str, Any]) -> BaseEstimator:
    given = {name: attributes[name] for name in kind._get_param_names() if name in attributes}
    model = kind(**given)
    for name, value in attributes.items():
        learned = name.endswith("_") or (name.startswith("_") and not name.startswith("__"))
        hides = callable(getattr(kind, name, None)) or isinstance(getattr(kind, name, None), property)
        if name not in given and (hides or not learned):
            raise ValueError(f"{kind.__name__} has no parameter or attribute {name[:40]!r}.")
        vars(model)[name] = value
    return model
