"""``check_model`` and ``assert_model``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, Report, broken, not_asked
from ordinate.testing.models import (
    autocasting,
    caching,
    casting,
    compiling,
    dtypes,
    ends,
    history,
    lengths,
    memory,
    order,
    packing,
    padding,
    schedule,
    storing,
    switching,
)
from ordinate.testing.models.preparing import prepared
from ordinate.testing.models.subject import Cached, Subject

CHECKS: tuple[tuple[str, str, Callable[[Subject], Finding]], ...] = (
    (caching.PROPERTY, caching.KIND, caching.cached_as_uncached),
    (caching.PADDED, caching.KIND, caching.padded_cached),
    (padding.LEFT, padding.KIND, padding.left_padded),
    (padding.RIGHT, padding.KIND, padding.right_padded),
    (packing.PROPERTY, packing.KIND, packing.packed_as_separate),
    (lengths.LATER, "dynamic-ntk", lengths.later_tokens),
    (lengths.ROWS, lengths.SHARED, lengths.independent_rows),
    (history.PROPERTY, lengths.SHARED, history.independent_of_history),
    (switching.PROPERTY, "longrope-switch", switching.grows_in_the_cache),
    (order.MATTER, "decode-offset", order.positions_matter),
    (order.SHIFT, "decode-offset", order.shift_of_positions),
    (casting.PROPERTY, casting.KIND, casting.survives_cast),
    (autocasting.PROPERTY, casting.KIND, autocasting.far_positions_differ),
    (memory.PROPERTY, memory.KIND, memory.survives_meta),
    (storing.PROPERTY, storing.KIND, storing.no_derived_keys),
    (ends.PROPERTY, ends.TABLE, ends.ends_clearly),
    (dtypes.PROPERTY, dtypes.KIND, dtypes.usual_dtypes),
    (schedule.PROPERTY, "per-layer-schedule", schedule.own_settings),
)


def check_model(
    model: Callable[..., Any],
    *,
    vocabulary: int | None = None,
    maximum: int | None = None,
    make: Callable[[], nn.Module] | None = None,
    cached: Cached | None = None,
    ids: torch.Tensor | None = None,
    compiled: bool | None = None,
) -> Report:
    """Hold a model to what positions must do: with a cache, padded, packed, in a batch, after other calls, cast, compiled.

    The model maps ids [B, T] to logits [B, T, V]: a module, another callable, or a model of transformers. What else it can be asked
    is seen in its forward's arguments: ``attention_mask`` or ``mask``, ``position_ids`` or ``positions``, ``cache`` or ``past``
    (given back beside the logits), ``document_ids``. A module is copied and never changed. Logits count as equal if they differ by
    less than 2e-5 of the largest.

    Args:
        model: what is checked.
        vocabulary: ids are smaller; the width of the logits by default.
        maximum: longest sequence; by default what a configuration declares, or what the model takes.
        make: makes another model of the same settings, to ask whether one without memory becomes the same.
        cached: asks the model with a cache, for one that keeps it in its own way: (ids, cache) -> (logits, cache), None at first.
        ids: [B, T] to use, for a model that random ones tell nothing.
        compiled: whether to compile, too; by default modules that are not of transformers.

    Returns:
        One finding a property; what cannot be asked says why.

    Raises:
        ValueError: if an argument is wrong, or the model does not run.

    Example:
        >>> embedding = nn.Embedding(9, 9)
        >>> report = check_model(nn.Sequential(embedding, nn.Linear(9, 9)), compiled=False)
        >>> report.broken
        ()
        >>> next(finding.said for finding in report if finding.property == "left-padded = unpadded")
        'forward takes no mask'
    """
    subject = prepared(model, vocabulary=vocabulary, maximum=maximum, make=make, cached=cached, ids=ids)
    findings = [_found(subject, *check) for check in CHECKS]
    findings.append(_compiled(subject, compiled))
    return Report(
        type(model).__name__ if isinstance(model, nn.Module) else getattr(model, "__name__", repr(model)), tuple(findings)
    )


def assert_model(model: Callable[..., Any], **settings: Any) -> None:
    """Raise what ``check_model`` finds.

    Args:
        model: what is checked.
        settings: as there.

    Raises:
        AssertionError: if a property is broken, with the whole report.

    Example:
        >>> assert_model(nn.Embedding(9, 9), compiled=False)
    """
    check_model(model, **settings).raise_if_broken()


def _found(subject: Subject, name: str, kind: str, check: Callable[[Subject], Finding]) -> Finding:
    """A model that raises where logits were asked for has a fault."""
    finding = attempt(lambda: check(subject))
    if isinstance(finding, Failed):
        return broken(name, kind, "the model gives no logits where this is asked", expected="logits", actual=str(finding))
    return finding


def _compiled(subject: Subject, asked: bool | None) -> Finding:
    if asked is False or (asked is None and (subject.of_transformers or subject.module is None)):
        why = "not asked for" if asked is False else "transformers' own" if subject.of_transformers else "a function, no module"
        return not_asked(compiling.PROPERTY, why)
    return _found(subject, compiling.PROPERTY, compiling.KIND, compiling.compiles)
