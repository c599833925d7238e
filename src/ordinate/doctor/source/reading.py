"""A Python file as a tree to look at: bounded in size and time, never imported and never executed."""

from __future__ import annotations

import ast
import io
import os
import stat
import tokenize
import warnings
from pathlib import Path

MOST_BYTES = 2**20
# Parsing takes the square of the fields of one f-string.
MOST_BRACES = 20_000
MOST_NODES = 500_000
# Others are never seen in source code, and some take the square of a text's length.
ENCODINGS = ("utf-8", "utf-8-sig", "ascii", "iso-8859-1", "iso-8859-15", "cp1251", "cp1252", "koi8-r")


def read_tree(path: str | os.PathLike[str]) -> ast.Module:
    """Parse a Python file.

    Args:
        path: of the file.

    Returns:
        Its tree, of at most 500,000 nodes.

    Raises:
        ValueError: if it is no regular file, too large, in an unknown encoding, or no Python.
        OSError: if it is not there or cannot be read.

    Example:
        >>> read_tree("/dev/null")
        Traceback (most recent call last):
        ValueError: /dev/null: needed a regular file of Python source, got another kind of file; name a .py file
    """
    name = os.fspath(path)
    text = _decoded(name, _bytes_of(name))
    if text.count("{") > MOST_BRACES:
        raise ValueError(f"{name}: needed at most {MOST_BRACES} opening braces, got {text.count('{')}; name a smaller file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as fault:
        raise ValueError(f"{name}: needed Python source, got a syntax error at line {fault.lineno}: {fault.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError(f"{name}: needed Python source that a parser can hold, got expressions nested too deeply") from None
    _bound(name, tree)
    return tree


def _bytes_of(name: str) -> bytes:
    """At most a mebibyte of a regular file: a pipe would never end."""
    if not stat.S_ISREG(os.stat(name).st_mode):
        raise ValueError(f"{name}: needed a regular file of Python source, got another kind of file; name a .py file")
    with Path(name).open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{name}: needed at most {MOST_BYTES} bytes of Python source, got more; name a smaller file")
    return data


def _decoded(name: str, data: bytes) -> str:
    if b"\0" in data:
        raise ValueError(f"{name}: needed Python source, got NUL bytes; it is a binary file, or text in UTF-16")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding.lower() not in ENCODINGS:
            raise ValueError(f"{name}: needed source in one of {', '.join(ENCODINGS)}, got {encoding[:40]!r}; save it as UTF-8")
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError) as fault:
        raise ValueError(
            f"{name}: needed source in UTF-8 or the encoding that it declares, got {fault}; save it as UTF-8"
        ) from None


def _bound(name: str, tree: ast.Module) -> None:
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise ValueError(f"{name}: needed at most {MOST_NODES} parts of expressions, got more; name a smaller file")
