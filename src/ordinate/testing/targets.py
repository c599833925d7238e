"""Targets by name, ``package.module:Object key=value ...``: what they are, and the check that fits."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import TYPE_CHECKING, Any

from ordinate.testing.attempts import RAISED, told

if TYPE_CHECKING:
    from ordinate.testing.findings import Report

CHECKS = {
    "rotary": ("rotary.check", "check_rotary"),
    "bias": ("biases.check", "check_bias"),
    "input": ("inputs.check", "check_input"),
    "model": ("models.checking", "check_model"),
}
WORDS = (
    ("rotary", r"rope|rotary|rotat"),
    ("bias", r"alibi|bias|bucket|slope|relative"),
    ("input", r"sinus|positional|position_?emb|pos_?emb|pos_?enc|learned"),
    ("model", r"model|transformer|decoder|gpt|lm$"),
)
SPEC = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def checked(spec: str) -> Report:
    """Import a target and hold it to the contract.

    Args:
        spec: ``package.module:Object``, then settings: ``kind=rotary`` (or bias, input, model) where the name does not say it, and
            arguments of the check, ``layout=half head_dim=64``.

    Returns:
        The report.

    Raises:
        ValueError: if the target cannot be found, or it is not clear what it is.

    Example:
        >>> checked("ordinate:Rope layout=half").subject
        'ordinate:Rope'
    """
    words = spec.split()
    if not words or not SPEC.fullmatch(words[0]):
        raise ValueError(f"needed package.module:Object, then settings as key=value, got {spec[:80]!r}")
    settings = dict(_setting(word) for word in words[1:])
    target = _imported(words[0])
    kind = settings.pop("kind", None) or kind_of(target, words[0])
    if kind not in CHECKS:
        raise ValueError(f"kind: needed one of {', '.join(CHECKS)}, got {kind!r}")
    home, name = CHECKS[kind]
    check = getattr(importlib.import_module(f"ordinate.testing.{home}"), name)
    try:
        if kind == "model":
            return _of_model(check, target, words[0], settings)
        return check(target, name=words[0], **_accepted(check, settings))  # type: ignore[no-any-return]
    except ImportError:
        raise
    except ValueError as fault:
        raise ValueError(str(fault) if words[0] in str(fault) else f"{words[0]}: {fault}") from None
    except RAISED as fault:
        raise ValueError(f"{words[0]}: could not be checked: {told(fault)}") from fault


def kind_of(target: Any, name: str) -> str:
    """Tell from a target's name what it is.

    Args:
        target: imported.
        name: as it was given.

    Returns:
        "rotary", "bias", "input" or "model".

    Raises:
        ValueError: if the name says nothing.

    Example:
        >>> kind_of(None, "mypkg.layers:LlamaRotaryEmbedding")
        'rotary'
    """
    last = name.rpartition(":")[2]
    for text in (last, name, getattr(target, "__qualname__", "")):
        for kind, words in WORDS:
            if re.search(words, text, re.IGNORECASE):
                return kind
    raise ValueError(f"{name}: its name does not say what it is; add kind=rotary, kind=bias, kind=input or kind=model")


def _of_model(check: Any, target: Any, name: str, settings: dict[str, Any]) -> Report:
    """A model, or a class, whose arguments are the settings that the check does not know."""
    from ordinate.testing.findings import Report

    known = inspect.signature(check).parameters
    asked = {key: value for key, value in settings.items() if key in known}
    own = {key: value for key, value in settings.items() if key not in known}
    if not isinstance(target, type):
        if own:
            raise ValueError(f"{name}: needed a class for the settings {', '.join(own)}, got an object that is made already")
        return Report(name, check(target, **asked).findings)
    try:
        model = target(**own)
    except TypeError as fault:
        raise ValueError(f"{name}: could not be made ({fault}); give its arguments as settings, key=value") from None
    return Report(name, check(model, make=lambda: target(**own), **asked).findings)


def _imported(spec: str) -> Any:
    home, _, path = spec.partition(":")
    try:
        target = importlib.import_module(home)
        for part in path.split("."):
            target = getattr(target, part)
    except AttributeError:
        raise ValueError(f"{spec}: {home} has no {path}") from None
    except ImportError as fault:
        raise ValueError(f"{spec}: could not import {home} ({fault})") from None
    except RAISED as fault:
        raise ValueError(f"{spec}: importing {home} fails: {told(fault)}") from fault
    return target


def _setting(word: str) -> tuple[str, Any]:
    key, equals, value = word.partition("=")
    if not key.isidentifier() or not equals:
        raise ValueError(f"needed settings as key=value, got {word[:80]!r}")
    for kind in (int, float):
        try:
            return key, kind(value)
        except ValueError:
            continue
    return key, {"true": True, "false": False, "none": None}.get(value.lower(), value)


def _accepted(check: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that the check knows; the others are arguments of the class, where the check takes such."""
    known = inspect.signature(check).parameters
    foreign = {key: value for key, value in settings.items() if key not in known}
    if foreign and "settings" not in known:
        raise ValueError(f"needed some of {', '.join(list(known)[1:])}, got {', '.join(foreign)}")
    ours = {key: value for key, value in settings.items() if key in known}
    if own := [key for key in ("name", "settings", "make", "table", "inverse_frequencies") if key in ours]:
        raise ValueError(f"needed settings that a word can say, got {', '.join(own)}; call the check from Python for these")
    return {**ours, "settings": foreign} if foreign else ours
