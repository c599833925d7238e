"""Checks of what a rotation remembers: earlier calls, other instances, casts, memory that was never filled."""

from __future__ import annotations

import copy

import torch

from ordinate.testing.attempts import RAISED, told
from ordinate.testing.findings import Finding, broken, holds, not_asked, smallest
from ordinate.testing.rotary.adapters import module_in
from ordinate.testing.rotary.forms import Form, changed, turning
from ordinate.testing.rotary.mistakes import Match
from ordinate.testing.rotary.subject import SEEN, CannotAskError, RaisedError, Subject, Turn, called, drawn

DERIVED = ("inv_freq", "freqs", "cos", "sin", "cos_cached", "sin_cached", "freqs_cis", "inverse_frequencies", "theta", "cache")
OTHER_BASE = 500000.0
CAST_AT = 4095


def history_findings(subject: Subject) -> list[Finding]:
    """Whether a call's result depends on the calls before it.

    Args:
        subject: under test.

    Returns:
        One finding.
    """
    name = "call history"
    histories = {
        "one token at position 0, then one at position 5": ([0], torch.float32, [5]),
        "3 tokens from 0, then 3 from 4": ([0, 1, 2], torch.float32, [4, 5, 6]),
        "100 tokens, then 3": (list(range(100)), torch.float32, [0, 1, 2]),
        "3 tokens, then 100": ([0, 1, 2], torch.float32, list(range(100))),
        "2 tokens in bfloat16, then 3 in float32": ([0, 1], torch.bfloat16, [0, 1, 2]),
        "300 tokens in bfloat16, then 300 in float32": (list(range(300)), torch.bfloat16, list(range(300))),
    }
    asked = 0
    for said, (before, dtype, after) in histories.items():
        fresh = copy.deepcopy(subject.turn)
        try:
            want = _turned(subject, fresh, after, torch.float32)
            used = copy.deepcopy(subject.turn)
            _turned(subject, used, before, dtype)
            got = _turned(subject, used, after, torch.float32)
        except (CannotAskError, RaisedError):
            continue
        asked += 1
        if not torch.equal(got, want):
            place = int((got - want).abs().flatten().argmax())
            return [
                broken(
                    name,
                    "cache-key-and-sharing",
                    "the same call gives something else after another one",
                    smallest=said,
                    expected=f"{want.flatten()[place].item():.6f}, as without the call before",
                    actual=f"{got.flatten()[place].item():.6f}",
                )
            ]
    return [holds(name, f"{asked} pairs of calls") if asked else not_asked(name, "none of the calls can be made")]


def sharing_findings(subject: Subject) -> list[Finding]:
    """Whether instances with other settings stay apart, and settings are used at all.

    Args:
        subject: under test.

    Returns:
        One finding, or two.
    """
    name = "settings of an instance"
    if subject.make is None:
        return [not_asked(name, "there is no class or make= to make another instance with")]
    width, own = subject.form.head_dim, subject.form.base
    if subject.form.rotary_dim == 2:
        return [not_asked(name, "the one pair of two entries turns alike with every base")]
    other = OTHER_BASE if own != OTHER_BASE else 10000.0
    try:
        first = subject.make(head_dim=width, base=own)
        before = _far(subject, first)
        second = subject.make(head_dim=width, base=other)
        there = _far(subject, second)
        after = _far(subject, subject.make(head_dim=width, base=own))
    except CannotAskError as reason:
        return [not_asked(name, str(reason))]
    if torch.equal(before, there):
        return [_ignored(subject, other, there)]
    if not torch.equal(before, after):
        said = f"an instance of base {own:g} changed when one of base {other:g} was made"
        return [broken(name, "cache-key-and-sharing", said, smallest=f"bases {own:g}, {other:g}, {own:g}, 12 tokens each")]
    return [_of_base(subject, there, other)]


def _of_base(subject: Subject, there: torch.Tensor, other: float) -> Finding:
    """The other base must give the other base's angles, too: a table shared by size would give the first one's."""
    name = "settings of an instance"
    for layout in ("half", "interleaved"):
        form = changed(subject.form, (("base", other), ("layout", layout)))
        if subject.form.law != "given" and _gap(there[0, 0, -1], _expected(form)) < 1e-3:
            return holds(name, f"bases {subject.form.base:g} and {other:g} side by side")
    return not_asked(
        name, f"base {other:g} gives other angles, but not those of the formula, which the finding of the formula says"
    )


def _ignored(subject: Subject, other: float, there: torch.Tensor) -> Finding:
    form = changed(subject.form, (("base", other),))
    place = int((there[0, 0, -1] - _expected(form)).abs().argmax())
    return broken(
        "settings of an instance",
        "config-key-dropped",
        f"the base is ignored: {subject.form.base:g} and {other:g} turn alike",
        smallest=f"base {other:g}, position {SEEN - 1}, entry {place} of the result",
        expected=f"{_expected(form)[place].item():.6f}",
        actual=f"{there[0, 0, -1, place].item():.6f}",
        remedy="use the base that was given; if tables are kept, keep them by base, too",
    )


def width_findings(subject: Subject, match: Match | None) -> list[Finding]:
    """Whether other widths work, down to one pair.

    Args:
        subject: under test.
        match: of the form; where it is no rotation, norms say nothing.

    Returns:
        One finding.
    """
    name, x = "other widths", {width: drawn(1, 1, 2, width) for width in (2, 4, 6)}
    if subject.make is None:
        return [not_asked(name, "there is no class to make another instance with")]

    def fails(width: int) -> bool:
        assert subject.make is not None
        try:
            got = called(subject.make(head_dim=width, base=None), x[width], x[width].clone(), torch.arange(2))[0]
        except CannotAskError:
            raise
        except RAISED as fault:
            said[width] = str(fault) if isinstance(fault, RaisedError) else told(fault)
            return True
        gap = (got.detach().norm(dim=-1) - x[width].norm(dim=-1)).abs().max().item()
        said[width] = f"norms change by {gap:.3g}"
        right = match is not None and not match.mistakes and match.rounding is None
        return not gap < 1e-3 and right and subject.form.magnitude == 1.0

    said: dict[int, str] = {}
    try:
        width = smallest(x, fails)
    except CannotAskError as reason:
        return [not_asked(name, str(reason))]
    if width is None:
        return [holds(name, "2, 4 and 6")]
    text = f"a width of {width} does not work"
    return [broken(name, "fused-kernel-shape", text, smallest=f"head_dim {width}", expected="a rotation", actual=said[width][:200])]


def cast_findings(subject: Subject, match: Match | None) -> list[Finding]:
    """Whether angles survive ``.to(bfloat16)`` of the whole module.

    Args:
        subject: under test.
        match: of the form.

    Returns:
        One finding.
    """
    name = "module.to(bfloat16)"
    turn = copy.deepcopy(subject.turn)
    module = module_in(turn)
    if module is None:
        return [not_asked(name, "it is no module")]
    if match is None:
        return [not_asked(name, "the function follows no known formula")]
    if match.rounding is not None:
        return [not_asked(name, f"{match.rounding} without a cast, too")]
    try:
        as_it_is = _last_of(copy.deepcopy(subject.turn), drawn(match.form.head_dim), CAST_AT)
    except (CannotAskError, RaisedError) as fault:
        return [not_asked(name, f"position {CAST_AT} cannot be asked: {fault}")]
    if not (as_it_is - torch.tensor(turning(match.form, CAST_AT) @ drawn(match.form.head_dim).double().numpy())).abs().max() < 1e-2:
        return [not_asked(name, f"position {CAST_AT} is turned wrongly without a cast, too")]
    module.to(torch.bfloat16)
    form = match.form
    x = drawn(form.head_dim, dtype=torch.bfloat16)
    try:
        got = _last_of(turn, x, CAST_AT)
    except (CannotAskError, RaisedError) as fault:
        return [not_asked(name, f"position {CAST_AT} cannot be asked: {fault}")]
    want = torch.tensor(turning(form, CAST_AT) @ x.double().numpy())
    gap = (got - want).abs()
    if gap.max() < 0.05 * x.double().abs().max():
        return [holds(name, f"angles at {CAST_AT} are those of the formula, up to the rounding of bfloat16")]
    place = int(gap.argmax())
    return [
        broken(
            name,
            "low-precision-phase",
            "a cast of the whole module reaches frequencies or tables",
            smallest=f"module.to(bfloat16), position {CAST_AT}, entry {place} of the result",
            expected=f"{want[place].item():.4f}",
            actual=f"{got[place].item():.4f}",
            remedy="keep frequencies out of the module's buffers, or make them again in float32 in every forward",
        )
    ]


def stored_findings(subject: Subject) -> list[Finding]:
    """Whether numbers that follow from the settings are in the state dict, and survive memory that was never filled.

    Args:
        subject: under test.

    Returns:
        Two findings.
    """
    names = ("state dict", "meta and to_empty")
    module = module_in(subject.turn)
    if module is None:
        return [not_asked(name, "it is no module") for name in names]
    return [_stored(module), _emptied(subject)]


def _stored(module: torch.nn.Module) -> Finding:
    held = [name for name in module.state_dict() if name.split(".")[-1].strip("_") in DERIVED]
    if not held:
        return holds("state dict", "no derived numbers in it")
    return broken(
        "state dict",
        "derived-keys-in-checkpoint",
        f"{', '.join(held)} stands in the state dict, though it follows from the settings",
        smallest="module.state_dict()",
        expected="learned weights alone",
        actual=", ".join(f"{name} {list(module.state_dict()[name].shape)}" for name in held),
        remedy="register_buffer(..., persistent=False); learned frequencies are a Parameter with requires_grad",
    )


def _emptied(subject: Subject) -> Finding:
    name = "meta and to_empty"
    turn = copy.deepcopy(subject.turn)
    module = module_in(turn)
    assert module is not None
    if next(module.buffers(), None) is None:
        return holds(name, "there are no buffers to lose")
    want = _turned(subject, copy.deepcopy(subject.turn), [0, 1, 2, 3], torch.float32)
    state = {key: value.clone() for key, value in module.state_dict().items()}
    module.to_empty(device="cpu")
    for buffer in module.buffers():
        if buffer.is_floating_point() or buffer.is_complex():
            buffer.fill_(float("nan"))
    module.load_state_dict(state, strict=False)
    for remake in ("reset_parameters", "rope_init"):
        if callable(method := getattr(module, remake, None)):
            method()
    try:
        got = _turned(subject, turn, [0, 1, 2, 3], torch.float32)
    except RaisedError as fault:
        return holds(name, f"refused: {fault}")
    if torch.equal(got, want):
        return holds(name, "buffers are made again")
    lost = ", ".join(key for key, _ in module.named_buffers())
    place = int((got - want).abs().flatten().nan_to_num(float("inf")).argmax())
    return broken(
        name,
        "derived-buffer-uninit",
        f"{lost} keeps what the memory held: nothing makes it again",
        smallest="module.to_empty(device='cpu'), memory filled with NaN, load_state_dict, one call",
        expected=f"{want.flatten()[place].item():.6f}",
        actual=f"{got.flatten()[place].item():.6f}",
        remedy="work frequencies out in forward, or give the module a reset_parameters() that makes them again",
    )


def _turned(subject: Subject, turn: Turn, positions: list[int], dtype: torch.dtype) -> torch.Tensor:
    x = drawn(1, 1, len(positions), subject.form.head_dim).to(dtype)
    return called(turn, x, x.clone(), torch.tensor(positions))[0].detach().double()


def _far(subject: Subject, turn: Turn) -> torch.Tensor:
    return _turned(subject, turn, list(range(SEEN)), torch.float32)


def _expected(form: Form) -> torch.Tensor:
    x = drawn(1, 1, SEEN, form.head_dim)[0, 0, -1].double().numpy()
    return torch.tensor(turning(form, SEEN - 1) @ x)


def _last_of(turn: Turn, x: torch.Tensor, position: int) -> torch.Tensor:
    whole = x.expand(1, 1, position + 1, len(x)).clone()
    return called(turn, whole, whole.clone(), torch.arange(position + 1))[0][0, 0, -1].detach().double()


def _gap(first: torch.Tensor, second: torch.Tensor) -> float:
    return (first - second).abs().max().item()
