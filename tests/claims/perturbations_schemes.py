"""Wrong formulas for the claims about tables, relative biases, rotations, their comparison and their limits."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from perturbations_words import with_losses
from torch import nn

from ordinate import catalogue, reference
from ordinate.claims import library
from ordinate.claims.attributions import scheme_sources
from ordinate.claims.learned_tables import BERT_BASE, GPT2, read_plan
from ordinate.claims.rotary_models import BEYOND
from ordinate.schemes import ALiBi, Learned, Shaw

FLAT, HIGH = (0.0, 0.0, 0.0, 0.0), (9.0, 9.0, 9.0, 9.0)


def _rows(name: str, **changes: Any) -> Any:
    """The table of schemes with one row changed."""
    return lambda: [dataclasses.replace(row, **changes) if row.name == name else row for row in catalogue.schemes_table()]


def _half_exponent(x: Any, positions: Any, layout: str) -> Any:
    width = x.shape[1]
    return reference.rope(x, positions, layout, inverse_frequencies=[10000 ** (-i / width) for i in range(width // 2)])


def _squared_places(x: Any, positions: Any, layout: str) -> Any:
    return reference.rope(x, [0.01 * position**2 for position in positions], layout)


def _other_layout(x: Any, positions: Any, layout: str) -> Any:
    return reference.rope(x, positions, "half" if layout == "interleaved" else "interleaved")


def _not_turned(x: Any, positions: Any, layout: str) -> Any:  # noqa: ARG001
    return x


def _other_way(x: Any, positions: Any, layout: str) -> Any:
    return reference.rope(x, [-position for position in positions], layout)


def _equal_buckets(distance: int, *_: Any) -> int:
    return min(abs(distance) // 8, 15)


def _narrowing_buckets(distance: int, *_: Any) -> int:
    return min(distance**2 // 100, 15)


def _wrong_side(*arguments: Any) -> Any:
    return -reference.alibi(*arguments)


def _past_only(queries: Any, keys: Any, slopes: Any) -> Any:
    return np.tril(reference.alibi(queries, keys, slopes))


def _squared(*arguments: Any) -> Any:
    return -(reference.alibi(*arguments) ** 2)


def _at_the_input(name: str, **sizes: Any) -> Any:  # noqa: ARG001
    return catalogue.build("sinusoidal", **sizes)


def _beside(token: Any, position: Any) -> Any:
    return np.concatenate((token, position), axis=1)


def _other_sources(**changes: str) -> dict[str, str]:
    return {**scheme_sources(), **changes}


def _bert(_: Any) -> Any:
    return read_plan(BERT_BASE)


PERTURBED_SCHEMES: dict[str, list[dict[str, Any]]] = {
    "published-lengths": [
        {"read": lambda _: read_plan(GPT2)},
        {"read": lambda _: read_plan({**BERT_BASE, "max_position_embeddings": 128})},
    ],
    "table-parameters": [
        {"make": lambda n, d: Learned(max_length=n, d_model=d, padding_offset=2)},
        {"make": lambda n, d: Learned(max_length=n, d_model=d).requires_grad_(False)},
    ],
    "bert-base-parameters": [{"config": {**BERT_BASE, "hidden_size": 1024, "num_attention_heads": 16}}, {"config": GPT2}],
    "no-row-beyond": [{"overflow": "clamp"}, {"overflow": "wrap"}],
    "wrap-around": [
        {"places": lambda order: order},
        {"places": lambda order: order.clamp(max=31)},
        {"look_up": lambda table, places: table[np.minimum(places, 31)]},
    ],
    "learned-as-good-as-sinusoids": [
        {"results": with_losses(FLAT, "learned", "sinusoidal")},
        {"results": with_losses(HIGH, "learned", tasks=("text",))},
        {"results": with_losses(FLAT, "sinusoidal", tasks=("last",))},
    ],
    "t5-buckets": [
        {"bucket": _equal_buckets},
        {"bucket": _narrowing_buckets},
        {"read": lambda distances, _: [_equal_buckets(distance) for distance in distances]},
        {"read": lambda distances, both: library.t5_rows(range(-distances.start, -distances.stop, -distances.step), both)},
        # as wrong as the rule it is held against: the widths alone tell
        {"bucket": _equal_buckets, "read": lambda distances, _: [_equal_buckets(distance) for distance in distances]},
    ],
    "relative-bias-parameters": [{"count": lambda n: n * n}, {"count": lambda _: 2048}],
    "alibi-penalty": [
        *({"bias": bias} for bias in (_wrong_side, _past_only, _squared)),
        {"ours": lambda places, n_heads: library.alibi(places, 2 * n_heads)[:n_heads]},
        {"ours": lambda places, n_heads: -library.alibi(places, n_heads)},
    ],
    "no-input-vector": [{"build": _at_the_input}],
    "relative-bias-extrapolates": [
        {"results": with_losses(FLAT, "t5")},
        {"results": with_losses((0.0, 1.0, 2.0, 3.0), "alibi")},
    ],
    "rope-pairs": [
        changed
        for turn in (_half_exponent, _squared_places, _other_layout, _not_turned, _other_way)
        for changed in ({"turn": turn}, {"ropes": (turn,)})
    ],
    "rope-depends-on-difference": [{name: turn} for turn in (_squared_places, _not_turned) for name in ("turn", "rope")],
    "rope-shift-built-in": [{"turn": _squared_places}, {"rope": _squared_places}],
    "rope-shift-exact": [{"phases": ("exact", "exact")}, {"phases": ("float32", "float32")}, {"turn": _squared_places}],
    "rope-has-no-parameters": [
        {"make": lambda: nn.Linear(2, 2)},
        {"make": lambda: Shaw(head_dim=8, max_distance=2, values=False)},
    ],
    "llama-uses-rope": [{"read": _bert}],
    "larger-base-stretches": [
        {"enlarge": lambda base, *_: base},
        {"enlarge": lambda base, _, times: base * times},
        {"enlarge": lambda base, width, times: base * times ** (-width / (width - 2))},
        {"losses": {**BEYOND, "ntk": BEYOND["native"]}},
        {"stretch": lambda _, old, *rest: library.stretched("linear", old, *rest)},
        {"stretch": lambda rule, *given: (library.stretched(rule, *given)[0], 1.0)},
    ],
    "rope-in-decoders": [{"read": _bert}],
    "row-sinusoidal": [{"rows": _rows("sinusoidal", applied="scores")}, {"rows": _rows("sinusoidal", count=512)}],
    "row-learned": [{"rows": _rows("learned", applied="scores")}, {"rows": _rows("learned", count=512)}],
    "row-relative": [
        {"rows": _rows("t5", applied="input")},
        {"rows": _rows("alibi", applied="queries and keys")},
        {"schemes": (ALiBi(n_heads=4, slopes="paper"), ALiBi(n_heads=4, slopes=(0.0, 0.0, 0.0, 0.0)))},
    ],
    "row-rope": [
        {"rows": _rows("rope", applied="input")},
        {"rows": _rows("rope", count=32)},
        {"results": with_losses(FLAT, "rope")},
    ],
    "cost-of-order": [{"rows": _rows("learned", count=10)}, {"rows": _rows("t5", count=10**6)}],
    "absolute-do-not-extrapolate": [
        {"results": with_losses(FLAT, "sinusoidal", tasks=(task,))} for task in ("text", "shift", "last")
    ],
    "added-signals-compete": [{"join": _beside}],
    "best-scheme-is-open": [{"results": with_losses(FLAT, "alibi")}],
    "indices-not-structure": [{"schemes": (Shaw(head_dim=8, max_distance=2, values=False), ALiBi(n_heads=2, slopes="paper"))}],
    "scheme-decides": [
        {"results": with_losses(FLAT, "nope", "sinusoidal", "learned", "shaw", "t5", "deberta", "alibi", "rope")},
    ],
    "papers": [
        {"sources": _other_sources(rope="Vaswani et al. 2017")},
        {"sources": _other_sources(shaw="Shaw 2020")},
        {"relative": lambda q, table: library.shaw(q, table[::-1].copy())},
    ],
    "tables-before-transformers": [{"sources": _other_sources(learned="Devlin et al. 2018")}],
}
