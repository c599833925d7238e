"""Losses of a comparison, one's own or the package's: what a claim about trained models rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ordinate.claims.claim import Text

if TYPE_CHECKING:
    from ordinate.lab.results import Comparison

SOLVED = 0.05  # nats
LENGTH_TASKS = ("text", "shift", "last")
WHOSE = Text("kept measurement", "сохранённое измерение")
YOURS = Text("your results", "ваши результаты")


class UnmeasuredError(ValueError):
    """What a claim rests on is not in the results: it is not settled, for a reason in both languages."""

    def __init__(self, en: str, ru: str) -> None:
        super().__init__(en)
        self.reason = Text(en, ru)


def kept(results: Comparison | None) -> Comparison:
    """Give a comparison, or the package's own.

    Args:
        results: of ``ordinate compare``, or None.

    Returns:
        The comparison.

    Example:
        >>> kept(None).settings.budget.multiples
        (1, 2, 4, 8)
    """
    if results is not None:
        return results
    from ordinate.lab.kept import read_comparison

    return read_comparison()


def whose(results: Comparison | None) -> dict[str, Any]:
    """Say whose the losses are, as values for a text.

    Args:
        results: as the check got them.

    Returns:
        ``whose`` and ``whose_ru``.

    Example:
        >>> whose(None)["whose"]
        'kept measurement'
    """
    said = WHOSE if results is None else YOURS
    return {"whose": said.en, "whose_ru": said.ru}


def longest(results: Comparison) -> int:
    """Give the longest tested length.

    Args:
        results: the comparison.

    Returns:
        How many times the training length it is.

    Raises:
        UnmeasuredError: if the training length was not tested, or none longer.

    Example:
        >>> longest(kept(None))
        8
    """
    return _tested(results)[-1]


def next_longer(results: Comparison) -> int:
    """Give the shortest tested length beyond the training length.

    Args:
        results: the comparison.

    Returns:
        How many times the training length it is.

    Raises:
        UnmeasuredError: as ``longest``.

    Example:
        >>> next_longer(kept(None))
        2
    """
    return _tested(results)[1]


def _tested(results: Comparison) -> tuple[int, ...]:
    multiples = results.settings.budget.multiples
    if multiples[:1] != (1,) or len(multiples) < 2:
        named = ", ".join(map(str, multiples))
        raise UnmeasuredError(
            f"needed losses at the training length and at a longer one (multiples 1 and more), got multiples {named}",
            f"нужны потери на длине обучения и на большей (кратности 1 и больше), а есть кратности {named}",
        )
    return multiples


def loss(results: Comparison, task: str, scheme: str, times: int = 1) -> float:
    """Give a scheme's loss on a task: the mean over the seeds, in nats.

    Args:
        results: the comparison.
        task: "text", "shift" or "last".
        scheme: the row.
        times: how many times the training length.

    Returns:
        Nats a target.

    Raises:
        UnmeasuredError: if it was not measured.

    Example:
        >>> round(loss(kept(None), "text", "rope"), 2)
        1.72
    """
    multiples = results.settings.budget.multiples
    spread = results.spread(task, scheme, multiples.index(times)) if times in multiples else None
    if spread is None:
        raise UnmeasuredError(
            f"needed results of {scheme!r} on {task!r} at {times} times the training length, got none; "
            "run `ordinate compare` with them",
            f"нужны результаты {scheme!r} на задаче {task!r} при {times}-кратной длине обучения, а их нет; "
            "запустите `ordinate compare` с ними",
        )
    return spread.mean


def require_learned(results: Comparison, task: str, *schemes: str) -> None:
    """Refuse to judge a model that has not learned its task: it has nothing to lose.

    Args:
        results: the comparison.
        task: any task.
        schemes: the rows.

    Raises:
        UnmeasuredError: if one is near chance, or was not measured.

    Example:
        >>> require_learned(kept(None), "last", "rope", "alibi")
    """
    from ordinate.lab.results import has_not_learned

    for scheme in schemes:
        if results.spread(task, scheme, 0) is None:
            raise UnmeasuredError(
                f"needed results of {scheme!r} on {task!r}, got none; run `ordinate compare` with both",
                f"нужны результаты {scheme!r} на задаче {task!r}, а их нет; запустите `ordinate compare` с ними",
            )
        if has_not_learned(results, task, scheme):
            raise UnmeasuredError(
                f"needed a model that has learned its task, got {scheme!r} near chance on {task!r}; train it for more steps",
                f"нужна модель, освоившая задачу, а {scheme!r} на задаче {task!r} близка к угадыванию; обучите её дольше",
            )


def rise(results: Comparison, task: str, scheme: str) -> float:
    """Give the rise of the loss from the training length to the longest tested.

    Args:
        results: the comparison.
        task: "text", "shift" or "last".
        scheme: the row.

    Returns:
        Nats a target.

    Raises:
        UnmeasuredError: if one of both was not measured, or the model has not learned the task.

    Example:
        >>> round(rise(kept(None), "text", "rope"), 2)
        1.1
    """
    far = longest(results)
    require_learned(results, task, scheme)
    return loss(results, task, scheme, far) - loss(results, task, scheme)


def accuracies(results: Comparison, scheme: str) -> list[float]:
    """Give the accuracies on word order, those of three words first, seed after seed.

    Args:
        results: the comparison.
        scheme: the row.

    Returns:
        Shares; two a seed.

    Raises:
        UnmeasuredError: if there are none.

    Example:
        >>> set(accuracies(kept(None), "nope"))
        {0.5}
    """
    found = [value for outcome in results.of_order(scheme) for value in outcome.accuracies]
    if not found:
        raise UnmeasuredError(
            f"needed results of {scheme!r} on 'order', got none; run `ordinate compare` with both",
            f"нужны результаты {scheme!r} на задаче 'order', а их нет; запустите `ordinate compare` с ними",
        )
    return found
