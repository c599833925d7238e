"""The ledger of claims as a page, in English and in Russian."""

from __future__ import annotations

import functools
from collections import Counter

from ordinate.claims import CLAIMS, Claim, Note, Settled, settle
from ordinate.claims.claim import TITLES, VERDICTS, Language, Text
from website import prose
from website.homes import TITLES as SCHEMES

HEADS = {
    "en": """\
# The ledger of claims

This project began from two course notes in Russian. Every statement of theirs that can be checked stands here once, in our own
words, with what a check found when this page was made. `ordinate claims` runs the checks anew, and `ordinate claims NAME --code`
shows one. What printed code must do to be of use counts as claimed.
""",
    "ru": """\
# Реестр утверждений

Проект начался с двух заметок курса. Каждое их утверждение, которое можно проверить, записано здесь один раз, нашими словами, вместе
с тем, что показала проверка, когда строилась эта страница. `ordinate claims --lang ru` выполняет проверки заново,
`ordinate claims ИМЯ --lang ru --code` показывает одну из них. То, без чего напечатанный код бесполезен, тоже считается
утверждением.
""",
}
WORDS = {
    "verdict": Text("Verdict", "Вердикт"),
    "measured": Text("Measured", "Измерено"),
    "fails": Text("What is true", "Как на самом деле"),
    "condition": Text("Condition", "Условие"),
    "holds": Text("What follows", "Что из этого следует"),
    "schemes": Text("Schemes", "Схемы"),
    "count": Text("{count} claims", "Утверждений: {count}"),
}


def page(language: Language) -> str:
    """Write the ledger.

    Args:
        language: "en" or "ru".

    Returns:
        Markdown; every claim's anchor is its name.

    Raises:
        ValueError: if a verdict is not the recorded one, or a claim names a scheme without a page.
    """
    parts = [HEADS[language], _summary(language)]
    for note in Note:
        claims = [claim for claim in CLAIMS if claim.note is note]
        if claims:
            parts += [f"## {TITLES[note].said(language)}", *(_entry(claim, language) for claim in claims)]
    return "\n\n".join(parts) + "\n"


@functools.cache
def _settled() -> dict[str, Settled]:
    """Run every check, once for all pages; a verdict that changed leaves no page to be made."""
    settled = {claim.name: settle(claim) for claim in CLAIMS}
    changed = [name for name, found in settled.items() if not found.as_recorded]
    if changed:
        raise ValueError(f"needed claims as recorded, got other verdicts for {', '.join(changed)}; `ordinate claims` says more")
    return settled


def _summary(language: Language) -> str:
    counted = Counter(claim.verdict for claim in CLAIMS)
    said = ", ".join(f"{VERDICTS[verdict].said(language)} {number}" for verdict, number in counted.most_common())
    return f"{WORDS['count'].said(language).format(count=len(CLAIMS))}: {said}."


def _entry(claim: Claim, language: Language) -> str:
    lines = [f"### {claim.name} {{ #{claim.name} }}", prose.markdown(claim.statement.said(language))]
    verdict = claim.verdict.name.lower()
    lines.append(
        f'**{WORDS["verdict"].said(language)}:** <span class="verdict {verdict}">{VERDICTS[claim.verdict].said(language)}</span>'
    )
    measured = _settled()[claim.name].shown(language)
    lines.append(f"**{WORDS['measured'].said(language)}:** {prose.markdown(measured)}")
    if claim.truth.en:
        lines.append(f"**{WORDS[verdict].said(language)}:** {prose.markdown(claim.truth.said(language))}")
    if claim.schemes:
        up = "../" if language == "ru" else ""
        links = ", ".join(f"[{_title(name, claim)}]({up}schemes/{name}.md)" for name in claim.schemes)
        lines.append(f"**{WORDS['schemes'].said(language)}:** {links}")
    return "\n\n".join(lines)


def _title(scheme: str, claim: Claim) -> str:
    if scheme not in SCHEMES:
        raise ValueError(f"{claim.name}: needed schemes out of {', '.join(SCHEMES)}, got {scheme}")
    return SCHEMES[scheme]
