"""``ordinate theory``: what arithmetic says of a rotary embedding at a length, before anything runs."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from ordinate.cli.columns import aligned

if TYPE_CHECKING:
    from ordinate.scaling import Rule
    from ordinate.turning import PairTheory, Theory

KEYS = ("theta", "head_dim", "rotary_dim", "trained", "length", "rule")
EPILOG = """\
keys:
  theta=10000          the base                       head_dim=128    width of a head, or
  trained=4096         trained length                 rotary_dim=64   the entries that turn
  length=16384         the length asked about
  rule=yarn            one of linear, ntk_alpha, dynamic, yarn, longrope, llama3, proportional, learned_scale, turns; its settings
                       are keys too, as factor=4 or truncate=false; original_length is the trained one unless given

examples:
  ordinate theory theta=10000 head_dim=128 trained=4096 length=16384
  ordinate theory theta=500000 head_dim=128 trained=8192 length=131072 rule=llama3 factor=8 low_frequency_factor=1 \\
high_frequency_factor=4
"""


def add_parser(commands: Any) -> None:
    """Add the subcommand.

    Args:
        commands: what ``add_subparsers`` gave.
    """
    parser = commands.add_parser(
        "theory",
        help="wavelengths, turns, unseen phases and precision of a RoPE at a length, with or without a rule",
        description="Work out what a rotary embedding does at a length. Settings are given as key=value.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("settings", nargs="+", metavar="KEY=VALUE", help="see below")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the theory.

    Args:
        options: from the parser.

    Returns:
        0, or 2 for bad input.
    """
    from ordinate.turning import theory

    try:
        given = _read(options.settings)
        arguments, rule = _arguments(given)
        found = theory(**arguments, rule=rule)
    except ValueError as fault:
        print(f"ordinate theory: {fault}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps({"settings": {**arguments, "rule": repr(rule)}, **_finite(dataclasses.asdict(found))}, indent=1))
        return 0
    print("\n".join(_lines(found, arguments, rule)))
    return 0


def _read(settings: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise ValueError(f"needed settings as key=value, got {text[:40]!r}")
        if key in given:
            raise ValueError(f"{key}: needed once, got it twice")
        given[key] = value
    missing = [key for key in ("theta", "trained", "length") if key not in given]
    if ("head_dim" in given) == ("rotary_dim" in given):
        missing.append("one of head_dim and rotary_dim")
    if missing:
        raise ValueError(f"needed {', '.join(missing)}")
    return given


def _arguments(given: dict[str, str]) -> tuple[dict[str, Any], Rule | None]:
    from ordinate.scaling import RULES

    width = given.get("rotary_dim", given.get("head_dim", ""))
    arguments = {
        "base": _number("theta", given["theta"]),
        "rotary_dim": _number("rotary_dim" if "rotary_dim" in given else "head_dim", width),
        "trained": _number("trained", given["trained"]),
        "length": _number("length", given["length"]),
    }
    settings = {key: value for key, value in given.items() if key not in KEYS}
    name = given.get("rule")
    if name is None:
        if settings:
            raise ValueError(f"{', '.join(settings)}: needed a rule beside it, as rule=yarn")
        return arguments, None
    if name not in RULES:
        raise ValueError(f"rule: needed one of {', '.join(RULES)}, got {name[:40]!r}")
    known = {field.name: field for field in dataclasses.fields(RULES[name])}  # type: ignore[arg-type]
    unknown = [key for key in settings if key not in known]
    if unknown:
        raise ValueError(f"{name}: needed settings of {', '.join(known)}, got {', '.join(unknown)}")
    values = {key: _value(key, value) for key, value in settings.items()}
    if "original_length" in known:
        values.setdefault("original_length", arguments["trained"])
    absent = [key for key, field in known.items() if key not in values and field.default is dataclasses.MISSING]
    if absent:
        raise ValueError(f"{name}: needed {', '.join(absent)}")
    return arguments, RULES[name](**values)


def _value(name: str, text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return tuple(_number(name, part) for part in text.split(",")) if "," in text else _number(name, text)


def _number(name: str, text: str) -> int | float:
    try:
        number = float(text)
        return int(text) if text.lstrip("+-").isdigit() and text.isascii() else number
    except ValueError:
        raise ValueError(f"{name}: needed a number, got {text[:40]!r}") from None


def _finite(value: Any) -> Any:
    """JSON knows no infinity: a pair that stands still has no wavelength."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lines(found: Theory, arguments: dict[str, Any], rule: Rule | None) -> list[str]:
    names = ("pair", "wavelength", "turns trained", "slowed by", "wavelength now", "turns at length", "")
    rows = [_row(pair) for pair in found.pairs]
    of, length = len(found.pairs), arguments["length"]
    errors = {name: "no bound" if error is None else f"{error:.1e}" for name, error in found.angle_errors.items()}
    merged = ", ".join(f"{name} {'overflows' if count is None else count}" for name, count in found.merged_positions.items())
    return [
        *aligned([names, *rows]),
        "",
        f"rule: {'none' if rule is None else repr(rule)}",
        f"{found.never_complete} of {of} pairs never complete a turn within {arguments['trained']} tokens",
        f"{found.unseen} of {of} pairs reach phases at {length} tokens that training did not show",
        f"cos and sin times {found.magnitude:.6g}, softmax scale times {found.softmax_factor:.6g}",
        f"largest error of an angle at the last position, radians: {', '.join(f'{k} {v}' for k, v in errors.items())}",
        f"neighbouring positions that are one number there: {merged}",
    ]


def _row(pair: PairTheory) -> tuple[str, ...]:
    old = (str(pair.pair), f"{pair.wavelength:.6g}", f"{pair.turns_trained:.3g}")
    new = (f"{pair.slowed_by:.4g}", f"{pair.scaled_wavelength:.6g}", f"{pair.turns_at_length:.3g}")
    return (*old, *new, "unseen phases" if pair.unseen else "")
