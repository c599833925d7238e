"""What the controls choose, built: a sinusoidal encoding, a rotation under a rule, a scheme by name; and the call that makes it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

import torch

from ordinate import scaling
from ordinate.catalogue import build
from ordinate.schemes.rope import Rope

if TYPE_CHECKING:
    from ordinate.rotation import Layout

RuleName = Literal["none", "linear", "ntk", "dynamic", "yarn", "llama3"]
HEAD_DIM, TABLE = 64, 512
# DeBERTa's buckets widen beyond a quarter of this, within what the page shows.
NEAR = 128


def rope(
    *, head_width: int, base: float, layout: Layout = "half", rule: RuleName = "none", factor: float = 1.0, trained: int = 4096
) -> Rope:
    """Build a rotation.

    Args:
        head_width: width of a head.
        base: the 10000 of the paper.
        layout: which entries make a pair.
        rule: how it is stretched.
        factor: by how much.
        trained: length that the rule starts from.

    Returns:
        The scheme.

    Example:
        >>> rope(head_width=8, base=10000, rule="linear", factor=4.0).inverse_frequencies[0]
        0.25
    """
    made: scaling.Rule | None = None
    length = None
    match rule:
        case "linear":
            made = scaling.Linear(factor=factor)
        case "ntk":
            made = scaling.NTK(alpha=factor)
        case "dynamic":
            made, length = scaling.DynamicNTK(factor=factor, original_length=trained), round(factor * trained)
        case "yarn":
            made = scaling.YaRN(factor=factor, original_length=trained)
        case "llama3":
            made = scaling.Llama3(factor=factor, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=trained)
    return Rope(head_dim=head_width, layout=layout, base=float(base), scaling=made, length=length)


def named(scheme: str, *, heads: int) -> Any:
    """Build a scheme in its usual settings for heads of 64; tables hold the same random numbers every time.

    Args:
        scheme: as in ``SCHEMES``.
        heads: of a layer.

    Returns:
        An input scheme or one of the attention.

    Example:
        >>> named("alibi", heads=2)
        ALiBi(n_heads=2, slopes='paper')
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        parts = build(
            scheme, d_model=HEAD_DIM * heads, n_heads=heads, max_length=NEAR if scheme == "deberta" else TABLE, causal=False
        )
    return parts.input_scheme or parts.attention_scheme


def call(kind: str, **arguments: Any) -> str:
    """Write the call that makes a scheme or a rule, with what was chosen and nothing else.

    Args:
        kind: name of the class.
        arguments: what was chosen; None is left out.

    Returns:
        Python.

    Example:
        >>> call("Rope", head_dim=8, layout="half", scaling=None)
        "Rope(head_dim=8, layout='half')"
    """
    return f"{kind}({', '.join(f'{name}={value!r}' for name, value in arguments.items() if value is not None)})"


def stretched_call(scheme: Rope) -> str:
    """Write the call that makes a stretched rotation, without what the rule leaves as it usually is.

    Args:
        scheme: the rotation.

    Returns:
        Python.

    Example:
        >>> stretched_call(rope(head_width=8, base=1e4, rule="yarn", factor=4.0, trained=64))
        "Rope(head_dim=8, layout='half', base=10000.0, scaling=YaRN(factor=4.0, original_length=64))"
    """
    arguments = {"head_dim": scheme.head_dim, "layout": scheme.layout, "base": scheme.base}
    rule: Any = scheme.scaling
    if rule is None:
        return call("Rope", **arguments)
    needed = [field.name for field in dataclasses.fields(rule) if field.default is dataclasses.MISSING]
    made = call(type(rule).__name__, **{name: getattr(rule, name) for name in needed})
    length = "" if scheme.length is None else f", length={scheme.length}"
    return f"{call('Rope', **arguments).removesuffix(')')}, scaling={made}{length})"
