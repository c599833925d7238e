"""The page as its reader's browser takes it apart: every table's cells against figures that are known."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from lab_tools import full, loss, ordered

from ordinate.lab.report import render
from ordinate.lab.results import ORDER
from ordinate.lab.rows import ROWS, site_of
from ordinate.lab.said import NOTES_COLUMNS, ORDER_COLUMNS, findings, notes_row, order_findings


class Page(HTMLParser):
    """Rows of cells and list items, by the heading they stand below."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.items: dict[str, list[str]] = {}
        self.headings: list[str] = []
        self._into: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in ("h1", "h2", "td", "th", "li"):
            self._open, self._into = tag, []
        if tag == "tr":
            self.rows.setdefault(self.headings[-1], []).append([])

    def handle_data(self, data: str) -> None:
        self._into.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag != self._open:
            return
        text = " ".join("".join(self._into).split())
        if tag in ("h1", "h2"):
            self.headings.append(text)
        elif tag == "li":
            self.items.setdefault(self.headings[-1], []).append(text)
        else:
            self.rows[self.headings[-1]][-1].append(text)
        self._open = ""


def test_the_table_of_the_notes_has_every_row() -> None:
    made = full()
    heading, *rows = Page(render(made)).rows["The schemes"]
    assert heading == list(NOTES_COLUMNS)
    assert rows == [list(notes_row(made, name)) for name in ROWS]
    assert rows[3] == [
        "shaw",
        "scores",
        "1,056",
        "none; far distances share a vector",
        "relative shift, by content",
        "yes",
        "0.31",
    ]


@pytest.mark.parametrize("task", ["text", "shift", "last"])
def test_task_tables_have_every_figure(task: str) -> None:
    made = full()
    page = Page(render(made))
    (section,) = (name for name in page.headings if name.startswith(f"{task}: "))
    heading, *rows = page.rows[section]
    assert heading == ["scheme", "acts at", "1x (64)", "2x (128)", "4x (256)", "8x (512)", "rise"]
    for name, row in zip(ROWS, rows, strict=True):
        means = [(loss(task, name, 0, index) + loss(task, name, 1, index)) / 2 for index in range(4)]
        rise = f"{means[3] - means[0]:+.2f}±0.00"
        assert row == [name, site_of(name), *(f"{value:.2f}±0.06" for value in means), rise]
    assert page.items[section] == findings(made, task)


def test_the_order_section_comes_with_the_task_and_without_it_not() -> None:
    made = full()
    page = Page(render(made))
    heading, *rows = page.rows["order: who bites whom"]
    assert heading == list(ORDER_COLUMNS)
    assert rows[0] == ["nope", "50%", "65%", "none (3e-07)"]
    assert rows[7] == ["rope", "57%", "79%", "1.25"]
    assert len(rows) == 9
    assert page.items["order: who bites whom"] == order_findings(made)
    assert not any("bites" in name for name in Page(render(full(tasks=("shift",)))).headings)


def test_a_page_of_word_order_alone_speaks_of_nothing_else() -> None:
    page = render(ordered({"nope": [0.0, 0.0], "rope": [1.0, 1.25]}))
    headings = Page(page).headings
    assert headings == ["“Dog bites man” or “man bites dog”?", "order: who bites whom", "The schemes", "How it was made"]
    assert "context length" not in page
    assert "A learned table" not in page
    assert "word order: 440 steps of 48 sentences, learning rate 0.002" in page


def test_what_was_not_run_is_not_explained() -> None:
    assert "The task <em>last</em>" not in render(full(tasks=("text", ORDER)))
    assert "the dotted line" not in render(full(tasks=("text",)))
    assert "the dotted line" in render(full(tasks=("last",)))
    assert "recurrent network" in render(full())
    assert "recurrent network" not in render(ordered({"nope": [0.0]}))
