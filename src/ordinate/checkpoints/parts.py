"""A part of a configuration of several models, read by itself: an encoder of images, say."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from ordinate.checkpoints.kinds import short
from ordinate.checkpoints.sources import Source

ENDINGS = ("vision", "vision_encoder", "vision_model", "audio_encoder", "text")


def part_of(source: Source, part: str, known: Collection[str]) -> tuple[Source, str | None]:
    """Give a part of a configuration as a source of its own, and its type where it has no own one.

    Args:
        source: the whole.
        part: where the part stands, "vision_config" or "vision_config.backbone_config".
        known: types that can be read.

    Returns:
        The part, and a type by the whole's: the part of qwen2_vl under vision_config is qwen2_vl_vision.

    Raises:
        ValueError: if there is no such part.

    Example:
        >>> whole = Source("mapping", {"model_type": "qwen2_vl", "vision_config": {"depth": 2}})
        >>> found, model_type = part_of(whole, "vision_config", ["qwen2_vl_vision"])
        >>> found.name, model_type
        ('mapping: vision_config', 'qwen2_vl_vision')
    """
    if source.values is None:
        raise ValueError(f"{source.name}: part: needed a configuration, got a GGUF file, which holds one model")
    outer: Any = source.values
    inner: Any = source.values
    for key in str(part).split("."):
        outer, inner = inner, inner.get(key) if isinstance(inner, Mapping) else None
    if not isinstance(inner, Mapping):
        there = [key for key, value in source.values.items() if isinstance(value, Mapping) and key.endswith("_config")]
        raise ValueError(f"{source.name}: part: needed one of {', '.join(there) or 'several configurations'}, got {short(part)}")
    return dataclasses.replace(source, name=f"{source.name}: {part}", values=inner), type_by(outer, inner, part, known)


def type_by(outer: Mapping[str, Any], inner: Mapping[str, Any], part: str, known: Collection[str]) -> str | None:
    """Give a part's type where it has none, or repeats the whole's, as published files of Qwen2.5-VL do.

    Args:
        outer: the configuration that it stands in.
        inner: the part.
        part: the key it stands under, or a path that ends with it.
        known: types that can be read.

    Returns:
        A type that can be read, or None.

    Example:
        >>> type_by({"model_type": "qwen2_5_vl"}, {"model_type": "qwen2_5_vl"}, "vision_config", ["qwen2_5_vl_vision"])
        'qwen2_5_vl_vision'
    """
    whole, own = outer.get("model_type"), inner.get("model_type")
    if not isinstance(whole, str) or own not in (None, whole):
        return None
    kind = part.split(".")[-1].split("_")[0]
    return next((f"{whole}_{ending}" for ending in ENDINGS if ending.startswith(kind) and f"{whole}_{ending}" in known), None)
