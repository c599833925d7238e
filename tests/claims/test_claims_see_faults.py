"""Faults planted in the library: for each, claims that are then not as recorded. Whoever reads the ledger would see them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ordinate import formula, visibility, weighing
from ordinate.attention import choosing
from ordinate.claims import find, settle
from ordinate.positions import as_tensor
from ordinate.scaling import Linear, YaRN, ntk
from ordinate.schemes import Deberta, Learned, Rope, T5Bias, alibi, rope, shaw, t5

Patch = pytest.MonkeyPatch
OTHER = {"half": "interleaved", "interleaved": "half"}


def _instead(owner: Any, name: str, make: Callable[[Any], Any]) -> Callable[[Patch], None]:
    """Put in place of something what is made of it."""
    return lambda patch: patch.setattr(owner, name, make(getattr(owner, name)))


def _given(kind: type, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Patch], None]:
    """Make a scheme with other arguments than it was given."""

    def make(init: Any) -> Any:
        return functools.wraps(init)(lambda self, **given: init(self, **{**given, **change(given)}))

    return _instead(kind, "__init__", make)


def _frozen(init: Any) -> Any:
    def make(self: Learned, **given: Any) -> None:
        init(self, **given)
        self.requires_grad_(False)

    return make


def _sees_as_if_at(steps: int) -> Callable[[Any], Any]:
    """Causal order for a query that many places later."""

    def make(visible: Any) -> Any:
        def wrong(sight: visibility.Sight, device: torch.device) -> Any:
            queries, keys = sight.order
            return visible(sight._replace(order=(as_tensor(queries, device) + steps, keys)), device)

        return wrong

    return make


def _hides_nothing(patch: Patch) -> None:
    for user in (weighing, choosing):
        patch.setattr(user, "hides", lambda _: "nothing")


ROPE = {
    "other pairs": (_given(Rope, lambda given: {"layout": OTHER[given["layout"]]}), ("rope-pairs",)),
    "other way": (_given(Rope, lambda _: {"sign": -1}), ("rope-pairs",)),
    "root of the base": (
        _instead(rope, "frequencies_of", lambda of: lambda base, *rest: of(base**0.5, *rest)),
        ("rope-pairs",),
    ),
    "other pairs, by operators": (
        _instead(formula, "_turn", lambda turn: lambda x, cos, sin, layout, parts: turn(x, cos, sin, OTHER[layout], parts)),
        ("rope-pairs",),
    ),
    "other way, by operators": (
        _instead(formula, "_turn", lambda turn: lambda x, cos, sin, layout, parts: turn(x, cos, -sin, layout, parts)),
        ("rope-pairs",),
    ),
}
SCALING = {
    "NTK's exponent": (
        _instead(ntk, "enlarged", lambda _: lambda base, ratio, width: base * ratio ** (width / (width + 2))),
        ("larger-base-stretches",),
    ),
    "Linear multiplies": (
        _instead(Linear, "scale", lambda _: lambda self, periods, **_: (self.factor / periods, 1.0, 1.0)),
        ("larger-base-stretches",),
    ),
    "YaRN's magnitude": (_instead(YaRN, "_magnitude", lambda _: lambda _self: 1.0), ("larger-base-stretches",)),
}
BIASES = {
    "T5 off by one": (
        _instead(torch, "bucketize", lambda count: lambda x, borders, right=False: count(x, borders)),  # noqa: ARG005
        ("t5-buckets",),
    ),
    "T5's future is the past": (
        _instead(T5Bias, "buckets", lambda rows: lambda self, distance: rows(self, -distance)),
        ("t5-buckets",),
    ),
    "T5's farthest ten times farther": (
        _instead(t5, "bucket_borders", lambda borders: lambda n, farthest, both: borders(n, 10 * farthest, both)),
        ("t5-buckets",),
    ),
    "T5 in one bucket": (
        _instead(T5Bias, "buckets", lambda rows: lambda self, distance: 0 * rows(self, distance)),
        ("t5-buckets", "row-relative"),
    ),
    "ALiBi's slopes, half the exponent": (
        _instead(alibi, "slopes_of", lambda _: lambda n, _rule: tuple(2.0 ** (-4.0 * h / n) for h in range(1, n + 1))),
        ("alibi-penalty", "alibi-shift"),
    ),
    "ALiBi's slopes equal": (
        _instead(alibi, "slopes_of", lambda _: lambda n, _rule: (0.5,) * n),
        ("alibi-penalty", "alibi-shift"),
    ),
    "DeBERTa's sign": (
        _instead(Deberta, "rows", lambda rows: lambda self, distance: rows(self, -distance)),
        ("deberta-bias",),
    ),
    "Shaw's sign": (
        _instead(shaw, "relative_rows", lambda rows: lambda distance, *ends: rows(-distance, *ends)),
        ("papers",),
    ),
}
OTHERS = {
    "a table clamps": (_given(Learned, lambda _: {"overflow": "clamp"}), ("wrap-around",)),
    "a table is not trained": (_instead(Learned, "__init__", _frozen), ("table-parameters",)),
    "one later key is seen": (_instead(weighing, "visible_keys", _sees_as_if_at(1)), ("causal-mask",)),
    "a token does not see itself": (_instead(weighing, "visible_keys", _sees_as_if_at(-1)), ("causal-mask",)),
    "nothing is hidden": (_hides_nothing, ("causal-mask",)),
}
FAULTS = ROPE | SCALING | BIASES | OTHERS


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_library_is_seen(fault: str, monkeypatch: Patch) -> None:
    plant, names = FAULTS[fault]
    assert all(settle(find(name)).as_recorded for name in names)
    with monkeypatch.context() as patch:
        plant(patch)
        found = {name: settle(find(name)).as_recorded for name in names}
    assert not any(found.values()), found
