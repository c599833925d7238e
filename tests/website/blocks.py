"""Code blocks and command lines of the pages, and the page that each comes from."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")))
FENCE = re.compile(
    r"^(?P<indent> *)(?P<mark>`{3,})(?P<kind>[^`\n]*)\n(?P<code>.*?)^(?P=indent)(?P=mark)[ ]*$", re.DOTALL | re.MULTILINE
)
# Before a block that is expected to warn: the beginning of the message.
WARNS = re.compile(r"<!-- warns: (.+?) -->\s*\Z")
# In the running text: a command with something after it. Words in capitals stand for something else, save for codes of findings.
INLINE = re.compile(r"`(ordinate\s\w+\s[^`]+)`")
PLACEHOLDER = re.compile(r"\b(?!ORD\d)[A-ZА-Я]{2,}|\.\.\.")
HISTORY = "CHANGELOG.md"  # names options without the rest of a line
PROGRAMS = ("ordinate", "make", "pip")


class Block(NamedTuple):
    """A fenced block: what it is, what it holds, and the warning that it may give."""

    kind: str
    code: str
    line: int
    warns: str | None


def blocks_of(page: str) -> Iterator[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        kind = (match["kind"].split() or [""])[0]
        before = text[: match.start()]
        warned = WARNS.search(before)
        yield Block(kind, textwrap.dedent(match["code"]), before.count("\n") + 2, warned[1] if warned else None)


def command_lines(page: str) -> Iterator[list[str]]:
    """Every command of a page's blocks, as a shell would split it; && and comments are taken apart."""
    for block in blocks_of(page):
        if block.kind in ("", "text", "shell", "console", "bash", "sh"):
            for line in block.code.splitlines():
                words = line.split()
                if words and words[0].removeprefix("$") in (*PROGRAMS, "") and len(words) > 1:
                    for part in line.removeprefix("$ ").split(" && "):
                        yield shlex.split(part, comments=True)
    for line in INLINE.findall(FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))):
        if page != HISTORY and not PLACEHOLDER.search(line):
            yield shlex.split(line)
