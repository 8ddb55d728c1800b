"""Names in brackets, as trees are written: "((A,B),C);" (Newick)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kernelclust._warnings import warn

Nested = Any  # a leaf's name, or a tuple of Nested

TOKENS = re.compile(r"""\s+ | '(?:[^']|'')*' | "(?:[^"]|"")*" | [(),:;] | [^\s(),:;\['"] [^(),:;\[]*""", re.VERBOSE)
PLAIN = re.compile(r"""[^\s(),:;*\[\]'"]([^(),:;*\[\]'"]*[^\s(),:;*\[\]'"])?""")


def read(text: str) -> Nested:
    """Return the names of the leaves, nested; leave out names of inner nodes, comments, and lengths, with a warning."""
    tokens = [*_tokens(text), (";", len(text))]
    stack: list[list[Nested]] = [[]]
    lengths: set[float] = set()
    before = "("
    for token, at in tokens:
        starts = before in ("(", ",")  # a node is wanted
        if token == "(" and starts:
            stack.append([])
        elif token in (",", ")") and not starts and len(stack) > 1:
            if token == ")":
                inner = tuple(stack.pop())
                stack[-1].append(inner)
        elif token == ":" and before in (")", "name", "inner name"):
            pass
        elif token == ";" and not starts and len(stack) == 1 and at == len(text):
            if len(lengths) > 1:
                warn(
                    f"the branch lengths of the tree {text[:40]!r} are not used: clusters are compared by the number "
                    "of inner nodes that they share. To use lengths, pass a matrix: the length that two leaves share "
                    "from the root on."
                )
            return stack[0][0]
        elif len(token) > 1 or token not in "(),:;":
            if before == ":":
                lengths.add(_length(token, text, at))
                token = "length"
            elif before == ")":
                token = "inner name"
            elif starts:
                stack[-1].append(_unquoted(token))
                token = "name"
            else:
                raise _wrong(text, at)
        else:
            raise _wrong(text, at)
        before = token
    raise _wrong(text, len(text))


def read_names(text: str) -> tuple[str, ...]:
    """Return the names in "(seed,sprout,bloom)"."""
    found = read(text)
    if isinstance(found, str) or not all(isinstance(name, str) for name in found):
        raise ValueError(f"names {text!r} cannot be read; write them like '(seed,sprout,bloom)'.")
    return found


def written(nested: Nested) -> str:
    """Return the text that `read` reads."""
    if not isinstance(nested, str):
        return f"({','.join(map(written, nested))})"
    return nested if PLAIN.fullmatch(nested) else "'" + nested.replace("'", "''") + "'"


def split_outside(text: str, sign: str) -> list[str]:
    """Split a text at signs, except those in brackets or quotes."""
    parts, depth = [""], 0
    for piece in re.findall(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|.""", text, re.DOTALL):
        depth += (piece == "(") - (piece == ")")
        if piece == sign and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def check_names(names: Sequence[str], n_clusters: int | None, what: str) -> tuple[str, ...]:
    """Check that names are different texts, one for each cluster."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} must be a list of texts, got {names!r}.")
    if n_clusters is not None and len(names) != n_clusters:
        raise ValueError(f"{len(names)} {what} for {n_clusters} clusters; give one for each.")
    if not names or any(not name.strip() or name.strip() != name for name in names):
        raise ValueError(f"{what} must not be empty, or have blanks around them; got {list(names)!r}.")
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ValueError(f"{what} must differ; these occur more than once: {', '.join(twice)}.")
    return tuple(str(name) for name in names)


def _tokens(text: str) -> list[tuple[str, int]]:
    """Return tokens and where they are, without blanks and comments."""
    found, at = [], 0
    while at < len(text):
        if text[at] == "[":
            end = text.find("]", at)
            if end < 0:
                raise _wrong(text, at)
            at = end + 1
            continue
        match = TOKENS.match(text, at)
        if match is None:
            raise _wrong(text, at)
        if token := match.group().strip():
            found.append((token, at))
        at = match.end()
    return found[:-1] if found and found[-1][0] == ";" else found


def _unquoted(token: str) -> str:
    if token[0] in "'\"" and len(token) > 1:
        return token[1:-1].replace(2 * token[0], token[0])
    return token


def _length(token: str, text: str, at: int) -> float:
    try:
        return float(token)
    except ValueError:
        raise _wrong(text, at) from None


def _wrong(text: str, at: int) -> ValueError:
    rest = text[at : at + 20]
    where = f"from character {at} on, {rest!r}" if rest else f"at its end, after {text[-20:]!r}"
    return ValueError(
        f"structure {text[:80]!r} cannot be read {where}: write names in brackets, like '(A,(B,C))', those with "
        "brackets, commas, colons or quotes in them in 'quotes'. Lengths and names of inner nodes may follow, "
        "'((A:1,B:2)inner:3,C);'."
    )
