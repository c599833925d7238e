"""What is said of a comparison, on the terminal and in the report alike: sentences, and rows of words."""

from __future__ import annotations

from ordinate.lab.order import FORMS
from ordinate.lab.results import ORDER, Comparison, has_not_learned, signed
from ordinate.lab.rows import GRU, Budget, facts_of, site_of

NOTES_COLUMNS = ("scheme", "applied at", "parameters", "maximum length", "encodes", "parallel", "ms a token")
ORDER_COLUMNS = ("scheme", *FORMS, "largest change of a word's vector when dog and man are exchanged")
SAME = 1e-4  # vectors of size 1 after two layers in float32


def notes_row(comparison: Comparison, scheme: str) -> tuple[str, ...]:
    """Give a scheme's line of the table that the course notes draw, with what was measured here.

    Args:
        comparison: as far as it is.
        scheme: the row.

    Returns:
        One text a column of ``NOTES_COLUMNS``.
    """
    facts, count = facts_of(scheme), comparison.parameters(scheme)
    parameters = facts.parameters if scheme == GRU else "" if count is None else f"{count:,}"
    milliseconds = comparison.milliseconds.get(scheme)
    speed = "" if milliseconds is None else f"{milliseconds:.2g}"
    return scheme, site_of(scheme), parameters, facts.max_length, facts.encodes, "no" if scheme == GRU else "yes", speed


def order_row(comparison: Comparison, scheme: str) -> tuple[str, ...]:
    """Give a scheme's line of the table of word order, means over the seeds that are done.

    Args:
        comparison: as far as it is.
        scheme: the row.

    Returns:
        One text a column of ``ORDER_COLUMNS``.
    """
    outcomes = comparison.of_order(scheme)
    if not outcomes:
        return (scheme, *["..."] * (len(ORDER_COLUMNS) - 1))
    means = [sum(outcome.accuracies[form] for outcome in outcomes) / len(outcomes) for form in range(len(FORMS))]
    changed = max(outcome.difference or 0.0 for outcome in outcomes)
    return scheme, *(f"{mean:.0%}" for mean in means), f"{changed:.2f}" if changed > SAME else f"none ({changed:.0e})"


def order_findings(comparison: Comparison) -> list[str]:
    """Say what the task of word order shows.

    Args:
        comparison: with all its outcomes.

    Returns:
        Plain sentences.
    """
    said = []
    blind = [scheme for scheme in comparison.settings.schemes if _is_blind(comparison, scheme)]
    if "nope" in blind:
        said.append(
            "Without positions both sentences give the same three vectors, in another order, so their mean is the same: of every "
            "pair exactly one is right, whatever is learned."
        )
    if "alibi" in blind:
        said.append(
            "Two-way ALiBi knows how far words are apart, not on which side: three words exchanged are a mirror image, and so are "
            "their vectors. A full stop breaks the mirror."
        )
    seeing = [scheme for scheme in comparison.settings.schemes if comparison.of_order(scheme) and scheme not in blind]
    if seeing:
        said.append(f"Order reaches the vectors of {', '.join(seeing)}.")
    return said


def _is_blind(comparison: Comparison, scheme: str) -> bool:
    outcomes = comparison.of_order(scheme)
    return bool(outcomes) and all((outcome.difference or 0.0) <= SAME for outcome in outcomes)


def beyond_the_table(budget: Budget) -> str:
    """Say what a learned table does at the longer lengths."""
    meaning = {
        "wrap": "positions start again at 0",
        "clamp": "every position reads the last row",
        "error": "it refuses to run",
    }
    return f"A learned table has {budget.length} rows; beyond them {meaning[budget.overflow]}."


def findings(comparison: Comparison, task: str) -> list[str]:
    """Say in sentences what the figures show; a difference inside the spread over seeds is not called a difference.

    Args:
        comparison: with all its outcomes.
        task: which task.

    Returns:
        Plain sentences.
    """
    settings = comparison.settings
    multiples = settings.budget.multiples
    said = []
    for index in sorted({0, len(multiples) - 1}):
        lowest = comparison.lowest(task, index)
        if not lowest or len(settings.schemes) < 2:
            continue
        best = comparison.spread(task, lowest[0], index)
        loss = "" if best is None else f" ({best.mean:.2f} nats)"
        tied = "" if len(lowest) == 1 else f"; {', '.join(lowest[1:])} cannot be told from it with these seeds"
        said.append(f"At {multiples[index]}x, {lowest[0]} is lowest{loss}{tied}.")
    if settings.seeds < 2:
        said.append("One seed was run: how far seeds scatter is not known, so no scheme is called lowest.")
    if len(multiples) > 1:
        said.extend(_rises(comparison, task))
    unlearned = [scheme for scheme in settings.schemes if has_not_learned(comparison, task, scheme)]
    if unlearned:
        said.append(f"Still near chance at {multiples[0]}x, so that longer contexts cost nothing: {', '.join(unlearned)}.")
    return said


def _rises(comparison: Comparison, task: str) -> list[str]:
    multiples = comparison.settings.budget.multiples
    rises = {scheme: comparison.rise(task, scheme) for scheme in comparison.settings.schemes}
    learned = [scheme for scheme in rises if not has_not_learned(comparison, task, scheme)]
    known = sorted((rise.mean, scheme, rise) for scheme, rise in rises.items() if rise is not None and scheme in learned)
    said = [f"{scheme} refuses {multiples[-1]}x: its table has no rows there." for scheme, rise in rises.items() if rise is None]
    if len(known) > 1 and comparison.settings.seeds > 1 and not known[0][2].overlaps(known[-1][2]):
        least, most = known[0], known[-1]
        way = f"From {multiples[0]}x to {multiples[-1]}x"
        said.insert(0, f"{way}, {least[1]} rises least ({signed(least[0])} nats), {most[1]} most ({signed(most[0])}).")
    return said


def all_findings(comparison: Comparison) -> list[str]:
    """Say what every task shows, each sentence behind its task.

    Args:
        comparison: with all its outcomes.

    Returns:
        Lines.
    """
    settings = comparison.settings
    said = [f"{task}: {sentence}" for task in settings.length_tasks for sentence in findings(comparison, task)]
    if ORDER in settings.tasks:
        said += [f"{ORDER}: {sentence}" for sentence in order_findings(comparison)]
    return said
