"""All claims of the second note, in its order."""

from __future__ import annotations

from ordinate.claims import (
    words_biases,
    words_code,
    words_example,
    words_formula,
    words_properties,
    words_reading,
    words_tables,
)
from ordinate.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    *words_reading.CLAIMS,
    *words_formula.CLAIMS,
    *words_example.CLAIMS,
    *words_properties.CLAIMS,
    *words_tables.CLAIMS,
    *words_biases.CLAIMS,
    *words_code.CLAIMS,
)
