"""A page of what was found, with figures of the rotations that a configuration declares; one file, nothing is loaded by it."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ordinate.doctor.finding import Diagnosis, worst_first
from ordinate.doctor.looked import Looked
from ordinate.doctor.rotations import Rotation

if TYPE_CHECKING:
    from ordinate.schemes.rope import Rope

MOST_FIGURES = 3  # of rotations that differ
WIDEST = 1024
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.2rem; }
article { border-left: 4px solid #7f7f7f; padding: .1rem 1rem; margin: 1rem 0; overflow-wrap: anywhere; }
article.error { border-color: #d55e00; } article.warning { border-color: #e69f00; } article.note { border-color: #56b4e9; }
code { font-size: .92em; } figure { margin: 1rem 0; background: white; } figure svg { width: 100%; height: auto; display: block; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; margin: .3rem 0; }
dt { opacity: .7; } dd { margin: 0; }
"""


def page(found: Sequence[Diagnosis], looked: Sequence[Looked]) -> str:
    """Write the page.

    Args:
        found: about all targets.
        looked: the targets.

    Returns:
        HTML.

    Raises:
        ImportError: if matplotlib or torch is missing, and there is something to draw.
    """
    names = ", ".join(_text(one.target) for one in looked)
    articles = "".join(_article(each) for each in worst_first(list(found))) or "<p>Nothing was found.</p>"
    figures = "".join(_figures(one) for one in looked)
    head = f"<title>ordinate doctor: {names}</title><style>{STYLE}</style>"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{head}<h1>ordinate doctor</h1><p>{names}</p>{articles}{figures}</html>\n"
    )


def _article(found: Diagnosis) -> str:
    rows = (("where", found.where), ("evidence", found.evidence), ("remedy", found.remedy), ("kind", found.kind or ""))
    listed = "".join(f"<dt>{name}</dt><dd>{_text(value)}</dd>" for name, value in rows if value)
    head = f"<h3><code>{found.code}</code> {found.severity}: {_text(found.message)}</h3>"
    return f'<article class="{found.severity}">{head}<dl><dt>target</dt><dd>{_text(found.target)}</dd>{listed}</dl></article>'


def _figures(looked: Looked) -> str:
    """Wavelengths and precision of the rotations, if there are any whose width and length are known."""
    drawn: dict[tuple[object, ...], Rotation] = {}
    for each in looked.rotations:
        if each.trained and each.head_dim and each.rotary_dim <= min(each.head_dim, WIDEST):
            drawn.setdefault((each.base, each.rotary_dim, each.rule, each.trained), each)
    return "".join(_of_rotation(looked.target, each) for each in list(drawn.values())[:MOST_FIGURES])


def _of_rotation(target: str, rotation: Rotation) -> str:
    from ordinate import plots

    assert rotation.trained is not None
    rope, longest = _rope(rotation), rotation.max_length or rotation.trained
    known = min(max(2, longest), 2**24)
    first = plots.wavelengths(rope, trained=rotation.trained)
    second = plots.precision(rope, positions=known)
    said = f"Wavelengths, and what rounding costs up to position {known:,}, of {rotation.where}."
    head = f"<h2>{_text(target)}: {_text(rotation.where)}</h2>"
    return f"{head}<figure>{_svg(first)}</figure><figure>{_svg(second)}<figcaption>{_text(said)}</figcaption></figure>"


def _rope(rotation: Rotation) -> Rope:
    from ordinate.schemes.rope import Rope

    rope = Rope(
        head_dim=math.ceil((rotation.head_dim or rotation.rotary_dim) / 2) * 2,
        layout="interleaved" if rotation.layout == "interleaved" else "half",
        base=rotation.base,
        rotary_dim=rotation.rotary_dim,
        scaling=rotation.rule,
    )
    return rope.at_length(rotation.max_length) if rotation.max_length and rotation.rule is not None else rope


def _svg(figure: Any) -> str:
    import matplotlib

    held = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "ordinate"}):
        figure.savefig(held, format="svg", metadata={"Date": None})
    return held.getvalue().partition("<svg")[2].join(("<svg", ""))


def _text(value: str) -> str:
    return html.escape(value)
