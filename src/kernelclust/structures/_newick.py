"""Parse trees and lists of names in Newick format: "((A,B),C);"."""

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
    """Return the nested names of the leaves; ignore names of inner nodes and comments, and lengths with a warning."""
    tokens = [*_tokens(text), (";", len(text))]
    stack: list[list[Nested]] = [[]]
    lengths: set[float] = set()
    before = "("
    for token, at in tokens:
        wants_node = before in ("(", ",")
        if token == "(" and wants_node:
            stack.append([])
        elif token in (",", ")") and not wants_node and len(stack) > 1:
            if token == ")":
                inner = tuple(stack.pop())
                stack[-1].append(inner)
        elif token == ":" and before in (")", "name", "inner name"):
            pass
        elif token == ";" and not wants_node and len(stack) == 1 and at == len(text):
            if len(lengths) > 1:
                warn(
                    f"the branch lengths of the tree {text[:40]!r} are ignored: the similarity of two clusters is the "
                    "number of inner nodes that they share. To use lengths, pass a matrix of the lengths that two "
                    "leaves share, counted from the root."
                )
            return stack[0][0]
        elif len(token) > 1 or token not in "(),:;":
            if before == ":":
                lengths.add(_length(token, text, at))
                token = "length"
            elif before == ")":
                token = "inner name"
            elif wants_node:
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
    names = read(text)
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"names {text!r} cannot be read; write them like '(seed,sprout,bloom)'.")
    return names


def to_newick(nested: Nested) -> str:
    """Return the text that `read` parses into these nested names."""
    if not isinstance(nested, str):
        return f"({','.join(map(to_newick, nested))})"
    return nested if PLAIN.fullmatch(nested) else "'" + nested.replace("'", "''") + "'"


def split_outside(text: str, sign: str) -> list[str]:
    """Split a text at a sign, except inside brackets or quotes."""
    parts, depth = [""], 0
    for piece in re.findall(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|.""", text, re.DOTALL):
        depth += (piece == "(") - (piece == ")")
        if piece == sign and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def check_names(names: Sequence[str], n_clusters: int | None, what: str) -> tuple[str, ...]:
    """Check that names are distinct strings, one for each cluster."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} must be a list of strings, got {names!r}.")
    if n_clusters is not None and len(names) != n_clusters:
        raise ValueError(f"{len(names)} {what} for {n_clusters} clusters; give one for each.")
    if not names or any(not name.strip() or name.strip() != name for name in names):
        raise ValueError(f"{what} must not be empty, or begin or end with a blank; got {list(names)!r}.")
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ValueError(f"{what} must differ; these occur more than once: {', '.join(twice)}.")
    return tuple(str(name) for name in names)


def _tokens(text: str) -> list[tuple[str, int]]:
    """Return tokens and their offsets, without blanks and comments."""
    tokens, at = [], 0
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
            tokens.append((token, at))
        at = match.end()
    return tokens[:-1] if tokens and tokens[-1][0] == ";" else tokens


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
        f"structure {text[:80]!r} cannot be read {where}: write names in brackets, like '(A,(B,C))'; put names that "
        "contain brackets, commas, colons or quotes in 'quotes'. Lengths and names of inner nodes may follow a node, "
        "like '((A:1,B:2)inner:3,C);'."
    )
