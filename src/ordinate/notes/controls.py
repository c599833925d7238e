"""The page's sliders and lists. A change of language makes them anew, so each starts from what ``kept`` holds under its name.

Each is a variable of its own in the page: of two that change at once, marimo would lose one if they were parts of one dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ordinate.notes.texts import SCHEMES, TEXTS
from ordinate.notes.words import order_names

if TYPE_CHECKING:
    from ordinate.claims.claim import Language

Kept = dict[str, Any]
WIDTHS, HEAD_WIDTHS = (4, 8, 16, 32, 64, 128, 256), (8, 16, 32, 64, 128)
BASES = (10, 100, 1_000, 10_000, 100_000, 500_000, 1_000_000)
LENGTHS = (10, 25, 50, 100, 200, 400)
PLACES, SHIFTS, REACHES = tuple(range(101)), tuple(range(201)), (16, 32, 64, 128, 256)
HEADS, FACTORS, TRAINED = (1, 2, 4, 8), (1, 2, 4, 8, 16, 32), (512, 1024, 2048, 4096, 8192, 32768)
# Whose picture depends on the heads: a slope or a table row a head, or vectors as wide as all heads.
BY_HEADS = ("sinusoidal", "learned", "alibi", "t5")
RULES = ("none", "linear", "ntk", "dynamic", "yarn", "llama3")


def encoding(kept: Kept, language: Language) -> dict[str, Any]:
    """Make the controls of the sinusoidal encoding.

    Args:
        kept: earlier choices.
        language: "en" or "ru".

    Returns:
        marimo's elements by the names that ``figures`` uses.

    Example:
        >>> encoding({"encoding width": 64}, "en")["width"].value
        64
    """
    names = ("interleaved", "sin_cos", "cos_sin")
    return {
        "width": _slider(kept, "encoding width", TEXTS["width"].said(language), WIDTHS, 16),
        "base": _slider(kept, "encoding base", TEXTS["base"].said(language), BASES, 10_000),
        "length": _slider(kept, "encoding length", TEXTS["length"].said(language), LENGTHS, 100),
        "layout": _list(kept, "encoding layout", "layout", {TEXTS[name].said(language): name for name in names}, language),
    }


def rotation(kept: Kept, language: Language) -> dict[str, Any]:
    """Make the controls of the clock hands.

    Args:
        kept: earlier choices.
        language: "en" or "ru".

    Returns:
        marimo's elements by the names that ``figures`` uses.

    Example:
        >>> rotation({}, "en")["query"].value
        20
    """
    names = {TEXTS[f"pairs_{name}"].said(language): name for name in ("half", "interleaved")}
    return {
        "query": _slider(kept, "rotation query", TEXTS["query"].said(language), PLACES, 20),
        "key": _slider(kept, "rotation key", TEXTS["key"].said(language), PLACES, 13),
        "shift": _slider(kept, "rotation shift", TEXTS["shift"].said(language), SHIFTS, 0),
        "head_width": _slider(kept, "rotation width", TEXTS["head_width"].said(language), HEAD_WIDTHS, 16),
        "base": _slider(kept, "rotation base", TEXTS["base"].said(language), BASES, 10_000),
        "layout": _list(kept, "rotation layout", "layout", names, language),
    }


def distance(kept: Kept, language: Language) -> dict[str, Any]:
    """Make the controls of the scores against distance.

    Args:
        kept: earlier choices.
        language: "en" or "ru".

    Returns:
        marimo's elements by the names that ``figures`` uses.

    Example:
        >>> distance({}, "ru")["scheme"].value
        'rope'
    """
    names = {title: name for name, title in SCHEMES.items()}
    return {
        "scheme": _list(kept, "distance scheme", "scheme", names, language),
        "reach": _slider(kept, "distance reach", TEXTS["reach"].said(language), REACHES, 128),
    }


def heads(kept: Kept, scheme: str, language: Language) -> Any:
    """Make the slider of a layer's heads; it belongs to a scheme, since not every scheme has a use for it.

    Args:
        kept: earlier choices.
        scheme: as in ``SCHEMES``.
        language: "en" or "ru".

    Returns:
        marimo's element, and whether to show it.

    Example:
        >>> heads({}, "alibi", "en")[1], heads({}, "rope", "en")[1]
        (True, False)
    """
    return _slider(kept, "distance heads", TEXTS["heads"].said(language), HEADS, 4), scheme in BY_HEADS


def stretching(kept: Kept, language: Language) -> dict[str, Any]:
    """Make the controls of the wavelengths.

    Args:
        kept: earlier choices.
        language: "en" or "ru".

    Returns:
        marimo's elements by the names that ``figures`` uses.

    Example:
        >>> stretching({"stretching rule": "ntk"}, "en")["rule"].value
        'ntk'
    """
    names = {TEXTS[name].said(language): name for name in RULES}
    return {
        "rule": _list(kept, "stretching rule", "rule", names, language, first="yarn"),
        "factor": _slider(kept, "stretching factor", TEXTS["factor"].said(language), FACTORS, 4),
        "trained": _slider(kept, "stretching trained", TEXTS["trained"].said(language), TRAINED, 4096),
        "head_width": _slider(kept, "stretching width", TEXTS["head_width"].said(language), HEAD_WIDTHS, 64),
        "base": _slider(kept, "stretching base", TEXTS["base"].said(language), BASES, 10_000),
    }


def task(kept: Kept, tasks: Sequence[str], language: Language) -> Any:
    """Make the list of a comparison's tasks.

    Args:
        kept: earlier choices.
        tasks: those that are tested at several lengths.
        language: "en" or "ru".

    Returns:
        marimo's element, or None without tasks.

    Example:
        >>> task({}, ("shift", "last"), "en").value
        'shift'
    """
    titles = {TEXTS["shift_task" if name == "shift" else name].said(language): name for name in tasks}
    return _list(kept, "task", "task", titles, language) if tasks else None


def words(kept: Kept, language: Language) -> dict[str, Any]:
    """Make the three fields.

    Args:
        kept: earlier choices.
        language: "en" or "ru".

    Returns:
        marimo's elements.

    Example:
        >>> [field.value for field in words({"word 2": "sees"}, "en").values()]
        ['dog', 'sees', 'man']
    """
    import marimo as mo

    return {
        name: mo.ui.text(
            value=kept.get(f"word {place}", TEXTS[f"word_{place}"].said(language)),
            label=TEXTS[name].said(language),
            debounce=300,
            full_width=True,
            on_change=partial(kept.__setitem__, f"word {place}"),
        )
        for place, name in enumerate(("first", "second", "third"), start=1)
    }


def order(kept: Kept, typed: Sequence[str], language: Language) -> Any:
    """Make the list of the orders that three words can have.

    Args:
        kept: earlier choices.
        typed: the words.
        language: "en" or "ru".

    Returns:
        marimo's element.

    Example:
        >>> order({}, ("dog", "bites", "man"), "en").value
        (2, 1, 0)
    """
    return _list(kept, "order", "order", order_names(typed), language, first=(2, 1, 0))


def row(elements: Iterable[Any]) -> str:
    """Lay controls out: as many beside each other as the screen is wide for.

    Args:
        elements: marimo's.

    Returns:
        HTML.

    Example:
        >>> row(encoding({}, "en").values()).startswith('<div class="controls"><marimo-ui-element')
        True
    """
    return f'<div class="controls">{"".join(element.text for element in elements)}</div>'


def _slider(kept: Kept, name: str, label: str, steps: Sequence[int], first: int) -> Any:
    import marimo as mo

    keep = partial(kept.__setitem__, name)
    return mo.ui.slider(
        steps=list(steps), value=kept.get(name, first), label=label, show_value=True, full_width=True, on_change=keep
    )


def _list(kept: Kept, name: str, text: str, options: dict[str, Any], language: Language, first: Any = None) -> Any:
    """A dropdown that shows the option that was chosen before, or the first."""
    import marimo as mo

    chosen = kept.get(name, first)
    shown = next((title for title, value in options.items() if value == chosen), next(iter(options)))
    keep = partial(kept.__setitem__, name)
    return mo.ui.dropdown(options, value=shown, label=TEXTS[text].said(language), full_width=True, on_change=keep)
