"""Attention with a positional scheme at its site, by the way that holds the least for what is asked.

``attending.py`` asks which site a scheme acts at and chooses; a file each for the ways: by diagonals (toeplitz.py, learned.py), by
blocks of rows (blocked.py), with channels that carry the bias (factored.py), as a function of a score for FlexAttention (flex.py).
"""

from __future__ import annotations

from ordinate.attention.attending import AttentionScheme as AttentionScheme
from ordinate.attention.attending import attend as attend
from ordinate.attention.attending import attention_at as attention_at
from ordinate.attention.attending import checked_at as checked_at
