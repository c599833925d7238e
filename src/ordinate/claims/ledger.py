"""All claims in the notes' order, and settling them."""

from __future__ import annotations

import contextlib
import difflib
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ordinate.claims import (
    attributions,
    collisions,
    comparison,
    learned_tables,
    limits,
    order,
    recurrence,
    relative,
    rotary,
    rotary_models,
    shift,
    sinusoid_code,
    sinusoid_example,
    sinusoid_range,
    sinusoid_values,
    word_order,
    words,
)
from ordinate.claims.claim import Claim, Language, Measured, Verdict
from ordinate.claims.kept_losses import UnmeasuredError

CLAIMS: tuple[Claim, ...] = (
    *order.CLAIMS,
    *word_order.CLAIMS,
    *sinusoid_values.CLAIMS,
    *sinusoid_example.CLAIMS,
    *shift.CLAIMS,
    *sinusoid_range.CLAIMS,
    *collisions.CLAIMS,
    *learned_tables.CLAIMS,
    *relative.CLAIMS,
    *rotary.CLAIMS,
    *rotary_models.CLAIMS,
    *comparison.CLAIMS,
    *recurrence.CLAIMS,
    *limits.CLAIMS,
    *sinusoid_code.CLAIMS,
    *attributions.CLAIMS,
    *words.CLAIMS,
)


@dataclass(frozen=True)
class Settled:
    """A claim with what its check found now."""

    claim: Claim
    measured: Measured
    seconds: float

    @property
    def as_recorded(self) -> bool:
        """Whether the verdict is the recorded one."""
        return self.measured.verdict is self.claim.verdict

    def shown(self, language: Language) -> str:
        """Put the measured values into their sentence; or say why nothing was measured."""
        values = self.measured.values
        if "reason" in values:
            return str(values["reason_ru" if language == "ru" else "reason"])
        return self.claim.shown.said(language).format(**values)


def settle(claim: Claim) -> Settled:
    """Run a claim's check, whatever torch is set to around it; the caller's settings and random state stay as they were.

    Args:
        claim: one of ``CLAIMS``.

    Returns:
        The verdict with the figures; "not settled" with the reason if what the claim rests on was not measured.

    Example:
        >>> settle(find("equivariance")).as_recorded
        True
    """
    started = time.perf_counter()
    with _plain_torch():
        try:
            measured = claim.check()
        except UnmeasuredError as missing:
            measured = Measured(Verdict.UNSETTLED, {"reason": missing.reason.en, "reason_ru": missing.reason.ru})
    return Settled(claim, measured, time.perf_counter() - started)


@contextlib.contextmanager
def _plain_torch() -> Iterator[None]:
    """Torch as it starts, on the CPU; afterwards as the caller had it."""
    import torch

    dtype = torch.get_default_dtype()
    with (
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(mode=False),  # and with gradients, as it starts
        torch.device("cpu"),
    ):
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(dtype)


def find(name: str) -> Claim:
    """Give a claim by name.

    Args:
        name: as in ``ordinate claims``.

    Returns:
        The claim.

    Raises:
        ValueError: if there is none; names the nearest.

    Example:
        >>> find("equivariance").kind
        'property'
    """
    for claim in CLAIMS:
        if claim.name == name:
            return claim
    near = difflib.get_close_matches(name, [claim.name for claim in CLAIMS], n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise ValueError(f"unknown claim {name!r}{hint} (`ordinate claims --list`)")


def about(scheme: str) -> tuple[Claim, ...]:
    """Give the claims about a scheme.

    Args:
        scheme: its name in the table of schemes.

    Returns:
        In the ledger's order.

    Example:
        >>> [claim.name for claim in about("nope")][:2]
        ['equivariance', 'softmax-permutation']
    """
    return tuple(claim for claim in CLAIMS if scheme in claim.schemes)
