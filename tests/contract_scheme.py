"""Checks of the contract that look at a scheme's own numbers: oracles, history, neighbours, shapes, dropout, state."""

from __future__ import annotations

import copy
import inspect
import io
import itertools
import pickle
from typing import Any

import torch

import ordinate
from cases import Case
from contract_oracles import expected_acts, expected_layer
from contract_tools import (
    PER_ROW,
    SHUFFLED,
    acts,
    attend,
    differ,
    draw,
    identical,
    is_input,
    layer,
    near,
    tables,
    tokens,
)

# Rows read through int32 and int64, one row for all, one a batch row, rising and falling ranges.
POSITIONS: dict[str, Any] = {
    "shuffled": torch.tensor(SHUFFLED),
    "int32": torch.tensor(SHUFFLED, dtype=torch.int32),
    "one row": torch.tensor([SHUFFLED]).expand(2, -1),
    "per row": torch.tensor(PER_ROW),
    "range": range(4, 11),
    "falling": range(12, -1, -2),
}


def rebuilt(scheme: Any, **changes: Any) -> Any:
    """The same scheme with some constructor arguments changed."""
    names = inspect.signature(type(scheme)).parameters
    given = {name: getattr(scheme, name) for name in names if name != "inverse_frequencies"}
    return type(scheme)(**{**given, **changes})


def scheme_oracle(case: Case) -> None:
    """What the scheme adds or turns equals its definition at shuffled, per-row, negative and fractional positions."""
    given = dict(POSITIONS)
    if case.lowest < 0:
        given["negative"] = torch.tensor([-9, 4, 0, -1, 30, 2, -30])
    if case.fractional:
        given["fractional"] = torch.tensor([0.5, 3.25, -2.0, 7.75, 1e-3, 11.0, 6.125], dtype=torch.float64)
    for (name, positions), dtype in itertools.product(given.items(), (torch.float32, torch.float64)):
        for got, want in zip(acts(case, case.make(), positions, dtype), expected_acts(case, positions, dtype), strict=True):
            # float32: one rounding of numbers up to 8 (biases: 40). float64: a few; angles up to 30 lose 30 ulp.
            loose = 2e-7 if case.phase_error else 5e-14
            bound = loose * 40 if got.dtype == torch.float64 else max(2.0**-23 * want.abs().max().item(), 2e-6)
            near(got, want, bound, f"{name}, {dtype}")


def layer_oracle(case: Case) -> None:
    """Attention with the scheme equals its definition: causal or not, windows, documents, masks, grouped heads."""
    x = tokens(case)
    mask = torch.tensor([[1, 1, 0, 1, 1, 0, 1], [0, 1, 1, 1, 0, 1, 1]]).bool()[:, None, None, :]
    documents = torch.tensor([[0, 1, 0, 1, 2, 0, 1], [3, 3, 3, 1, 1, 1, 1]])
    settings = (
        {},
        {"window": 3},
        {"document_ids": documents},
        {"mask": mask},
        {"mask": mask, "window": 4, "document_ids": documents},
    )
    for causal, seen, (name, positions) in itertools.product((True, False), settings, POSITIONS.items()):
        if name in ("int32", "one row") and seen:
            continue
        want = expected_layer(case, x, positions, causal=causal, **seen)
        near(layer(case, case.make(), x, positions, causal=causal, **seen), want, what=f"{name}, causal {causal}, {sorted(seen)}")
    added = draw(case.n_heads, 7, 7, seed=8)
    for causal in (True, False):
        got = layer(case, case.make(), x, POSITIONS["per row"], causal=causal, mask=added[None])
        want = expected_layer(case, x, POSITIONS["per row"], causal=causal, added=added.double().numpy())
        near(got, want, what=f"float mask, causal {causal}")


def small_shapes(case: Case) -> None:
    """Batch and length in 1, 2, 3 (where axes can be mistaken for each other), with one position row or one a batch row."""
    for batch, length, causal in itertools.product((1, 2, 3), (1, 2, 3), (True, False)):
        x = tokens(case, batch, length)
        for positions in (range(2, 2 + length), torch.tensor([[b + (b + 1) * t for t in range(length)] for b in range(batch)])):
            want = expected_layer(case, x, positions, causal=causal)
            near(layer(case, case.make(), x, positions, causal=causal), want, what=f"B {batch}, T {length}, {type(positions)}")


def no_tokens(case: Case) -> None:
    """No tokens give an empty result; queries without keys give 0."""
    for positions in (range(0), torch.zeros(0, dtype=torch.int64), torch.zeros(2, 0, dtype=torch.int64)):
        out = layer(case, case.make(), tokens(case, length=0), positions, causal=True)
        assert out.shape == (2, case.n_heads, 0, case.head_dim)
    q, nothing = draw(2, case.n_heads, 3, case.head_dim), draw(2, case.n_kv_heads, 0, case.head_dim)
    for columns in (range(0), torch.zeros(0, dtype=torch.int64)):
        out = attend(case, case.make(), (q, nothing, nothing), range(3), columns, causal=False)
        identical(out, torch.zeros(2, case.n_heads, 3, case.head_dim), "a query without keys sees nothing")


def positions_matter(case: Case) -> None:
    """With no mask to hide it, other positions give another output; one row's positions move that row alone."""
    scheme, x = case.make(), tokens(case)
    plain = layer(case, scheme, x, torch.arange(7), causal=False)
    for name in ("shuffled", "falling"):
        differ(layer(case, scheme, x, POSITIONS[name], causal=False), plain, 0.05, name)
    mixed = layer(case, scheme, x, torch.tensor([list(range(7)), SHUFFLED]), causal=False)
    near(mixed[0], plain[0], what="row 0")
    differ(mixed[1], plain[1], 0.05, "row 1")


def other_instance(case: Case) -> None:
    """Another instance with other settings, called in between, changes nothing."""
    scheme, other = case.make(), case.other()
    positions = torch.tensor(SHUFFLED)
    first = acts(case, scheme, positions)
    between = acts(case, other, positions)
    if scheme is not None:
        assert any(not torch.equal(a, b) for a, b in zip(first, between, strict=True)), "the other settings gave the same numbers"
    identical(acts(case, scheme, positions), first, "same object")
    identical(acts(case, case.make(), positions), first, "fresh object")


def history(case: Case) -> None:
    """Earlier lengths and offsets leave no trace: long, then short, equals a fresh object's short call, and the definition."""
    scheme = case.make()
    for earlier in (range(50), range(10, 12), torch.arange(60)):
        acts(case, scheme, earlier)
    for positions in (range(3), range(5, 8), torch.tensor([2, 0, 1])):
        got = acts(case, scheme, positions)
        identical(got, acts(case, case.make(), positions), str(positions))
        for result, right in zip(got, expected_acts(case, positions), strict=True):
            near(result, right, what=str(positions))


def train_mode(case: Case) -> None:
    """train() runs; without dropout it changes nothing; at the input dropout acts on the whole sum, and only in training."""
    scheme, x = case.make(), tokens(case)
    want = layer(case, scheme, x, range(7), causal=True)
    if scheme is None:
        return
    identical(layer(case, scheme.train(), x, range(7), causal=True), want)
    if not is_input(scheme):
        return
    dropping = rebuilt(scheme, dropout=0.25)
    dropping.load_state_dict(scheme.state_dict())
    total = scheme.eval()(x, range(7))
    identical(dropping.eval()(x, range(7)), total, "eval")
    got = dropping.train()(x, range(7))
    kept = got != 0
    assert 0.5 < kept.double().mean().item() < 0.95, "a quarter of the entries should be dropped"
    near(got[kept], total[kept] / 0.75, 1e-6, "kept entries are scaled by 1 / (1 - p)")


def state(case: Case) -> None:
    """The state holds learned weights only, no buffer; state dict, pickle and deepcopy give the same numbers."""
    scheme = case.make()
    if scheme is None:
        return
    assert list(scheme.buffers()) == [], "a buffer can be cast, lost or saved"
    assert set(scheme.state_dict()) == {name for name, _ in scheme.named_parameters()}, "more than learned weights is saved"
    want = acts(case, scheme, torch.tensor(SHUFFLED))
    file = io.BytesIO()
    torch.save(scheme.state_dict(), file)
    file.seek(0)
    loaded = case.make()
    for parameter in loaded.parameters():
        torch.nn.init.constant_(parameter, float("nan"))
    loaded.load_state_dict(torch.load(file, weights_only=True), strict=True)
    for copied in (loaded, pickle.loads(pickle.dumps(scheme)), copy.deepcopy(scheme)):
        identical(acts(case, copied, torch.tensor(SHUFFLED)), want)


def head_slices(case: Case) -> None:
    """The slices of two tensor-parallel ranks put together equal the whole, read its tables and give them its gradient."""
    scheme = case.make()
    assert isinstance(scheme, ordinate.ScoreScheme), "has nothing a head"
    q, k, shares = (draw(2, case.n_heads, *size) for size in ((7, case.head_dim), (5, case.head_dim), (7, 5)))
    at, learned = scheme.at(torch.tensor(SHUFFLED), range(5)), list(scheme.parameters())
    rows = {name: table.clone().requires_grad_() for name, table in tables(case).items()}

    def given(start: int, stop: int) -> tuple[torch.Tensor, torch.Tensor]:
        part = scheme.heads(start, stop)
        cut = slice(start, stop)
        assert all(any(mine is whole for whole in learned) for mine in part.parameters()), "a slice has a table of its own"
        add = part.added_values(at)
        extras = {name: table[:, cut] for name, table in rows.items()}
        return part.bias(q[:, cut], k[:, cut], at, **extras), shares[:, cut] * 0 if add is None else add(shares[:, cut])

    def gradient(outputs: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        inputs = [*learned, *rows.values()]
        loss = sum((output * draw(*output.shape, seed=5)).sum() for output in outputs)
        return torch.autograd.grad(loss, inputs) if inputs else ()

    whole = given(0, case.n_heads)
    add, want = scheme.added_values(at), (*whole, *gradient(whole))
    identical(whole[0], scheme.bias(q, k, at, **rows), "all heads are the whole")
    assert add is None or torch.equal(whole[1], add(shares))
    for n in range(1, case.n_heads):
        got = tuple(torch.cat(pair, 1) for pair in zip(given(0, n), given(n, case.n_heads), strict=True))
        for parts, right in zip((*got, *gradient(got)), want, strict=True):
            near(parts, right, what=f"cut {n}")
