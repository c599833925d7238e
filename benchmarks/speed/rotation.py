"""Turning the queries and keys of a sequence, against copying them: the least that a result of its own can cost."""

import functools

import torch
from benchmarks.speed import reference, vectors
from benchmarks.speed.columns import Column, Target, Variant, largest_difference
from benchmarks.speed.peers import missing
from benchmarks.speed.rotators import CLONE, IN_PLACE, OURS, PEERS, TRANSFORMERS, compiled
from benchmarks.speed.timing import Effort
from benchmarks.speed.vectors import STORAGES, Shape

SHAPES = {"big": Shape(1, 32, 32, 2048, 128), "mid": Shape(8, 16, 16, 512, 64), "gqa": Shape(1, 32, 8, 2048, 128)}
SMALL = Shape(2, 4, 2, 48, 128)
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
FORWARD_AT_MOST, BACKWARD_AT_MOST, IN_PLACE_AT_MOST = 1.25, 1.35, 0.4
SECONDS = 0.7
# Of the largest entry.
TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 2e-2}


def run(bench):
    """Measure every shape, dtype, storage and pass."""
    for backward in (False, True):
        for storage in STORAGES:
            for shape_name in SHAPES:
                for dtype_name in DTYPES:
                    rotators = (*usual(storage, backward), *_compiled(storage, backward, shape_name, bench.long))
                    column = column_of(SHAPES[shape_name], dtype_name, storage, backward, rotators, name=shape_name)
                    bench.measure(column, Effort(rounds=bench.rounds, seconds=SECONDS))


def usual(storage, backward):
    """The limit, ours, and the peers whose models store vectors this way."""
    chosen = (CLONE, *OURS, *(() if backward else IN_PLACE), *PEERS)
    return tuple(rotator for rotator in chosen if storage in rotator.storages)


def _compiled(storage, backward, shape_name, long):
    """Compilers take their time: the big shape only, and of the backward passes transformers' only, but all with --long."""
    peers = PEERS if long or (shape_name == "big" and not backward) else (TRANSFORMERS,) if shape_name == "big" else ()
    return tuple(compiled(peer) for peer in peers if storage in peer.storages)


def column_of(shape, dtype_name, storage, backward, rotators, name="", targets=None):
    dtype = DTYPES[dtype_name]
    if targets is None:
        targets = targets_of(rotators, backward, in_place=(name, dtype_name) == ("big", "float32"))
    passes = "forward and backward" if backward else "forward"
    return Column(
        part="rotation",
        group=f"{passes}, {storage}",
        name=f"{name} {dtype_name}",
        limit=CLONE.name,
        variants=tuple(variant_of(rotator) for rotator in rotators),
        inputs=functools.partial(vectors.made, shape, dtype, storage, backward),
        small=functools.partial(vectors.made, SMALL, dtype, storage, backward),
        wrong=functools.partial(wrong, {rotator.name: rotator.layout for rotator in rotators}),
        checked_as=("rotation", storage, dtype_name, backward),
        targets=targets,
        grad=backward,
    )


def targets_of(rotators, backward, in_place):
    at_most = BACKWARD_AT_MOST if backward else FORWARD_AT_MOST
    targets = [Target(rotator.name, CLONE.name, at_most) for rotator in rotators if rotator in OURS]
    if in_place:
        targets += [Target(rotator.name, CLONE.name, IN_PLACE_AT_MOST) for rotator in rotators if rotator in IN_PLACE]
    return tuple(targets)


def variant_of(rotator):
    def make(inputs):
        turn = rotator.turning(inputs.shape, inputs.dtype)
        return (vectors.in_place if rotator.in_place else vectors.timed)(turn, inputs, rotator.sequence_dim)

    def read(result):
        """Outputs [B, H, T, D]; gradients stay as the vectors are stored."""
        outputs = result[:2] if rotator.sequence_dim == -2 else tuple(x.transpose(1, 2) for x in result[:2])
        return (*outputs, *result[2:])

    return Variant(rotator.name, make, read, missing(rotator.package) if rotator.package else None)


def wrong(layouts, inputs, name, got):
    """What is wrong with turned queries and keys, and with their gradients."""
    layout, places, tolerance = layouts[name], inputs.shape.positions, TOLERANCES[inputs.dtype]
    want = [_turned(x, places, layout, False) for x in inputs.seen(inputs.stored, -2)]
    if inputs.incoming is not None:
        gradients = tuple(_turned(x, places, layout, True) for x in inputs.seen(inputs.incoming, -2))
        want += inputs.seen(gradients, -2)
    difference = largest_difference(got, tuple(want))
    return None if difference <= tolerance else f"off by {difference:.2g} of the largest entry, allowed {tolerance:.2g}"


def _turned(x, places, layout, backwards):
    return x.detach().double() if layout is None else reference.turned(x, places, layout, backwards)
