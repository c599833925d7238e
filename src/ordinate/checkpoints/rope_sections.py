"""How the pairs of a rotary model are shared out among the coordinates of a token: ``mrope_section`` and its kin."""

from __future__ import annotations

from dataclasses import dataclass

from ordinate.checkpoints.coordinates import names
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import row_of, short, whole
from ordinate.sections import SectionOrder, section_faults

WIDEST = 2**16


@dataclass(frozen=True, kw_only=True)
class SectionKeys:
    """What a model type's own code decides.

    Attributes:
        default: pairs of each coordinate if mrope_section says nothing; empty where shares are equal and no key declares them.
        order: how they lie.
        axes: coordinates of a token.
        listed: the coordinate of each number of mrope_section; empty if they stand in order (ERNIE 4.5-VL: rows, columns, time).
        called: names of the coordinates, where they are not the usual ones.
        cut: whether default sections that do not fit are cut, and the first axis has what is left (Qwen3-VL).
    """

    default: tuple[int, ...] = ()
    order: SectionOrder = "contiguous"
    axes: int = 3
    listed: tuple[int, ...] = ()
    cut: bool = False
    called: tuple[str, ...] = ()


def read_sections(part: Fields, keys: SectionKeys, *, pairs: int) -> tuple[int, ...]:
    """Read the pairs of each coordinate. Whether they take turns is the model type's to say; a key that says otherwise is refused.

    Args:
        part: the dictionary.
        keys: what the model type decides.
        pairs: how many turn.

    Returns:
        One number a coordinate; faults are in ``part``.

    Example:
        >>> keys = SectionKeys(default=(16, 24, 24))
        >>> part = Fields({"mrope_section": [8, 12, 12]}, source="mapping", model_type="qwen2_vl_text")
        >>> read_sections(part, keys, pairs=32)
        (8, 12, 12)
        >>> read_sections(part, keys, pairs=64), part.faults
        ((8, 12, 12), ['mrope_section: needed two numbers or more that add up to 64 pairs, got (8, 12, 12)'])
    """
    if not keys.default:
        return _equal(part, keys, pairs)
    _check_turns(part, keys)
    if keys.cut and not part.has("mrope_section"):
        default = list(_dealt(keys.default, pairs))
    else:
        default = [keys.default[axis] for axis in keys.listed or range(keys.axes)]
    kind = row_of(whole(most=WIDEST), length=keys.axes)
    listed = part.take(("mrope_section",), kind, f"pairs of {_names(keys)} {{}}", default=default)
    if part.faults:
        return keys.default
    sections = tuple(listed[keys.listed.index(axis)] if keys.listed else listed[axis] for axis in range(keys.axes))
    for fault in section_faults(sections, keys.order, pairs):
        part.fault("mrope_section", fault.removeprefix("sections: "))
    if keys.order == "space_first" and not sections[0]:
        part.fault("mrope_section", f"cannot be honoured: {part.model_type} needs pairs for the time, got none")
    return sections


def _equal(part: Fields, keys: SectionKeys, pairs: int) -> tuple[int, ...]:
    if pairs % keys.axes and not part.faults:
        part.refuse(f"{part.prefix}rotary width: needed as many pairs of {_names(keys)}, got {pairs} in all")
    return (pairs // keys.axes,) * keys.axes


def _check_turns(part: Fields, keys: SectionKeys) -> None:
    interleaved = keys.order == "interleaved"
    for key in ("mrope_interleaved", "interleaved"):
        if part.has(key):
            part.used.add(key)
            if part.values[key] is interleaved:
                part.note(key, interleaved, "as the model type's code has it")
            else:
                part.fault(key, f"cannot be honoured: needed {interleaved} for {part.model_type}, got {short(part.values[key])}")


def _dealt(sections: tuple[int, ...], pairs: int) -> tuple[int, ...]:
    """What code that lets axes take turns makes of its default sections: the first has every turn that is not another's."""
    axes = len(sections)
    others = [len(range(axis, min(pairs, axes * sections[axis]), axes)) for axis in range(1, axes)]
    return (pairs - sum(others), *others)


def _names(keys: SectionKeys) -> str:
    called = keys.called or names(keys.axes)
    return ", ".join(called[axis] for axis in keys.listed or range(keys.axes))
