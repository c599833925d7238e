"""The Russian pages say the same code as the English ones; only comments are translated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(.*?)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _blocks(page: str) -> list[tuple[str, str]]:
    """Kind and text of every block; a comment after code is left out."""
    return [(kind, re.sub(r"  # .*", "", text)) for kind, text in FENCE.findall((ROOT / page).read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("english", "russian"), [("docs/start.md", "docs/ru/start.md"), ("docs/index.md", "docs/ru/index.md")])
def test_code_is_the_same_in_both_languages(english: str, russian: str) -> None:
    assert [kind for kind, _ in _blocks(english)] == [kind for kind, _ in _blocks(russian)]
    for (_, one), (_, other) in zip(_blocks(english), _blocks(russian), strict=True):
        assert [line for line in one.splitlines() if not line.startswith("#")] == [
            line for line in other.splitlines() if not line.startswith("#")
        ]
