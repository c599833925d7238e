"""Checks of what a rotation does: pairs, frequencies, signs, magnitude, at near positions and at far ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.rotary.forms import Array, Form, Layout, turning
from ordinate.testing.rotary.mistakes import CLOSE, Match, recognised, roundings
from ordinate.testing.rotary.subject import SEEN, CannotAskError, Maps, RaisedError, Subject, drawn

FAR = (65537, 16385, 4095, 1857, 509)
FLOAT32_STEP = 2.0**-24
EXPLAINED = 2e-2
MADE_OF = {"half": "i with i + d/2", "interleaved": "2i with 2i + 1"}


def matched(subject: Subject, maps: Maps) -> Match | None:
    """Find what the function does: what it should, or that with one or two mistakes; of either layout where none was declared.

    Args:
        subject: under test.
        maps: measured.

    Returns:
        The match of fewest mistakes, or None.
    """
    found = [recognised(maps.queries, form) for form in _allowed(subject)]
    known = [match for match in found if match is not None]
    return min(
        known, key=lambda match: (len(match.mistakes) + (match.rounding is not None), match.rounding is not None), default=None
    )


def form_findings(subject: Subject, maps: Maps, match: Match | None) -> list[Finding]:
    """Compare with the formula.

    Args:
        subject: under test.
        maps: measured.
        match: of the form, or None.

    Returns:
        One finding a mistake, or one that says that it follows the formula.
    """
    name = "formula"
    if match is None:
        return [_unknown(subject, maps)]
    form = match.form
    if not match.mistakes and match.rounding is None:
        said = f"{form.layout} pairs, {MADE_OF[form.layout]}; {form.rotary_dim} of {form.head_dim} entries turn"
        said += ", and come back as halves, which leaves scores as they are" if form.gathered else ""
        unsaid = [what for what, known in (("layout", subject.layout_declared), ("width", subject.width_declared)) if not known]
        return [holds(name, f"{said} (nothing was declared about {' and '.join(unsaid)})" if unsaid else said)]
    position, entry, expected, actual = _where(maps.queries, _nearest_allowed(subject, form))
    shown = (
        f"x = e{entry[1]} (d = {form.head_dim}, base {subject.form.base:g}) at position {position}, entry {entry[0]} of the result"
    )
    values = {"smallest": shown, "expected": f"{expected:.6f}", "actual": f"{actual:.6f}"}
    found = [broken(name, mistake.kind, mistake.said, remedy=mistake.remedy, **values) for mistake in match.mistakes]
    return found + ([] if match.rounding is None else [broken(name, "low-precision-phase", match.rounding, **values)])


def keys_findings(subject: Subject, maps: Maps) -> list[Finding]:
    """Whether keys turn as queries do.

    Args:
        subject: under test.
        maps: measured.

    Returns:
        One finding.
    """
    name = "keys turn as queries"
    gap = np.abs(maps.queries - maps.keys).reshape(SEEN, -1).max(1)
    if gap.max() < CLOSE:
        return [holds(name, f"at positions 0 to {SEEN - 1}")]
    position = int((gap >= CLOSE).argmax())
    still = float(np.abs(maps.keys - np.eye(subject.form.head_dim)).max()) < CLOSE
    said = "keys do not turn" if still else "keys turn otherwise than queries, so scores do not depend on the distance alone"
    row, column = np.unravel_index(int(np.abs(maps.queries - maps.keys)[position].argmax()), maps.keys.shape[1:])
    return [
        broken(
            name,
            "layout-mismatch",
            said,
            smallest=f"x = e{column} at position {position}, entry {row} of the result",
            expected=f"{maps.queries[position, row, column]:.6f}, as for the query",
            actual=f"{maps.keys[position, row, column]:.6f}",
            remedy="turn both with the same formula, each by its own position",
        )
    ]


def far_findings(subject: Subject, match: Match | None) -> list[Finding]:
    """Look at far positions: how much is lost before sine and cosine.

    float32 angles are off by position x frequency x 2^-24 and a few roundings more; that much is allowed.

    Args:
        subject: under test.
        match: of the form.

    Returns:
        One finding.
    """
    name = "far positions"
    if match is None:
        return [not_asked(name, "the function follows no known formula, so there is nothing to compare with")]
    if match.rounding is not None:
        return [not_asked(name, f"{match.rounding}, which shows already at near positions")]
    failures = []
    for position in FAR:
        try:
            got = _at(subject, position, match.form.head_dim)
        except RaisedError as fault:
            failures.append(str(fault))
            continue
        return [_of_far(subject, match.form, position, got)]
    return [not_asked(name, f"positions {FAR[-1]} and beyond are refused: {failures[-1]}")]


def _of_far(subject: Subject, form: Form, furthest: int, got: Array) -> Finding:
    name, x = "far positions", drawn(form.head_dim).double().numpy()
    error = float(np.abs(got - turning(form, furthest) @ x).max())
    allowed = _allowed_error(form, furthest, x)
    if error <= allowed:
        return holds(name, f"off by {error:.1e} at {furthest}, where float32 angles may be off by {allowed:.1e}")
    for position in sorted({*(2**power + 1 for power in range(4, 17) if 2**power < furthest), furthest}):
        got = _at(subject, position, form.head_dim)
        right = turning(form, position) @ x
        if np.abs(got - right).max() > _allowed_error(form, position, x):
            break
    cause = _cause(subject, form, [each for each in FAR if each <= furthest], x)
    entry = int(np.abs(got - right).argmax())
    return broken(
        name,
        "low-precision-phase",
        cause or "cos and sin are wrong at far positions, by more than float32 angles explain",
        smallest=f"position {position}, entry {entry} of the result",
        expected=f"{right[entry]:.6f}",
        actual=f"{got[entry]:.6f}",
    )


def _cause(subject: Subject, form: Form, positions: list[int], x: Array) -> str | None:
    """The rounding that explains all far positions best, if one does; numbers that overflow count as explained by a NaN."""
    got = {position: _at(subject, position, form.head_dim) for position in positions}
    gaps = {}
    with np.errstate(invalid="ignore", over="ignore"):
        for said, rounding in roundings().items():
            off = [np.abs(got[position] - turning(form, position, rounding) @ x) for position in positions]
            gaps[said] = float(max(np.nan_to_num(each, nan=0.0).max() for each in off))
    best = min(gaps, key=lambda said: gaps[said])
    return best if gaps[best] < EXPLAINED else None


def _at(subject: Subject, position: int, width: int) -> Array:
    """One token at a position; where only whole sequences from 0 can be asked, the last of one."""
    x = drawn(width)
    try:
        q, _ = subject(x.expand(1, 1, 1, width).clone(), x.expand(1, 1, 1, width).clone(), torch.tensor([position]))
        if not _ignores_position(q, x):
            return q[0, 0, 0].detach().double().numpy()
    except CannotAskError:
        pass
    whole = x.expand(1, 1, position + 1, width).clone()
    q, _ = subject(whole, whole.clone(), torch.arange(position + 1))
    return q[0, 0, -1].detach().double().numpy()


def _ignores_position(q: torch.Tensor, x: torch.Tensor) -> bool:
    """A single token that does not turn at all was taken for the first one, which is another check's business."""
    return bool(torch.allclose(q[0, 0, 0].detach().double(), x.double(), atol=1e-6))


def _allowed_error(form: Form, position: int, x: Array) -> float:
    fastest = float(np.abs(form.frequencies()).max())
    return float(np.abs(x).max()) * 1.5 * form.magnitude * (4 * position * max(fastest, 1.0) * FLOAT32_STEP + 2e-6)


def _allowed(subject: Subject) -> list[Form]:
    """The right forms: several where layout or width were not declared."""
    form = subject.form
    layouts: tuple[Layout, ...] = (form.layout,) if subject.layout_declared else ("half", "interleaved")
    parts = [form.rotary_dim] if subject.width_declared else [form.head_dim // part for part in (1, 2, 4)]
    found = [
        replace(form, layout=layout, rotary_dim=width) for width in parts if width >= 2 and not width % 2 for layout in layouts
    ]
    return found + [replace(each, gathered=True) for each in found if each.layout == "interleaved"]


def _nearest_allowed(subject: Subject, form: Form) -> Form:
    allowed = _allowed(subject)
    return next(
        (
            each
            for each in allowed
            if (each.layout, each.rotary_dim, each.gathered) == (form.layout, form.rotary_dim, form.gathered)
        ),
        allowed[0],
    )


def _where(maps: Array, form: Form) -> tuple[int, tuple[int, int], float, float]:
    """The first position, and there the entry, at which the maps differ most from a form."""
    for position, matrix in enumerate(maps):
        right = turning(form, position)
        gap = np.abs(matrix - right)
        if gap.max() >= CLOSE:
            row, column = (int(each) for each in np.unravel_index(int(gap.argmax()), gap.shape))
            return position, (row, column), float(right[row, column]), float(matrix[row, column])
    return 0, (0, 0), 0.0, 0.0


def _unknown(subject: Subject, maps: Maps) -> Finding:
    form = _allowed(subject)[0]
    position, (row, column), expected, actual = _where(maps.queries, form)
    norms = np.abs(np.linalg.norm(maps.queries, axis=1) - form.magnitude).max()
    said = (
        "norms are not kept: this is no rotation" if norms > 1e-3 else "it is a rotation, of another kind than base and width say"
    )
    if not np.isfinite(maps.queries).all():
        said = "the result is not finite"
    return broken(
        "formula",
        "layout-mismatch",
        f"follows neither layout, nor one with a known mistake; {said}",
        smallest=f"x = e{column} (d = {form.head_dim}, base {form.base:g}) at position {position}, entry {row} of the result",
        expected=f"{expected:.6f} ({form.layout})",
        actual=f"{actual:.6f}",
        remedy="(a, b) -> (a cos - b sin, b cos + a sin), angle = position x base^(-2i / d)",
    )
