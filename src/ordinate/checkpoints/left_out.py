"""Model types that no plan can say exactly, and why."""

from __future__ import annotations

MISTRAL_LARGE4 = (
    "its frequencies and its queries' growth are learned, a number a pair and two a head, and no configuration holds weights"
)
LEFT_OUT: dict[str, str] = {
    "mistral_large4": MISTRAL_LARGE4,
    "mistral_large4_text": MISTRAL_LARGE4,
}
