"""What the terminal shows: the summary that fills while models finish, and tables whose numbers are never cut."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from lab_tools import console, full, loss, printed
from rich.console import Console

from ordinate.lab.compare import Progress
from ordinate.lab.display import follow, notes, tables
from ordinate.lab.results import ORDER, Cell, Comparison
from ordinate.lab.rows import ROWS

LENGTHS = ("text", "shift", "last")


def shown(made: Comparison, width: int = 80) -> str:
    screen = console(width=width)
    screen.print(*tables(made), sep="\n")
    return printed(screen)


def mean(task: str, scheme: str, index: int) -> float:
    return (loss(task, scheme, 0, index) + loss(task, scheme, 1, index)) / 2


def lines_of(text: str, scheme: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.split()[:1] == [scheme]]


@pytest.mark.parametrize("width", [80, 100])
def test_tables_have_every_number_whole(width: int) -> None:
    text = shown(full(), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for scheme in ROWS:
        *tasks, order, noted = lines_of(text, scheme)
        for task, line in zip(LENGTHS, tasks, strict=True):
            cells = " ".join(f"{mean(task, scheme, index):.2f} ±0.06" for index in range(4))
            assert line == f"{scheme} {cells} {mean(task, scheme, 3) - mean(task, scheme, 0):+.2f}"
        row = ROWS.index(scheme)
        change = "none (3e-07)" if scheme in ("nope", "alibi") else "1.25"
        assert order == f"{scheme} {0.5 + 0.01 * row:.0%} {0.65 + 0.02 * row:.0%} {change}"
        count = {"learned": "4,096", "shaw": "1,056", "t5": "128", "deberta": "4,096", "gru": "within"}.get(scheme, "0")
        assert f" {count} " in noted
        assert noted.endswith(f"{0.0123 + 0.1 * row:.2g}")


def test_tables_are_those_of_the_tasks_that_were_run() -> None:
    for tasks in (LENGTHS, (ORDER,), ("last", ORDER)):
        text = shown(full(tasks=tasks))
        titles = [task for task in (*LENGTHS, ORDER) if re.search(rf"^{task}: ", text, re.MULTILINE)]
        assert titles == [task for task in (*LENGTHS, ORDER) if task in tasks]
        assert "the schemes" in text


def test_the_note_on_a_table_comes_where_a_table_was_stretched() -> None:
    assert notes(full()) == ["A learned table has 64 rows; beyond them positions start again at 0."]
    assert notes(full(tasks=(ORDER,))) == []


def events(made: Comparison, done: Comparison, screen: Console, seen: list[str]) -> Iterator[Progress]:
    """Nothing yet, then half, then all; what stands on the screen after each."""
    cells = done.settings.cells()
    for count, left in ((0, None), (len(cells) // 2, 65.0), (len(cells), 0.0)):
        finished = tuple(cell for cell in cells[:count] if cell not in made.outcomes)
        made.outcomes.update({cell: done.outcomes[cell] for cell in finished})
        before = len(printed(screen))
        yield Progress(count / len(cells), 65.0, left, finished)
        seen.append(printed(screen)[before:])


def test_the_summary_fills_while_models_finish() -> None:
    done, screen = full(tasks=LENGTHS), console(terminal=True)
    seen: list[str] = []
    made = Comparison(done.settings, None, "")
    follow(made, events(made, done, screen, seen), screen)
    empty, half, whole = seen
    assert lines_of(empty, "rope") == ["rope ... ... ... ... ... ..."]
    assert "0%  1:05 so far, about -:-- left" in empty
    assert lines_of(half, "rope") == [" ".join(["rope", *(f"{loss(t, 'rope', 0, i):.2f}" for t in LENGTHS for i in (0, 3))])]
    assert "50%  1:05 so far, about 1:05 left" in half
    for scheme in ROWS:
        assert lines_of(whole, scheme) == [" ".join([scheme, *(f"{mean(t, scheme, i):.2f}" for t in LENGTHS for i in (0, 3))])]
    assert "100%  1:05 so far, about 0:00 left" in whole
    assert "…" not in "".join(seen)
    # Of the lines of a small terminal none is lost.
    assert all(len(text.splitlines()) <= 24 for text in seen)


def test_word_order_fills_too() -> None:
    done, screen = full(tasks=(ORDER,)), console(terminal=True)
    seen: list[str] = []
    made = Comparison(done.settings, None, "")
    follow(made, events(made, done, screen, seen), screen)
    assert lines_of(seen[0], "rope") == ["rope ... ..."]
    assert lines_of(seen[1], "rope") == ["rope 57% 74%"]
    assert lines_of(seen[2], "rope") == ["rope 57% 79%"]


def test_a_file_gets_one_line_a_model() -> None:
    done, screen = full(tasks=("last",)), console()
    seen: list[str] = []
    made = Comparison(done.settings, None, "")
    follow(made, events(made, done, screen, seen), screen)
    lines = printed(screen).splitlines()
    assert lines[0] == "task scheme seed: loss in nats at 64 128 256 512 tokens"
    assert len(lines) == 1 + 2 * len(ROWS)
    for cell in done.settings.cells():
        losses = " ".join(f"{loss('last', cell.scheme, cell.seed, index):.3f}" for index in range(4))
        assert sum(f"] last {cell.scheme} seed {cell.seed}: {losses}  (about" in line for line in lines) == 1


@pytest.mark.parametrize(("tasks", "said"), [((ORDER,), ""), (("shift", ORDER), "loss in nats at 64 128 256 512 tokens; ")])
def test_a_file_is_told_what_the_losses_of_word_order_mean(tasks: tuple[str, ...], said: str) -> None:
    screen = console()
    follow(full(tasks=tasks), [], screen)
    assert printed(screen) == f"task scheme seed: {said}order: loss on 'dog bites man' and on 'dog bites man .'\n"


def test_a_refused_length_is_no_number() -> None:
    made = full(tasks=("shift",))
    for seed in (0, 1):
        cell = Cell("shift", "learned", seed)
        made.outcomes[cell] = type(made.outcomes[cell])((1.0, None, None, None), 1000, 4096, 1.0)
    assert lines_of(shown(made), "learned")[0] == "learned 1.00 ±0.00 refused refused refused"
