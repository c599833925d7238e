"""The decisions' titles, and the list of all of them."""

from __future__ import annotations

from website.places import DOCS

INDEX = "decisions/README.md"


def titles() -> dict[int, tuple[str, str]]:
    """Read what was decided.

    Returns:
        File name and title by number.
    """
    files = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    return {int(file.name[:4]): (file.name, _title(file.read_text(encoding="utf-8"))) for file in files}


def listed() -> str:
    """List all decisions, which the index in the repository leaves to the folder.

    Returns:
        Markdown.
    """
    return "".join(f"{number}. [{title}]({name})\n" for number, (name, title) in titles().items())


def _title(text: str) -> str:
    """The heading, without the number that some have."""
    heading = text.partition("\n")[0].removeprefix("# ")
    number, _, rest = heading.partition(". ")
    return rest if number.isdigit() else heading
