"""One entry to the definitions in ``ordinate.reference``: float64 functions for every scheme and convention."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from ordinate import reference
from ordinate.testing.comparing import Array

Oracle = Callable[..., Any]
Frequencies = Callable[..., Sequence[float]]


def oracle(scheme: str, **settings: Any) -> Oracle:
    """Give a scheme's definition as a function, in plain float64 loops that share no code with any fast form.

    Args:
        scheme: a key of ``SCHEMES``: "rope", "axial_rope", "multimodal_rope", "entrywise_rope", "sinusoidal", "learned", "alibi",
            "alibi_slopes", "t5", "t5_bucket", "shaw", "shaw_values", "deberta", "deberta_bucket", "transformer_xl" or "attention".
        settings: what is fixed: arguments of the function of that name in ``ordinate.reference``. "rope" also takes
            rule= (a key of ``RULES``) with the rule's arguments, and magnitude=; "alibi" takes n_heads= and rule=, or slopes=.

    Returns:
        The function of what is left: (x [T, D], positions) for rotations, (positions) for "sinusoidal" and "learned",
        (q_positions, k_positions) for "alibi" and "t5", (q, q_positions, k_positions) for "shaw",
        (q, k, q_positions, k_positions) for "deberta" and "transformer_xl". Tensors and lists are taken as they come.

    Raises:
        ValueError: for an unknown scheme, rule or setting; the known ones are listed.

    Example:
        >>> oracle("rope", layout="half")([[1, 2, 3, 4]], [1]).round(6).tolist()
        [[-1.984111, 1.959901, 2.462378, 4.0198]]
        >>> oracle("alibi", n_heads=3, rule="authors")([4], range(5))[2].tolist()
        [[-1.0, -0.75, -0.5, -0.25, -0.0]]
        >>> yarn = {"factor": 4.0, "original_length": 512, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}
        >>> oracle("rope", layout="half", rule="yarn", **yarn)([[1, 0, 0, 0]], [0]).round(6).tolist()
        [[1.138629, 0.0, 0.0, 0.0]]
        >>> oracle("rop")
        Traceback (most recent call last):
        ValueError: scheme: needed one of rope, axial_rope, ...
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme: needed one of {', '.join(SCHEMES)}, got {scheme!r}")
    if scheme == "rope":
        return _of_numbers(_rope(**settings))
    if scheme == "alibi" and "slopes" not in settings:
        rule = _fixed("alibi_slopes", reference.alibi_slopes, settings)
        return _of_numbers(partial(reference.alibi, slopes=rule()))
    return _of_numbers(_fixed(scheme, SCHEMES[scheme], settings))


def _fixed(name: str, function: Oracle, settings: dict[str, Any]) -> Oracle:
    """Fix some arguments of a function, and refuse others by name."""
    known = inspect.signature(function).parameters
    unknown = [setting for setting in settings if setting not in known]
    if unknown:
        raise ValueError(f"{name}: needed settings among {', '.join(known)}, got {', '.join(unknown)}")
    return partial(function, **{setting: _numbers(value) for setting, value in settings.items()})


def _rope(*, rule: str | None = None, magnitude: float | None = None, **settings: Any) -> Oracle:
    """RoPE with its frequencies given, or made by a rule."""
    if rule is not None and rule not in RULES:
        raise ValueError(f"rule: needed one of {', '.join(RULES)}, got {rule!r}")
    own = {name: settings.pop(name) for name in tuple(settings) if name not in inspect.signature(reference.rope).parameters}
    if own and rule is None:
        known = ", ".join((*inspect.signature(reference.rope).parameters, "rule", "magnitude"))
        raise ValueError(f"rope: needed settings among {known}, got {', '.join(own)}")
    turn = _fixed("rope", reference.rope, settings)
    made = None if rule is None else _fixed(rule, RULES[rule], {"base": settings.get("base", 10000.0), **own})
    scale = _magnitude(rule, own) if magnitude is None else magnitude

    def rotated(x: Array, positions: Sequence[float]) -> Array:
        start = settings.get("rotary_start", 0)
        width = settings.get("rotary_dim") or x.shape[1] - start
        out: Array = turn(x, positions) if made is None else turn(x, positions, inverse_frequencies=made(width=width))
        out[:, start : start + width] *= scale
        return out

    return rotated


def _magnitude(rule: str | None, settings: dict[str, Any]) -> float:
    """The magnitude of cos and sin that a rule has by default."""
    if rule == "yarn":
        return reference.yarn_magnitude(settings["factor"])
    return 1.0


def _linear(base: float, width: int, factor: float) -> list[float]:
    return [frequency / factor for frequency in reference.rope_frequencies(base, width)]


def _ntk(base: float, width: int, ratio: float) -> list[float]:
    return reference.rope_frequencies(reference.ntk_base(base, width, ratio), width)


def _dynamic_ntk(base: float, width: int, factor: float, original_length: int, length: int) -> list[float]:
    ratio = factor * max(length, original_length) / original_length - (factor - 1)
    return _ntk(base, width, ratio)


RULES: dict[str, Frequencies] = {
    "linear": _linear,
    "ntk": _ntk,
    "dynamic_ntk": _dynamic_ntk,
    "yarn": reference.yarn,
    "longrope": reference.longrope,
    "llama3": reference.llama3,
    "proportional": reference.proportional,
}
SCHEMES: dict[str, Oracle] = {
    "rope": reference.rope,
    "axial_rope": reference.axial_rope,
    "multimodal_rope": reference.multimodal_rope,
    "entrywise_rope": reference.entrywise_rope,
    "sinusoidal": reference.sinusoidal,
    "learned": reference.learned,
    "alibi": reference.alibi,
    "alibi_slopes": reference.alibi_slopes,
    "t5": reference.t5,
    "t5_bucket": reference.t5_bucket,
    "shaw": reference.shaw,
    "shaw_values": reference.shaw_values,
    "deberta": reference.deberta,
    "deberta_bucket": reference.deberta_bucket,
    "transformer_xl": reference.transformer_xl,
    "attention": reference.attention,
}


def _of_numbers(function: Oracle) -> Oracle:
    return lambda *given, **named: function(*map(_numbers, given), **{name: _numbers(value) for name, value in named.items()})


def _numbers(value: Any) -> Any:
    """Positions as Python numbers, vectors as float64 arrays, the rest as it is."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().double().numpy() if value.is_floating_point() else value.cpu().numpy()
    if isinstance(value, np.ndarray):
        whole = value.dtype.kind in "iub"
        return value.tolist() if whole and value.ndim < 2 else value if value.dtype.kind == "b" else value.astype(np.float64)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple)):
        return np.array(value, dtype=np.float64)
    return value
