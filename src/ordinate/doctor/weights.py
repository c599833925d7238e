"""Rules over the headers of weights: stored frequencies, sizes of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ordinate.checkpoints.kinds import is_number, printable
from ordinate.checkpoints.plan import PositionPlan, StackPlan
from ordinate.checkpoints.scheme_plans import LearnedPlan, T5Plan
from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.rotations import Rotation
from ordinate.doctor.stored import Comparison, compare
from ordinate.doctor.tensors import LONGEST_ROW, Tensor, read_row

# By the last two parts of their names.
TABLES = {"wpe.weight", "positions_embed.weight", "position_embd.weight"}
TABLES |= {f"{name}.weight" for name in ("position_embeddings", "position_embedding", "embed_positions")}
BUCKETS = "relative_attention_bias.weight"
ELSEWHERE = re.compile(r"vision|visual|image|audio|speech|clip|siglip|patch|talker|codec", re.IGNORECASE)
NUMBER = re.compile(r"\.(\d+)\.")
NO_LENGTH = 1e9  # tokenizers write a very large number for none
MOST_VECTORS = 10_000
Vector = tuple[str, Comparison, Rotation]


def of_frequencies(tensors: Sequence[Tensor], turned: Sequence[Rotation]) -> Iterator[Diagnosis]:
    """Compare every stored vector of frequencies with what the configuration says.

    Args:
        tensors: of all files.
        turned: rotations of the configuration.

    Yields:
        Findings, one for all vectors that differ alike.

    Raises:
        ValueError: if a vector cannot be read.
    """
    vectors = [each for each in tensors if each.name.endswith(("inv_freq", "rope.freqs")) and len(each.shape) == 1]
    alike: dict[tuple[str, float | None], list[Vector]] = {}
    for each in vectors[:MOST_VECTORS]:
        if not 0 < each.shape[0] <= LONGEST_ROW or each.dtype not in ("F64", "F32", "F16", "BF16"):
            continue
        fitting = _fitting(each, turned)
        if fitting:
            found = _closest(each, fitting)
            alike.setdefault((found[1].cause, found[1].number), []).append(found)
        else:
            yield from _of_another_width(each, turned)
    for group in alike.values():
        yield _of_group(group)
    yield from _mixed(alike)


def _fitting(tensor: Tensor, turned: Sequence[Rotation]) -> list[Rotation]:
    """Rotations with as many pairs: those of the layer that the name says, if it says one."""
    fits = [each for each in turned if each.rotary_dim // 2 == tensor.shape[0]]
    number = NUMBER.search(tensor.name)
    own = [each for each in fits if number and int(number.group(1)[:9]) in each.layers]
    return own or fits


def _closest(tensor: Tensor, fitting: Sequence[Rotation]) -> Vector:
    stored = read_row(tensor)
    tried = []
    for each in fitting:
        lengths = (None, each.max_length) if each.rule is not None and each.rule.needs_length else (None,)
        tried += [(tensor.name, compare(stored, each, length=length), each) for length in lengths]
    return min(tried, key=lambda found: (found[1].cause != "equal", found[1].cause == "other"))


def _of_another_width(tensor: Tensor, turned: Sequence[Rotation]) -> Iterator[Diagnosis]:
    if not turned or ELSEWHERE.search(tensor.name):
        return
    pairs, got = turned[0].rotary_dim // 2, tensor.shape[0]
    whole = turned[0].head_dim == 2 * got
    message = f"{got} frequencies are stored, for the whole head" if whole else f"{got} frequencies are stored"
    yield diagnosis(
        "ORD106" if whole else "ORD701",
        f"{message}, and the configuration turns {pairs} pairs",
        where=printable(tensor.name),
        severity="error",
        evidence=f"{got} beside {pairs} of a head of {turned[0].head_dim}",
    )


def _of_group(group: Sequence[Vector]) -> Diagnosis:
    name, worst, turned = max(group, key=lambda found: found[1].largest)
    count = f"{len(group)} stored vectors are" if len(group) > 1 else "the stored vector is"
    if worst.cause == "equal":
        return diagnosis("ORD701", f"{count} equal to what the configuration says", where=printable(name))
    number = "" if worst.number is None else f", {worst.number:g}"
    said = {"divided by a factor": "divided by another factor", "other": "of none of the known causes"}.get(
        worst.cause, worst.cause
    )
    narrow = worst.cause.startswith("rounded")
    evidence = f"pair {worst.pair} differs {worst.largest:.3g} of itself"
    if turned.max_length is not None and worst.largest < float("inf"):
        off = worst.largest * turned.frequencies()[worst.pair] * (turned.max_length - 1)
        evidence += f", {off:.3g} rad at position {turned.max_length - 1}"
    return diagnosis(
        "ORD106" if worst.cause == "made for the whole head" else "ORD701",
        f"{count} {said}{number}; the configuration says base {turned.base:g}, {_rule(turned)}",
        where=printable(name),
        severity="warning" if narrow else "error",
        evidence=evidence,
    )


def _rule(turned: Rotation) -> str:
    return "no rule" if turned.rule is None else f"rule {turned.rule!r:.100}"


def _mixed(alike: Mapping[tuple[str, float | None], Sequence[Vector]]) -> Iterator[Diagnosis]:
    """Layers of one file whose frequencies come from different models."""
    kinds = [group for (cause, _), group in alike.items() if not cause.startswith("rounded")]
    if len(kinds) < 2:
        return
    said = [f"{len(group)} {_named(group[0][1], group[0][2])} ({printable(group[0][0])})" for group in kinds[:4]]
    yield diagnosis(
        "ORD801",
        f"stored frequencies of one checkpoint come from different settings: {'; '.join(said)}",
        where=printable(kinds[1][0][0]),
        evidence=f"the worst pair differs {max(found[1].largest for group in kinds for found in group):.3g} of itself",
    )


def _named(found: Comparison, turned: Rotation) -> str:
    if found.cause == "equal":
        return f"of base {turned.base:g}"
    return found.cause if found.number is None else f"{found.cause}, {found.number:g}"


def of_tables(shapes: Mapping[str, tuple[int, ...]], plan: PositionPlan | None, values: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """Compare rows of tables with what the configuration declares.

    Args:
        shapes: of all tensors, rows first, by name.
        plan: from the configuration, or None.
        values: the configuration.

    Yields:
        Findings.

    Example:
        >>> from ordinate.checkpoints import read
        >>> plan = read({"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8, "n_positions": 16})
        >>> [found.message for found in of_tables({"wpe.weight": (8, 8)}, plan, {})]
        ['the table has 8 rows, and 16 positions are declared']
    """
    for name, shape in shapes.items():
        last = ".".join(name.split(".")[-2:])
        if len(shape) != 2 or last not in TABLES | {BUCKETS}:
            continue
        if last == BUCKETS:
            yield from _buckets(name, shape, plan)
        elif plan is None:
            yield from _unplanned(name, shape, values)
        else:
            for stack in _stacks(name, shape, plan):
                if isinstance(stack.input, LearnedPlan):
                    yield from _rows(name, shape[0], stack.input)


def _stacks(name: str, shape: tuple[int, ...], plan: PositionPlan) -> list[StackPlan]:
    """The stack that a table belongs to: the one that its name says, else the only one with such a table."""
    if ELSEWHERE.search(name) and not ELSEWHERE.search(plan.model_type):
        return []
    fits = [stack for stack in plan.stacks if isinstance(stack.input, LearnedPlan) and stack.input.d_model == shape[1]]
    named = [stack for stack in plan.stacks if stack.name in name.split(".")] if len(plan.stacks) > 1 else []
    return [stack for stack in fits if stack in named] if named else fits if len(fits) == 1 else []


def _rows(name: str, rows: int, table: LearnedPlan) -> Iterator[Diagnosis]:
    offset, wanted = table.padding_offset, table.max_length + table.padding_offset
    if rows == wanted:
        return
    evidence = f"{rows} rows; needed {table.max_length}" + (f" + {offset} = {wanted}" if offset else "")
    if offset and rows == table.max_length:
        message = f"the table lacks the {offset} rows before position 0"
        yield diagnosis("ORD603", message, where=printable(name), evidence=evidence)
    elif offset and rows == wanted + offset:
        message = f"the configuration leaves out the {offset} rows before position 0, which its model type counts"
        yield diagnosis("ORD603", message, where=printable(name), evidence=evidence, remedy=f"declare {offset} more positions")
    else:
        yield diagnosis(
            "ORD602",
            f"the table has {rows} rows, and {table.max_length} positions are declared"
            + (f", after {offset} rows for padding" if offset else ""),
            where=printable(name),
            severity="error" if rows < wanted else "warning",
            evidence=evidence,
            remedy=f"declare {max(rows - offset, 1)} positions, or resize the table",
        )


def _unplanned(name: str, shape: tuple[int, ...], values: Mapping[str, Any]) -> Iterator[Diagnosis]:
    declared: Any = values.get("max_position_embeddings", values.get("n_positions"))
    fits = shape[1] == values.get("hidden_size", values.get("n_embd", shape[1]))
    if is_number(declared) and shape[0] < declared and fits and not ELSEWHERE.search(name):
        message = f"the table has {shape[0]} rows, and {declared} positions are declared"
        yield diagnosis("ORD602", message, where=printable(name), evidence=f"{shape[0]} < {declared}")


def _buckets(name: str, shape: tuple[int, ...], plan: PositionPlan | None) -> Iterator[Diagnosis]:
    if plan is None:
        return
    named = [stack for stack in plan.stacks if stack.name in name.split(".")] or list(plan.stacks)
    schemes = {layer.scheme for stack in named for layer in stack.layers if isinstance(layer.scheme, T5Plan)}
    wanted = {(scheme.n_buckets, scheme.n_heads) for scheme in schemes}
    if wanted and shape not in wanted and shape[0] not in {buckets for buckets, _ in wanted}:
        buckets = min(wanted)[0]
        yield diagnosis(
            "ORD602",
            f"the table has {shape[0]} buckets, and {buckets} are declared",
            where=printable(name),
            evidence=f"{shape[0]} beside {buckets}",
            remedy=f"declare relative_attention_num_buckets = {shape[0]}",
        )


def of_tokenizer(plan: PositionPlan | None, said: Mapping[str, Any] | None, key: str) -> Iterator[Diagnosis]:
    """Look whether a tokenizer lets through more tokens than a table has rows.

    Args:
        plan: from the configuration.
        said: the tokenizer's settings, or None.
        key: of the longest text.

    Yields:
        A warning.
    """
    length: Any = None if said is None else said.get(key)
    if plan is None or not is_number(length) or length >= NO_LENGTH:
        return
    tables = [stack.input.max_length for stack in plan.stacks if isinstance(stack.input, LearnedPlan)]
    if tables and length > min(tables):
        yield diagnosis(
            "ORD602",
            f"{key} = {int(length)} lets through more tokens than the table's {min(tables)}",
            where=key,
            severity="warning",
            evidence=f"{int(length)} > {min(tables)}",
            remedy=f"{key} = {min(tables)}",
        )
