"""One check for all biases of attention scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from ordinate.testing.biases.of_schemes import check_alibi, check_deberta, check_shaw, check_t5
from ordinate.testing.biases.slopes import Slopes
from ordinate.testing.classes import HEADS, made, subject
from ordinate.testing.findings import Report

BiasScheme = Literal["alibi", "t5", "shaw", "deberta"]
CHECKS: dict[str, tuple[Callable[..., Report], tuple[str, ...]]] = {
    "alibi": (check_alibi, ("slopes", "log_sum_exp", "make")),
    "t5": (check_t5, ("n_buckets", "max_distance", "table")),
    "shaw": (check_shaw, ("max_distance", "table")),
    "deberta": (check_deberta, ("buckets", "max_distance", "table")),
}


def check_bias(
    fn: Any,
    *,
    scheme: BiasScheme | None = None,
    causal: bool | None = None,
    n_heads: int | None = None,
    slopes: Slopes | None = None,
    log_sum_exp: bool | None = None,
    n_buckets: int | None = None,
    max_distance: int | None = None,
    table: Any = None,
    make: Callable[[int], Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Report:
    """Check a bias of attention scores against the published definition of its scheme.

    Args:
        fn: fn(q_positions, k_positions) -> [H, Q, K] for int64 positions [Q] and [K]; other signatures go through an adapter, most
            of them by themselves (``adapted``); or a class of such objects, with the usual arguments.
        scheme: "alibi", "t5", "shaw" or "deberta"; by the name if None.
        causal: whether keys after a query are hidden.
        n_heads: how many heads.
        slopes: as ``check_alibi``.
        log_sum_exp: as ``check_alibi``.
        n_buckets: as ``check_t5``; ``buckets`` of ``check_deberta``.
        max_distance: as ``check_t5``, ``check_shaw`` or ``check_deberta``.
        table: as ``check_t5``, ``check_shaw`` or ``check_deberta``.
        make: as ``check_alibi``; a class makes its own.
        settings: further arguments of a class.
        name: for the report.

    Returns:
        A finding for each property.

    Raises:
        ValueError: for an unknown scheme, a setting that it does not have, or a function that does not fit.

    Example:
        >>> import torch
        >>> def bias(q_positions, k_positions):
        ...     slopes = torch.tensor([1 / 16, 1 / 256]).view(2, 1, 1)
        ...     return slopes * (q_positions[:, None] - k_positions[None, :])
        >>> print(check_bias(bias, scheme="alibi", n_heads=2, causal=True).broken[0])
        BROKEN  distances: the sign is wrong: the bias grows with the distance [ORD502 alibi-geometry]
                input    queries at [0, 1], keys at [0, 1]
                expected [[[0, 0], [-0.0625, 0]], [[0, 0], [-0.00390625, 0]]]
                actual   [[[0, 0], [0.0625, 0]], [[0, 0], [0.00390625, 0]]]
                remedy   bias = -slope (query - key): keys that are farther away get less
    """
    title = subject(fn, name)
    kind = scheme or scheme_of(f"{title} {subject(fn, None)}")
    if kind not in CHECKS:
        raise ValueError(f"scheme: needed one of {', '.join(CHECKS)}, got {kind!r}")
    if causal is None:
        raise ValueError("causal: needed True (keys after a query are hidden) or False, got None")
    check, known = CHECKS[kind]
    buckets = "buckets" if kind == "deberta" else "n_buckets"
    own = {
        "slopes": slopes,
        "log_sum_exp": log_sum_exp,
        buckets: n_buckets,
        "max_distance": max_distance,
        "table": table,
        "make": make,
    }
    given = {key: value for key, value in own.items() if value is not None}
    if foreign := [key for key in given if key not in known]:
        raise ValueError(f"{kind}: needed some of {', '.join(known)}, got {', '.join(foreign)}")
    if n_heads is None and kind == "alibi":
        raise ValueError("n_heads: needed the number of heads, got None")

    def one(heads: int | None) -> Any:
        ways = {("bidirectional", "two_way"): not causal, ("causal", "is_causal"): causal, ("slopes",): slopes}
        sizes = {("n_buckets", "num_buckets", "buckets"): n_buckets, ("max_distance",): max_distance}
        return made(fn, {HEADS: heads, **ways, **sizes}, settings or {})

    if isinstance(fn, type) and "make" in known and isinstance(slopes or "authors", str):
        given.setdefault("make", one)
    found = check(one(n_heads), n_heads=n_heads, causal=causal, **given)
    return Report(title, found.findings)


def scheme_of(name: str) -> str:
    """Tell a scheme by what a function is called.

    Args:
        name: of the function.

    Returns:
        "alibi", "t5", "shaw" or "deberta".

    Raises:
        ValueError: if the name does not say it.

    Example:
        >>> scheme_of("build_alibi_tensor"), scheme_of("_relative_position_bucket")
        ('alibi', 't5')
    """
    for scheme, words in (("alibi", "alibi|slope"), ("deberta", "deberta|log_bucket"), ("t5", "t5|bucket"), ("shaw", "shaw|clip")):
        if re.search(words, name, re.IGNORECASE):
            return scheme
    raise ValueError(f"scheme: needed one of {', '.join(CHECKS)}, for the name {name!r} does not say it")


def assert_bias(fn: Any, **expected: Any) -> None:
    """Raise what ``check_bias`` finds.

    Args:
        fn: as there.
        **expected: as there.

    Raises:
        AssertionError: if a property is broken.

    Example:
        >>> from ordinate import T5Bias
        >>> assert_bias(T5Bias(n_heads=1, bidirectional=True).buckets, scheme="t5", causal=False)
    """
    check_bias(fn, **expected).raise_if_broken()
