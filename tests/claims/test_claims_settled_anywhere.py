"""A check gives its verdict whatever torch is set to, and leaves torch as it was."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

import pytest
import torch

from ordinate.claims import CLAIMS, Claim, Measured, find, settle


@contextlib.contextmanager
def bfloat16() -> Iterator[None]:
    torch.set_default_dtype(torch.bfloat16)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def meta() -> Iterator[None]:
    torch.set_default_device("meta")
    try:
        yield
    finally:
        torch.set_default_device(None)


AROUND = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "bfloat16": bfloat16,
    "meta": meta,
    "with_meta": lambda: torch.device("meta"),
}


def state() -> tuple[object, ...]:
    generator = torch.random.default_generator.get_state().tolist()
    return (
        generator,
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
    )


@pytest.mark.parametrize("around", AROUND)
def test_verdicts_do_not_depend_on_torchs_settings(around: str) -> None:
    with AROUND[around]():
        before = state()
        changed = [claim.name for claim in CLAIMS if not settle(claim).as_recorded]
        assert state() == before
    assert changed == []


def _draws() -> Measured:
    torch.rand(3)
    torch.set_default_dtype(torch.float16)
    raise RuntimeError("stopped")


@pytest.mark.parametrize("around", AROUND)
def test_a_check_that_raises_leaves_torch_as_it_was(around: str) -> None:
    stops: Claim = dataclasses.replace(find("equivariance"), check=_draws)
    with AROUND[around]():
        before = state()
        with pytest.raises(RuntimeError, match="stopped"):
            settle(stops)
        assert state() == before
    assert torch.get_default_dtype() is torch.float32
