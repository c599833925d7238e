"""A configuration's keys: each read once, checked, and remembered with what became of it. Faults are gathered, not raised."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ordinate.checkpoints.plan import Entry

T = TypeVar("T")
# A value's reading, and what it lacks ("" if nothing).
Reading = tuple[T, str]
Kind = Callable[[Any], Reading[T]]

MOST = 2**48  # no model has more of anything; beyond it positions lose bits
LARGEST = 1e30
SHOWN = 60


Place = tuple["Fields", str]


class Fields:
    """Reads a mapping's keys by any of their spellings, and keeps the record.

    A key that is absent, or null, takes the model type's default. Where several spellings are there they must agree. Whatever is
    wrong is noted in ``faults`` and reading goes on with a stand-in, so that one error can list everything.

    Args:
        values: the mapping.
        source: what it was read from, for the record.
        model_type: whose defaults stand in.
        defaults: values that the model type's own code takes for absent keys.
        prefix: of the keys' full names, as "text_config.".
        names: other full names, where the mapping was made from another format.
        sizes_given: whether sizes must be there; a part of a larger configuration may leave out its type's defaults.

    Attributes:
        entries: the record.
        faults: what is wrong.
        warnings: what changes nothing, or had to be assumed.
        used: keys that were read.

    Example:
        >>> fields = Fields({"n_layer": 12, "theta": "x"}, source="mapping", model_type="gpt2")
        >>> fields.take(("num_hidden_layers", "n_layer"), whole(least=1), "layers"), fields.take(("theta",), number(), "base")
        (12, 1.0)
        >>> fields.faults
        ["theta: needed a finite number > 0, got 'x'"]
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        *,
        source: str,
        model_type: str,
        defaults: Mapping[str, Any] | None = None,
        prefix: str = "",
        names: Mapping[str, str] | None = None,
        sizes_given: bool = True,
    ) -> None:
        self.values, self.source, self.model_type, self.prefix = values, source, model_type, prefix
        self.defaults, self.names, self.sizes_given = defaults or {}, names or {}, sizes_given
        self.entries: list[Entry] = []
        self.faults: list[str] = []
        self.warnings: list[str] = []
        self.used: set[str] = set()

    def name(self, key: str) -> str:
        """Give a key's full name."""
        return self.names.get(key, self.prefix + key)

    def has(self, *keys: str) -> bool:
        """Tell whether one of the keys is there and not null."""
        return any(self.values.get(key) is not None for key in keys)

    def note(self, key: str, value: Any, became: str, *, source: str | None = None) -> None:
        """Record what became of a key."""
        _once(self.entries, Entry(key=self.name(key), value=value, source=source or self.source, became=became))

    def fault(self, key: str, message: str) -> None:
        """Record that something is wrong with a key."""
        _once(self.faults, f"{self.name(key)}: {message}")

    def warn(self, key: str, message: str) -> None:
        """Record that a key changes nothing, or that something had to be assumed."""
        _once(self.warnings, f"{self.name(key)}: {message}")

    def part(self, key: str, values: Mapping[str, Any]) -> Fields:
        """Give a mapping inside this one, with the same record."""
        inner = Fields(values, source=self.source, model_type=self.model_type, prefix=f"{self.name(key)}.")
        inner.entries, inner.faults, inner.warnings = self.entries, self.faults, self.warnings
        return inner

    def take(
        self,
        keys: Sequence[str],
        kind: Kind[T],
        became: str,
        *,
        default: Any = None,
        needed: bool = False,
        also: Sequence[Place] = (),
    ) -> T:
        """Read a key by any of its spellings.

        Args:
            keys: spellings, the usual one first; the model type's default is looked up under each.
            kind: what the value must be.
            became: what the key means here, for the record; "{}" is the value.
            default: stands in where neither the mapping nor the model type has a value.
            needed: whether absence is a fault.
            also: other places of the same setting, with their keys; they must agree too.

        Returns:
            The value, its default, or a stand-in of the same type if something is wrong.
        """
        places: list[Place] = [*((self, key) for key in keys), *also]
        for fields, key in places:
            fields.used.add(key)
        found = [(fields, key, fields.values[key]) for fields, key in places if fields.values.get(key) is not None]
        if not found:
            return self._absent(keys, kind, became, default, needed)
        read = [kind(value) for _, _, value in found]
        for (fields, key, _), (_, lacking) in zip(found, read, strict=True):
            if lacking:
                fields.fault(key, lacking)
        first = (found[0][0].name(found[0][1]), found[0][2])
        for (fields, key, value), (taken, lacking) in zip(found[1:], read[1:], strict=True):
            if not lacking and not read[0][1] and taken != read[0][0]:
                self.disagree(first, (fields.name(key), value))
        for fields, key, value in found:
            fields.note(key, value, became.format(short(read[0][0])))
        return read[0][0]

    def size(self, keys: Sequence[str], became: str, *, most: int = MOST) -> int:
        """Read a size, which a whole configuration must declare; a part of one may leave it to the model type's default."""
        present = self.has(*keys)
        if not present and self.sizes_given:
            self.used.update(keys)
            self.fault(keys[0], f"needed, got nothing{_or(keys[1:])}")
            return 1
        return self.take(keys, whole(least=1, most=most), became, needed=True)

    def disagree(self, one: tuple[str, Any], other: tuple[str, Any]) -> None:
        """Record that two sources differ."""
        _once(self.faults, f"{one[0]} = {short(one[1])} and {other[0]} = {short(other[1])} disagree; remove one of them")

    def _absent(self, keys: Sequence[str], kind: Kind[T], became: str, default: Any, needed: bool) -> T:
        value = next((self.defaults[key] for key in keys if self.defaults.get(key) is not None), default)
        if value is None:
            if needed:
                self.fault(keys[0], f"needed, got nothing{_or(keys[1:])}")
            return kind(None)[0]
        taken, _ = kind(value)
        self.note(keys[0], None, became.format(short(taken)), source=f"default of {self.model_type}")
        return taken


def _once(record: list[T], item: T) -> None:
    """One dictionary may serve several layer types; what is said of it is said once."""
    if item not in record:
        record.append(item)


def _or(spellings: Sequence[str]) -> str:
    return f" (nor {', '.join(spellings)})" if spellings else ""


def short(value: object) -> str:
    """Write a value, cut where it is long.

    Args:
        value: anything.

    Returns:
        At most 60 letters.

    Example:
        >>> short(10000.0), len(short("x" * 10**6))
        ('10000.0', 60)
    """
    if isinstance(value, (list, tuple)) and len(value) > SHOWN:
        return f"{len(value)} values"
    if isinstance(value, int) and not -(10**SHOWN) < value < 10**SHOWN:
        return "a very large number"  # Python refuses to write thousands of digits
    text = f"{value:.{SHOWN}}" if isinstance(value, str) else repr(value)
    text = repr(text) if isinstance(value, str) else text
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def whole(*, least: int = 0, most: int = MOST) -> Kind[int]:
    """Say that a value must be a whole number; a float without a fraction will do, as some files write it.

    Args:
        least: smallest allowed.
        most: largest allowed.

    Returns:
        A kind.

    Example:
        >>> whole(least=1)(8.0), whole(least=1)(True)
        ((8, ''), (1, 'needed a whole number from 1 to 281474976710656, got True'))
    """

    def read(value: Any) -> Reading[int]:
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, int) and not isinstance(number, bool) and least <= number <= most:
            return number, ""
        return max(least, 1), f"needed a whole number from {least} to {most}, got {short(value)}"

    return read


def number(*, least: float | None = None, most: float = LARGEST) -> Kind[float]:
    """Say that a value must be a positive finite number.

    Args:
        least: smallest allowed, if it is not enough to be above 0.
        most: largest allowed.

    Returns:
        A kind.

    Example:
        >>> number()(float("inf"))
        (1.0, 'needed a finite number > 0, got inf')
    """
    needed = f"needed a finite number {'> 0' if least is None else f'>= {least:g}'}{'' if most == LARGEST else f' and <= {most:g}'}"

    def read(value: Any) -> Reading[float]:
        if is_number(value) and abs(value) <= most and (value > 0 if least is None else value >= least):
            return float(value), ""
        return 1.0 if least is None else max(least, 1.0), f"{needed}, got {short(value)}"

    return read


def flag(value: Any) -> Reading[bool]:
    """Read true or false; absence is false.

    Args:
        value: what came.

    Returns:
        It, and what it lacks.

    Example:
        >>> flag(True), flag(1)
        ((True, ''), (False, 'needed true or false, got 1'))
    """
    if value is None or isinstance(value, bool):
        return bool(value), ""
    return False, f"needed true or false, got {short(value)}"


def one_of(*known: str) -> Kind[str]:
    """Say that a value must be one of some words.

    Args:
        known: the words; the first stands in.

    Returns:
        A kind.

    Example:
        >>> one_of("absolute")("rotary")
        ('absolute', "needed one of absolute, got 'rotary'")
    """

    def read(value: Any) -> Reading[str]:
        if isinstance(value, str) and value in known:
            return value, ""
        return known[0], f"needed one of {', '.join(known)}, got {short(value)}"

    return read


def row_of(kind: Kind[T], *, length: int | None = None) -> Kind[tuple[T, ...]]:
    """Say that a value must be a list whose parts are of a kind.

    Args:
        kind: of each part.
        length: how many, if that is known.

    Returns:
        A kind.

    Example:
        >>> row_of(whole(), length=2)([1, 0])
        ((1, 0), '')
    """

    def read(value: Any) -> Reading[tuple[T, ...]]:
        if not isinstance(value, (list, tuple)) or (length is not None and len(value) != length):
            got = f"{len(value)} of them" if isinstance(value, (list, tuple)) else short(value)
            return (), f"needed a list{'' if length is None else f' of {length} values'}, got {got}"
        read = [kind(part) for part in value]
        lacking = next((text for _, text in read if text), "")
        return tuple(part for part, _ in read), lacking and f"in the list: {lacking}"

    return read


def is_number(value: object) -> bool:
    """Tell whether a value is a finite number, not true or false, that a float can hold.

    Args:
        value: anything.

    Returns:
        Whether it is.

    Example:
        >>> [is_number(value) for value in (1, 0.5, True, float("nan"), "1", 10**400)]
        [True, True, False, False, False, False]
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def listed(names: Iterable[str]) -> str:
    """Write names in order, with commas.

    Args:
        names: any.

    Returns:
        Text.

    Example:
        >>> listed({"b", "a"})
        'a, b'
    """
    return ", ".join(sorted(names))
