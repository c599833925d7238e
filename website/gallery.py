"""Draws the figures of docs/gallery: the page shows the code of each, and that code is what is run.

``python -m website.gallery`` writes every figure beside the page.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

FOLDER = Path(__file__).parents[1] / "docs" / "gallery"
PAGE = "index.md"
SECTION = re.compile(r"^## (?P<heading>.+?)$(?P<body>.*?)(?=^## |\Z)", flags=re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<file>[^)]+)\)")
PLAIN = re.compile(r"[\w-][\w.-]*\.(?:png|svg)")
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)


class Entry(NamedTuple):
    """One section of the page: a figure, what it shows in words, and the code that makes it."""

    heading: str
    file: str
    alt: str
    code: str


def entries(page: str) -> list[Entry]:
    r"""Read the page's sections.

    Args:
        page: its text.

    Returns:
        One entry a figure, in the page's order.

    Raises:
        ValueError: if there is no section, if one has not one image and one block, if the image is not a plain file name or that of
            two sections, or if the block does not end by saving it.

    Example:
        >>> text = '## One\n\n![A line.](one.svg)\n\n```python\nplots.save(figure, "one.svg")\n```\n'
        >>> entries(text)[0].file
        'one.svg'
    """
    found = [_entry(section["heading"], section["body"]) for section in SECTION.finditer(page)]
    if not found:
        raise ValueError("needed a page with a section for each figure, got none")
    twice = [file for file, count in Counter(entry.file for entry in found).items() if count > 1]
    if twice:
        raise ValueError(f"needed an image of its own for each section, got {', '.join(twice)} more than once")
    return found


def _entry(heading: str, body: str) -> Entry:
    images, blocks = list(IMAGE.finditer(body)), BLOCK.findall(body)
    if len(images) != 1 or len(blocks) != 1:
        raise ValueError(f"{heading}: needed one image and one python block, got {len(images)} and {len(blocks)}")
    file, last = images[0]["file"], blocks[0].rstrip().splitlines()[-1]
    if not PLAIN.fullmatch(file):
        raise ValueError(f"{heading}: needed a plain name of a .png or .svg file beside the page, got {file}")
    needed = f'plots.save(figure, "{file}")'
    if last != needed:
        raise ValueError(f"{heading}: needed a block that ends with {needed}, got {last}")
    return Entry(heading, file, " ".join(images[0]["alt"].split()), blocks[0])


def draw(entry: Entry, folder: Path) -> dict[str, Any]:
    """Run an entry's code, by itself, in a folder.

    Args:
        entry: of the page.
        folder: where the figure goes; the working directory is that while the code runs.

    Returns:
        The names that the code leaves behind, ``figure`` among them.

    Raises:
        RuntimeError: if the code leaves the program.
    """
    names: dict[str, Any] = {"__name__": "__gallery__"}
    with contextlib.chdir(folder), _default_dtype_kept():
        try:
            exec(compile(entry.code, f"<{entry.heading}>", "exec"), names)
        except SystemExit as left:
            raise RuntimeError(f"{entry.heading}: needed a block that runs to its end, got SystemExit({left.code})") from left
    return names


@contextlib.contextmanager
def _default_dtype_kept() -> Iterator[None]:
    """Each block stands by itself: what one sets, the next does not see."""
    before = torch.get_default_dtype()
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def main() -> None:
    """Draw all figures into docs/gallery."""
    for entry in entries((FOLDER / PAGE).read_text(encoding="utf-8")):
        draw(entry, FOLDER)
        print(f"{entry.file}: {(FOLDER / entry.file).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
