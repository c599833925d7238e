"""Every claim: its verdict is the recorded one, and another with a wrong formula; its texts are whole in both languages."""

from __future__ import annotations

import dataclasses
import functools
import re

import pytest
from perturbations import PERTURBED

from ordinate.claims import CLAIMS, Claim, Verdict, settle


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_verdict_is_as_recorded(claim: Claim) -> None:
    settled = settle(claim)
    assert settled.measured.verdict is claim.verdict is not Verdict.UNSETTLED
    for language in ("en", "ru"):
        assert "{" not in claim.shown.said(language).format(**settled.measured.values)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_wrong_formula_changes_the_verdict(claim: Claim) -> None:
    for wrong in PERTURBED[claim.name]:
        changed = dataclasses.replace(claim, check=functools.partial(claim.check, **wrong))
        assert not settle(changed).as_recorded, wrong


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_texts_are_whole(claim: Claim) -> None:
    assert re.search("[а-яё]", claim.statement.ru)
    assert not re.search("[а-яё]", claim.statement.en)
    if claim.verdict is not Verdict.HOLDS:
        assert claim.truth.en
        assert claim.truth.ru


def test_names_are_one_each() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names))
    assert set(names) == set(PERTURBED)
    assert all(PERTURBED.values())
