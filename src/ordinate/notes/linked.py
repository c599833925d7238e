"""Which claims of the ledger belong to which section, and what the box of a claim shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ordinate.claims import find, settle
from ordinate.claims.claim import TITLES, VERDICTS, Verdict
from ordinate.notes.texts import TEXTS

if TYPE_CHECKING:
    from ordinate.claims.claim import Language

# The names of claims by section, as `ordinate claims` lists them.
CLAIMED: dict[str, tuple[str, ...]] = {
    "encoding": ("wavelength-numbers", "fast-and-slow", "slow-near-far", "no-collision", "formula-index"),
    "rotation": ("rope-pairs", "rope-depends-on-difference", "shift-is-rotation", "rope-shift-exact"),
    "distance": ("dot-product-of-shift", "t5-buckets", "alibi-penalty", "deberta-bias"),
    "stretching": ("wavelength-ends", "larger-base-stretches"),
    "beyond": (
        "scales-automatically",
        "worse-beyond-training",
        "no-row-beyond",
        "relative-bias-extrapolates",
        "best-scheme-is-open",
    ),
    "words": ("equivariance", "causal-mask", "padding-mask", "dog-bites-man", "first-word"),
}
# What a claim's truth is called, by the verdict on record.
TRUTHS = {Verdict.HOLDS: "claim_remark", Verdict.CONDITION: "claim_condition", Verdict.FAILS: "claim_true"}


def label(name: str, *, language: Language) -> str:
    """Say on a claim's box what is claimed, and the verdict on record.

    Args:
        name: of the claim.
        language: "en" or "ru".

    Returns:
        Markdown, in one element: what holds a box's label sets the parts of a text side by side.

    Example:
        >>> label("equivariance", language="en").startswith('<span class="verdict holds">**holds**: Without a mask, self-attention')
        True
    """
    claim = find(name)
    said = f"**{VERDICTS[claim.verdict].said(language)}**: {claim.statement.said(language)}"
    return f'<span class="verdict {claim.verdict.name.lower()}">{said}</span>'


def opened(name: str, *, language: Language) -> str:
    """Settle a claim and say what came out; takes as long as its check.

    Args:
        name: of the claim.
        language: "en" or "ru".

    Returns:
        Markdown.

    Example:
        >>> "three words, six permutations" in opened("equivariance", language="en")
        True
    """
    claim = find(name)
    settled = settle(claim)
    lines = {
        TEXTS[TRUTHS[claim.verdict]].said(language): claim.truth.said(language),
        TEXTS["claim_measured"].said(
            language
        ): f"{settled.shown(language)} → **{VERDICTS[settled.measured.verdict].said(language)}**",
        TEXTS["claim_note"].said(language): f"«{TITLES[claim.note].ru}»",
        TEXTS["claim_command"].said(language): f"`ordinate claims {name}{' --lang ru' if language == 'ru' else ''}`",
    }
    return "\n\n".join(f"**{what}:** {text}" for what, text in lines.items() if text)
