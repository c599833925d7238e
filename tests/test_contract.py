"""Every scheme is held to every property of the contract, or the hole is written down and shown to be one."""

from typing import Any

import pytest
import torch

import ordinate
from cases import CASES, Case
from contract_checks import CHECKS, HELD, HOLES, MISSING
from contract_faults import FAULTS
from contract_numerics import compiled
from contract_tools import draw, near


def _name(pair: tuple[str, Case]) -> str:
    return f"{pair[1].name}-{pair[0]}".replace(" ", "_")


# These differ from another case in plain numbers only, so they trace to the same graph: seconds saved.
SAME_GRAPH = {
    "sinusoidal cosines first",
    "learned clamp",
    "rope given",
    "rope yarn",
    "rope llama3",
    "rope dynamic",
    "rope longrope partial",
    "rope proportional",
    "alibi paper 6",
    "alibi authors 6",
    "alibi given",
    "t5 few buckets",
    "t5 odd",
    "shaw neighbours",
}


def _pairs() -> list[Any]:
    slow = {("compiled", name) for name in SAME_GRAPH}
    return [
        pytest.param(pair, id=_name(pair), marks=[pytest.mark.slow] if (pair[0], pair[1].name) in slow else []) for pair in HELD
    ]


@pytest.mark.parametrize("pair", _pairs())
def test_contract(pair: tuple[str, Case]) -> None:
    check, case = pair
    CHECKS[check](case)


@pytest.mark.parametrize("pair", MISSING, ids=_name)
def test_hole_is_real(pair: tuple[str, Case]) -> None:
    check, case = pair
    with pytest.raises((AssertionError, ValueError, TypeError)):
        CHECKS[check](case)


def test_holes_name_checks_and_schemes_and_have_reasons() -> None:
    assert set(HOLES) <= set(CHECKS)
    for check, reasons in HOLES.items():
        assert set(reasons) <= set(ordinate.SCHEMES), check
        assert set(reasons) < set(ordinate.SCHEMES), f"{check} holds for no scheme"
        assert all(len(reason) > 10 for reason in reasons.values())


def test_every_pair_is_held_or_a_hole() -> None:
    held, missing = ({(check, case.name) for check, case in pairs} for pairs in (HELD, MISSING))
    assert held | missing == {(check, name) for check in CHECKS for name in CASES}
    assert not held & missing


def test_every_scheme_has_cases_of_its_class() -> None:
    assert {case.scheme for case in CASES.values()} == set(ordinate.SCHEMES)
    for case in CASES.values():
        expected = ordinate.SCHEMES[case.scheme]
        assert type(case.make()) is (expected or type(None)), case.name
        assert type(case.other()) is type(case.make()), case.name


@pytest.mark.parametrize("fault", FAULTS)
def test_free_of_known_fault(fault: str) -> None:
    FAULTS[fault]()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, when its compiler starts
def test_machine_code_turns_exactly() -> None:
    """Compiled C++ (fused multiply-adds and all) keeps far angles exact; one compilation that both lengths share."""
    rope, x = CASES["rope half"].make(), draw(1, 2, 9, 8)
    torch._dynamo.reset()
    fast = torch.compile(rope.queries, fullgraph=True, dynamic=True)
    for places in ([0, 5, 2**31 - 1, -(2**31) + 1, 131071, 1_000_003, -7, 10_000_019], [2**30 + 1, 3, -(2**29) - 5]):
        part = x[:, :, : len(places)]
        near(fast(part, torch.tensor(places)), rope.queries(part, torch.tensor(places)), 1e-6)
    torch._dynamo.reset()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", CASES)
def test_compiled_to_machine_code(name: str) -> None:
    compiled(CASES[name], backend="inductor")


def test_attention_dropout_acts_on_the_weights() -> None:
    """With the identity as values the output is the weights: each is dropped, or kept and divided by 1 - p."""
    q, k, v = draw(1, 2, 6, 8), draw(1, 2, 6, 8, seed=1), torch.eye(6).expand(1, 2, 6, 6)
    places = {"scheme": None, "q_positions": range(6), "k_positions": range(6), "causal": False}
    want = ordinate.attend(q, k, v, **places)
    for mask in (None, torch.ones(6, 6, dtype=torch.bool)):
        got = ordinate.attend(q, k, v, dropout=0.25, mask=mask, **places)
        kept = got != 0
        assert 0.5 < kept.double().mean().item() < 0.95
        near(got[kept], want[kept] / 0.75, 2e-6)
