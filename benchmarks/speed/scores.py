"""Causal attention with ALiBi's and T5's bias, against causal attention without any."""

import functools
from dataclasses import replace

import torch
from benchmarks.speed import reference
from benchmarks.speed.columns import Column, Target, largest_difference
from benchmarks.speed.score_variants import (
    FLEX_ALIBI,
    FLEX_T5,
    KEPT_ALIBI,
    KINDS,
    MAX_DISTANCE,
    OUR_ALIBI,
    OUR_T5,
    PLAIN,
    WRITTEN_ALIBI,
    WRITTEN_T5,
    made,
)
from benchmarks.speed.timing import Effort

HEADS, WIDTH, SMALL = 8, 64, 512
LENGTHS, LONG, TRAINED = (512, 2048, 8192), 16384, (2048, 8192)
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
FORWARD_AT_MOST, FORWARD_FROM = {"float32": 1.25, "bfloat16": 1.45}, 8192
ALIBI_TRAINED_AT_MOST, T5_TRAINED_AT_MOST = 1.5, 2.3
SECONDS = 4.0
# Of the largest entry; sums over hundreds of keys round more than a rotation does.
TOLERANCES = {torch.float32: 1e-4, torch.bfloat16: 2e-2}
# Matrices of n x n for every head: beyond these lengths they take minutes, or more memory than there is.
WRITTEN_UP_TO = {
    ("forward", "float32"): {WRITTEN_ALIBI: 8192, WRITTEN_T5: 8192, KEPT_ALIBI: 8192},
    ("forward", "bfloat16"): {WRITTEN_ALIBI: 2048, WRITTEN_T5: 2048, KEPT_ALIBI: 8192},
    ("ALiBi, forward and backward", "float32"): {WRITTEN_ALIBI: 2048, KEPT_ALIBI: 8192},
    ("T5, forward and backward", "float32"): {WRITTEN_T5: 2048},
}
FORWARD = (PLAIN, OUR_ALIBI, OUR_T5, WRITTEN_ALIBI, KEPT_ALIBI, WRITTEN_T5, FLEX_ALIBI, FLEX_T5)


def run(bench):
    """Measure forward in both dtypes, then training steps in float32."""
    effort = Effort(rounds=bench.rounds, seconds=SECONDS)
    for dtype_name in DTYPES:
        for length in (*LENGTHS, *((LONG,) if bench.long else ())):
            bench.measure(column_of("forward", dtype_name, length, FORWARD, _forward_targets(dtype_name, length)), effort)
    for length in TRAINED:
        for kind, variant, at_most in (("ALiBi", OUR_ALIBI, ALIBI_TRAINED_AT_MOST), ("T5", OUR_T5, T5_TRAINED_AT_MOST)):
            target = Target(variant.name, PLAIN.name, at_most)
            column = column_of(f"{kind}, forward and backward", "float32", length, (PLAIN, *KINDS[kind]), (target,))
            bench.measure(column, effort)


def column_of(group, dtype_name, length, variants, targets=(), part="scores"):
    dtype, backward = DTYPES[dtype_name], "backward" in group
    return Column(
        part=part,
        group=f"{group}, H = {HEADS}, D = {WIDTH}",
        name=f"{dtype_name} n = {length}",
        limit=PLAIN.name,
        variants=tuple(_unless_too_long(variant, group, dtype_name, length) for variant in variants),
        inputs=functools.partial(made, HEADS, length, WIDTH, dtype, backward),
        small=functools.partial(made, HEADS, SMALL, WIDTH, dtype, backward),
        wrong=wrong,
        checked_as=("scores", group, dtype_name),
        targets=targets,
        grad=backward,
    )


def _forward_targets(dtype_name, length):
    if length < FORWARD_FROM:
        return ()
    return tuple(Target(variant.name, PLAIN.name, FORWARD_AT_MOST[dtype_name]) for variant in (OUR_ALIBI, OUR_T5))


def _unless_too_long(variant, group, dtype_name, length):
    """A mask that is written out keeps its row where it is too long, with the reason."""
    longest = WRITTEN_UP_TO[group, dtype_name].get(variant, length)
    reason = f"left out: it writes matrices of n x n, and is measured up to n = {longest}"
    return variant if length <= longest else replace(variant, missing=reason)


def wrong(tensors, name, got):
    """What is wrong with the output, and with the gradients of q, k, v and T5's table."""
    leaves = [x.detach().double().requires_grad_(tensors.incoming is not None) for x in (tensors.q, tensors.k, tensors.v)]
    table = tensors.table.detach().double().requires_grad_(tensors.incoming is not None)
    want = (reference.attention(*leaves, _bias(tensors, name, table)),)
    if tensors.incoming is not None:
        learned = (*leaves, table) if "T5" in name else leaves
        want = (*want, *torch.autograd.grad(want[0], learned, tensors.incoming.double()))
    tolerance = TOLERANCES[tensors.q.dtype]
    difference = largest_difference(got, want)
    return None if difference <= tolerance else f"off by {difference:.2g} of the largest entry, allowed {tolerance:.2g}"


def _bias(tensors, name, table):
    if "ALiBi" in name:
        return reference.alibi_bias(tensors.heads, tensors.length)
    return (
        reference.t5_bias(table, tensors.length, MAX_DISTANCE) if "T5" in name else reference.no_bias(tensors.heads, tensors.length)
    )
