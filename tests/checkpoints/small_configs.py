"""Small right configurations, a rule of each kind, and how values are written in test names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mutations import (
    small,
)

LLAMA = small("llama", max_position_embeddings=512)
GEMMA3 = {"model_type": "gemma3", "text_config": small("gemma3_text")}
ORIGINAL = "original_max_position_embeddings"
RULES: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 4.0},
    "yarn": {"factor": 4.0, ORIGINAL: 128, "beta_fast": 32.0, "beta_slow": 1.0, "attention_factor": 1.0, "truncate": True},
    "longrope": {"short_factor": [1.0] * 8, "long_factor": [2.0] * 8, ORIGINAL: 128, "factor": 4.0, "attention_factor": 1.0},
    "llama3": {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, ORIGINAL: 128},
    "proportional": {"partial_rotary_factor": 0.5, "factor": 1.0},
}


def ruled(kind: str, *, model_type: str = "llama", **change: Any) -> dict[str, Any]:
    """A configuration with a rule; None drops a key."""
    rule = {key: value for key, value in {"rope_type": kind, **RULES[kind], **change}.items() if value is not None}
    return small(model_type, max_position_embeddings=512, rope_scaling=rule)


def listed(values: Mapping[str, Any], *, but: tuple[str, ...] = ("10^6 numbers",)) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in values.items() if name not in but]


def written(folder: Path, content: str | bytes, name: str = "config.json") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path
