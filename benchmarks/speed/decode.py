"""One token: turning its query and key, where the call itself is what costs, and making the angles of its position."""

import dataclasses
import itertools

import torch
from benchmarks.speed import peers, reference, rotation
from benchmarks.speed.columns import Column, Target, Variant, largest_difference
from benchmarks.speed.rotators import APART, AS_FUNCTION, CLONE, OURS, PEERS, TRANSFORMERS, compiled
from benchmarks.speed.timing import Effort
from benchmarks.speed.vectors import STORAGES, Shape

from ordinate import Rope

POSITION, HEAD_DIM = 100, 128
SHAPES = {
    "32 heads": Shape(1, 32, 32, 1, HEAD_DIM, start=POSITION),
    "32 and 8 heads": Shape(1, 32, 8, 1, HEAD_DIM, start=POSITION),
}
ONE_CALL_AT_MOST, TWO_CALLS_AT_MOST = 1 / 6, 1 / 4
SAMPLE_SECONDS = 0.005
ANGLES_TOLERANCE = 2e-4


def run(bench):
    """Measure both head counts and dtypes, then the angles."""
    effort = Effort(rounds=2 * bench.rounds, sample_seconds=SAMPLE_SECONDS)
    for shape_name in SHAPES:
        for dtype_name in rotation.DTYPES:
            bench.measure(_turning(shape_name, dtype_name), effort)
    bench.measure(_angles(), effort)


def _turning(shape_name, dtype_name):
    ours = [rotator for rotator in OURS if rotator.sequence_dim == -2]
    rotators = (CLONE, *ours, APART, AS_FUNCTION, *PEERS, compiled(TRANSFORMERS))
    shape = SHAPES[shape_name]
    column = rotation.column_of(shape, dtype_name, STORAGES[0], False, rotators, name=shape_name, targets=_targets(ours))
    place = {"part": "decode", "group": "query and key of one token, [B, H, 1, D], no grad"}
    # The shape is small enough to be checked as it is timed.
    return dataclasses.replace(column, **place, small=column.inputs, checked_as=("decode", shape_name, dtype_name))


def _targets(ours):
    one_call = [Target(rotator.name, TRANSFORMERS.name, ONE_CALL_AT_MOST) for rotator in ours]
    return (*one_call, Target(APART.name, TRANSFORMERS.name, TWO_CALLS_AT_MOST))


def _angles():
    variants = (
        Variant("ordinate, exact", _ours, lambda at: (at.cos, at.sin)),
        Variant("transformers", _transformers, _first_halves, peers.missing("transformers")),
        Variant("x-transformers, cos, sin", _x_transformers, _every_other, peers.missing("x_transformers")),
    )
    return Column(
        part="decode",
        group="cos and sin of one position",
        name=f"D = {HEAD_DIM}",
        limit="transformers",
        variants=variants,
        inputs=lambda: POSITION,
        small=lambda: POSITION,
        wrong=_wrong,
        checked_as="angles of one position",
        targets=(Target("ordinate, exact", "transformers", 1.0),),
    )


def _ours(position):
    rope, places = Rope(head_dim=HEAD_DIM, layout="half", base=reference.BASE), itertools.count(position)

    def at():
        place = next(places)
        return rope.at(range(place, place + 1))

    return at


def _transformers(position):
    embedding, x, places = peers.llama_embedding(HEAD_DIM), torch.empty(0), torch.tensor([[position]])
    return lambda: embedding(x, places)


def _x_transformers(position):
    from x_transformers.x_transformers import RotaryEmbedding

    embedding, places = RotaryEmbedding(HEAD_DIM, base=reference.BASE), torch.tensor([position])

    def cos_sin():
        frequencies, _ = embedding(places)
        return frequencies.cos(), frequencies.sin()

    return cos_sin


def _first_halves(result):
    return tuple(table[0, :, : HEAD_DIM // 2] for table in result)


def _every_other(result):
    return tuple(table[0, :, ::2] for table in result)


def _wrong(position, _name, got):
    difference = largest_difference(got, reference.angles([position], HEAD_DIM))
    return None if difference <= ANGLES_TOLERANCE else f"off by {difference:.2g}, allowed {ANGLES_TOLERANCE:.2g}"
