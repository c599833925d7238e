"""A configuration's keys: each read once, checked, and remembered with what became of it. Faults are gathered, not raised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ordinate.checkpoints.faulty import Fault, Sort
from ordinate.checkpoints.kinds import MOST, Kind, printable, short, whole
from ordinate.checkpoints.plan import Entry

T = TypeVar("T")
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
        >>> from ordinate.checkpoints.kinds import number
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
        self.faults: list[Fault] = []
        self.warnings: list[str] = []
        self.said: set[tuple[str, str]] = set()
        self.used: set[str] = set()

    def name(self, key: str) -> str:
        """Give a key's full name."""
        return self.names.get(key, self.prefix + printable(key))

    def has(self, *keys: str) -> bool:
        """Tell whether one of the keys is there and not null."""
        return any(self.values.get(key) is not None for key in keys)

    def note(self, key: str, value: Any, became: str, *, source: str | None = None) -> None:
        """Record what became of a key."""
        if self._first_time(self.name(key), became):
            self.entries.append(Entry(key=self.name(key), value=value, source=source or self.source, became=became))

    def fault(self, key: str, message: str, *, sort: Sort = "value") -> None:
        """Record that something is wrong with a key."""
        self.refuse(f"{self.name(key)}: {message}", key=self.name(key), sort=sort)

    def refuse(self, message: str, *, key: str = "", sort: Sort = "value", names: Iterable[str] = ()) -> None:
        """Record that something is wrong."""
        if self._first_time("fault", message):
            self.faults.append(Fault(message, key=key, sort=sort, names=names))

    def warn(self, key: str, message: str) -> None:
        """Record that a key changes nothing, or that something had to be assumed."""
        if self._first_time("warning", f"{self.name(key)}: {message}"):
            self.warnings.append(f"{self.name(key)}: {message}")

    def _first_time(self, what: str, text: str) -> bool:
        """One dictionary may serve several layer types; what is said of it is said once."""
        known = (what, text) in self.said
        self.said.add((what, text))
        return not known

    def part(self, key: str, values: Mapping[str, Any]) -> Fields:
        """Give a mapping inside this one, with the same record."""
        inner = Fields(values, source=self.source, model_type=self.model_type, prefix=f"{self.name(key)}.")
        inner.entries, inner.faults, inner.warnings, inner.said = self.entries, self.faults, self.warnings, self.said
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
            self.fault(keys[0], f"needed, got nothing{_or(keys[1:])}", sort="missing")
            return 1
        return self.take(keys, whole(least=1, most=most), became, needed=True)

    def disagree(self, one: tuple[str, Any], other: tuple[str, Any]) -> None:
        """Record that two sources differ."""
        message = f"{one[0]} = {short(one[1])} and {other[0]} = {short(other[1])} disagree; remove one of them"
        self.refuse(message, key=one[0], sort="disagree")

    def _absent(self, keys: Sequence[str], kind: Kind[T], became: str, default: Any, needed: bool) -> T:
        value = next((self.defaults[key] for key in keys if self.defaults.get(key) is not None), default)
        if value is None:
            if needed:
                self.fault(keys[0], f"needed, got nothing{_or(keys[1:])}", sort="missing")
            return kind(None)[0]
        taken, lacking = kind(value)
        if lacking:
            self.fault(keys[0], f"absent, and the default of {self.model_type} does not fit: {lacking}")
        self.note(keys[0], None, became.format(short(taken)), source=f"default of {self.model_type}")
        return taken


def _or(spellings: Sequence[str]) -> str:
    return f" (nor {', '.join(spellings)})" if spellings else ""
