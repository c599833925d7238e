"""``check_rotary``: a rotation against the contract."""

from __future__ import annotations

import copy
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ordinate.testing.attempts import told
from ordinate.testing.findings import Finding, Report, broken, not_asked
from ordinate.testing.rotary.adapters import sequence_first
from ordinate.testing.rotary.fitting import adapted, parameters_of
from ordinate.testing.rotary.forms import Form, Layout
from ordinate.testing.rotary.making import BASES, Maker, declared_base, declared_layout, declared_size, maker_of
from ordinate.testing.rotary.mistakes import Match
from ordinate.testing.rotary.of_form import far_findings, form_findings, keys_findings, matched
from ordinate.testing.rotary.of_paths import autocast_findings, compile_findings, dtype_findings, gradient_findings, shape_findings
from ordinate.testing.rotary.of_positions import offset_findings, order_findings, range_findings, rows_findings
from ordinate.testing.rotary.of_state import cast_findings, history_findings, sharing_findings, stored_findings, width_findings
from ordinate.testing.rotary.subject import CannotAskError, Maps, RaisedError, Subject, Turn, measured

HEAD_DIM, BASE, WIDEST = 16, 10000.0, 512
Check = tuple[str, str, Callable[[Subject, Maps, "Match | None"], list[Finding]]]
CHECKS: tuple[Check, ...] = (
    ("formula", "layout-mismatch", form_findings),
    ("keys turn as queries", "layout-mismatch", lambda subject, maps, _: keys_findings(subject, maps)),
    ("one token alone", "decode-offset", lambda subject, maps, _: offset_findings(subject, maps)),
    ("positions in any order", "packed-positions", lambda subject, maps, _: order_findings(subject, maps)),
    ("batches", "decode-offset", lambda subject, maps, _: rows_findings(subject, maps)),
    ("positions out of the ordinary", "cos-sin-range", lambda subject, maps, _: range_findings(subject, maps)),
    ("far positions", "low-precision-phase", lambda subject, _, match: far_findings(subject, match)),
    ("module.to(bfloat16)", "low-precision-phase", lambda subject, _, match: cast_findings(subject, match)),
    ("autocast", "low-precision-phase", lambda subject, _, __: autocast_findings(subject)),
    ("call history", "cache-key-and-sharing", lambda subject, _, __: history_findings(subject)),
    ("settings of an instance", "cache-key-and-sharing", lambda subject, _, __: sharing_findings(subject)),
    ("other widths", "fused-kernel-shape", lambda subject, _, match: width_findings(subject, match)),
    ("state", "derived-buffer-uninit", lambda subject, _, __: stored_findings(subject)),
    ("shapes", "fused-kernel-shape", lambda subject, maps, _: shape_findings(subject, maps)),
    ("dtypes", "backend-dtype", lambda subject, maps, _: dtype_findings(subject, maps)),
    ("gradients", "fused-kernel-shape", lambda subject, maps, _: gradient_findings(subject, maps)),
    ("tracing", "compile-unfriendly", lambda subject, _, __: compile_findings(subject)),
)


def check_rotary(
    fn: Any,
    *,
    head_dim: int | None = None,
    base: float | None = None,
    layout: Layout | None = None,
    rotary_dim: int | None = None,
    inverse_frequencies: Sequence[float] | None = None,
    magnitude: float = 1.0,
    tokens_first: bool = False,
    formula: bool = True,
    settings: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Report:
    """Hold a rotary embedding to the contract: formula, positions, precision, state, paths.

    The oracle is the formula in float64: at position m the pair i turns by m w_i, w_i = base^(-2i / rotary_dim),
    (a, b) -> (a cos - b sin, b cos + a sin). What differs from it is compared with a bank of known mistakes, alone and in pairs,
    and named. Nothing of what is checked is changed: checks run on copies.

    Args:
        fn: a class with the usual arguments (``head_dim`` or ``dim``, ``base`` or ``theta``), an object or a function with a usual
            signature, (q, k, positions), (x, positions), (x, offset), or a module that gives cos and sin beside
            ``apply_rotary_pos_emb``; or one of the adapters of this package around it.
        head_dim: entries of a head; None: what an object says of itself (an attribute ``head_dim``), or 16.
        base: what the function should use; 10000 if None.
        layout: "half" or "interleaved"; None: what it says of itself, and if it says nothing, either will do.
        rotary_dim: entries that turn, the first ones; None: what an object says of itself (an attribute ``rotary_dim``), or all.
        inverse_frequencies: what the function should use in place of base^(-2i / rotary_dim), under a scaling rule say.
        magnitude: factor of cos and sin, as YaRN has one.
        tokens_first: whether a function of (q, k, positions) takes [B, T, H, D]; found out by trying, if it is not said.
        formula: False for a rotation of another kind (xPos, learned angles), which is held to all that follows from what it itself
            does at positions 0 to 12.
        settings: further arguments of a class.
        name: for the report.

    Returns:
        A report, one finding a property at least: that it holds, is broken, or does not apply and why.

    Raises:
        ValueError: if the object cannot be called in a usual way; nothing is checked then.

    Example:
        >>> import ordinate
        >>> rope = ordinate.Rope(head_dim=16, layout="half")
        >>> report = check_rotary(rope)
        >>> report.broken
        ()
        >>> def turned(x, offset=0):  # cos and sin are exchanged
        ...     angle = (offset + torch.arange(x.shape[-2]))[:, None] * 10000.0 ** (-torch.arange(0, 16, 2) / 16)
        ...     a, b = x.chunk(2, -1)
        ...     return torch.cat((a * angle.sin() - b * angle.cos(), b * angle.sin() + a * angle.cos()), -1)
        >>> check_rotary(turned, head_dim=16).broken[0].said
        'cos and sin are exchanged'
    """
    subject = subject_of(
        fn, head_dim, base, layout, rotary_dim, inverse_frequencies, magnitude, tokens_first, dict(settings or {}), name
    )
    with torch.random.fork_rng():
        return Report(subject.name, tuple(_found(subject, formula)))


def assert_rotary(fn: Any, **expected: Any) -> None:
    """Raise what ``check_rotary`` finds.

    Args:
        fn: as there.
        **expected: as there.

    Raises:
        AssertionError: if a property is broken.

    Example:
        >>> import ordinate
        >>> assert_rotary(ordinate.Rope(head_dim=16, layout="half"), head_dim=16, layout="half")
    """
    check_rotary(fn, **expected).raise_if_broken()


def subject_of(
    fn: Any,
    head_dim: int | None,
    base: float | None,
    layout: Layout | None,
    rotary_dim: int | None,
    inverse_frequencies: Sequence[float] | None,
    magnitude: float,
    tokens_first: bool,
    settings: dict[str, Any],
    name: str | None,
) -> Subject:
    """Put what is checked into the one shape of all checks; see ``check_rotary``.

    Args:
        fn: what is checked.
        head_dim: entries of a head.
        base: that it should use.
        layout: that it should have.
        rotary_dim: entries that turn.
        inverse_frequencies: that it should use.
        magnitude: of cos and sin.
        tokens_first: whether it takes [B, T, H, D].
        settings: further arguments of a class.
        name: for the report.

    Returns:
        The subject.

    Raises:
        ValueError: if it cannot be called in a usual way.
    """
    if not isinstance(fn, type):
        head_dim = declared_size(fn, "head_dim") if head_dim is None else head_dim
        rotary_dim = declared_size(fn, "rotary_dim") if rotary_dim is None else rotary_dim
    width = HEAD_DIM if head_dim is None else head_dim
    inverse_frequencies = None if inverse_frequencies is None else _numbers(inverse_frequencies)
    _require_widths(width, width if rotary_dim is None else rotary_dim, inverse_frequencies)
    _require_numbers(base, magnitude, layout)
    declared, of_base = layout or declared_layout(fn), base
    make: Callable[..., Turn] | None = None
    if isinstance(fn, type):
        if layout is not None and "layout" in parameters_of(fn):
            settings = {"layout": layout, **settings}
        maker = maker_of(fn, settings)
        if rotary_dim is None and maker.rotary is not None:
            rotary_dim = width // 2  # there is a choice, so it is made
        of_base = base or (BASE if maker.base else None)
        made = _copied(maker(head_dim=width, base=of_base, rotary_dim=rotary_dim))
        declared, of_base = layout or declared_layout(made) or declared, of_base or declared_base(made)
        make, turn = _making(maker, rotary_dim), adapted(made, width)
    else:
        of_base = base or declared_base(fn)
        turn = sequence_first(fn) if tokens_first else _as_given(fn, width)
        make = _making_of(fn) if inspect.isfunction(fn) and not tokens_first else None
    form = Form(
        head_dim=width,
        rotary_dim=rotary_dim or width,
        base=of_base or BASE,
        layout=declared or "half",
        law="2i/d" if inverse_frequencies is None else "given",
        given=tuple(inverse_frequencies or ()),
        magnitude=magnitude,
    )
    return Subject(
        name=name or getattr(fn, "__qualname__", None) or type(fn).__name__,
        turn=turn,
        form=form,
        layout_declared=declared is not None,
        width_declared=rotary_dim is not None or inverse_frequencies is not None,
        make=make,
    )


def _numbers(given: Any) -> list[float]:
    try:
        found = [float(each) for each in given]
    except (TypeError, ValueError):
        raise ValueError(f"inverse_frequencies: needed a row of numbers, got {type(given).__name__}") from None
    if not all(math.isfinite(each) for each in found):
        raise ValueError(f"inverse_frequencies: needed finite numbers, got {found[:8]}")
    return found


def _require_numbers(base: Any, magnitude: Any, layout: Any) -> None:
    for name, value in (("base", base), ("magnitude", magnitude)):
        fits = isinstance(value, (int, float)) and math.isfinite(value) and value > 0
        if not fits and (name, value) != ("base", None):
            raise ValueError(f"{name}: needed a finite number > 0, got {value!r}")
    if layout not in (None, "half", "interleaved"):
        raise ValueError(f"layout: needed 'half' or 'interleaved', got {layout!r}")


def _require_widths(width: int, turned: int, frequencies: Sequence[float] | None) -> None:
    if not all(isinstance(each, int) for each in (width, turned)) or width > WIDEST:
        raise ValueError(f"head_dim, rotary_dim: needed whole numbers up to {WIDEST}, got {width!r} and {turned!r}")
    if width % 2 or turned % 2 or not 2 <= turned <= width:
        raise ValueError(f"head_dim, rotary_dim: needed even numbers with rotary_dim <= head_dim, got {width} and {turned}")
    if frequencies is not None and len(frequencies) != turned // 2:
        raise ValueError(f"inverse_frequencies: needed {turned // 2} for {turned} entries that turn, got {len(frequencies)}")


def _making(maker: Maker, rotary_dim: int | None) -> Callable[..., Turn]:
    def make(*, head_dim: int, base: float | None) -> Turn:
        if base is not None and maker.base is None:
            raise CannotAskError("the class takes no base")
        turned = None if rotary_dim is None else min(rotary_dim, head_dim)
        return adapted(maker(head_dim=head_dim, base=base, rotary_dim=turned), head_dim)

    return make


def _making_of(fn: Callable[..., Any]) -> Callable[..., Turn] | None:
    """The same function with another base, if it takes one."""
    name = next((each for each in BASES if each in parameters_of(fn)), None)
    if name is None:
        return None

    def make(*, head_dim: int, base: float | None) -> Turn:
        if base is None:
            raise CannotAskError("a function's width is that of its input")
        return adapted(functools.partial(fn, **{name: base}), head_dim)

    return make


def _copied(fn: Any) -> Any:
    try:
        return copy.deepcopy(fn)
    except Exception as fault:  # other people's code may raise anything
        raise ValueError(f"fn: needed something that can be copied, since copies are checked, got {told(fault)}") from None


def _as_given(fn: Any, width: int) -> Turn:
    if type(fn).__module__ == "ordinate.testing.rotary.adapters":
        return fn  # type: ignore[no-any-return]
    if not callable(fn):
        raise ValueError(f"fn: needed a function, a module, a class or an adapter, got {type(fn).__name__}")
    return adapted(_copied(fn), width)


def _found(subject: Subject, formula: bool) -> list[Finding]:
    """All findings; what the function raises where a value is needed is one, too."""
    try:
        maps = measured(subject)
    except (RaisedError, CannotAskError) as fault:
        return [_raised("formula", "layout-mismatch", fault, "13 tokens from position 0")]
    match, found = matched(subject, maps) if formula else None, []
    for name, kind, check in CHECKS:
        if name in ("formula", "keys turn as queries") and not formula:
            found.append(not_asked(name, "it is a rotation of another kind"))
            continue
        try:
            found += check(subject, maps, match)
        except CannotAskError as reason:
            found.append(not_asked(name, str(reason)))
        except RaisedError as fault:
            found.append(_raised(name, kind, fault, None))
    return found


def _raised(name: str, kind: str, fault: Exception, at: str | None) -> Finding:
    return broken(name, kind, "raises an error where it should give a value", smallest=at, expected="a value", actual=str(fault))
