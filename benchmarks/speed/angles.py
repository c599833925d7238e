"""cos and sin of all positions of a long sequence, exact ones against the float32 outer product that most libraries use."""

import torch
from benchmarks.speed import peers, reference
from benchmarks.speed.columns import Column, Target, Variant, largest_difference
from benchmarks.speed.timing import Effort

from ordinate import Rope

LENGTH, SMALL, HEAD_DIM = 131072, 4096, 128
AT_MOST = 1.5
OURS, OURS_FLOAT32, LIMIT = "ordinate, exact", "ordinate, float32", "float32 outer, cos, sin"
# float32 angles are off by half an ulp of the angle, which grows with the position.
EXACT_TOLERANCE, FLOAT32_TOLERANCE = 4e-8, 5e-4
SECONDS = 3.0


def run(bench):
    bench.measure(column_of(LENGTH, ALL, targets=(Target(OURS, LIMIT, AT_MOST),)), Effort(rounds=bench.rounds, seconds=SECONDS))


def column_of(length, variants, targets=()):
    return Column(
        part="angles",
        group=f"cos and sin of all positions, D = {HEAD_DIM}",
        name=f"n = {length}",
        limit=LIMIT,
        variants=variants,
        inputs=lambda: length,
        small=lambda: SMALL,
        wrong=_wrong,
        checked_as="angles",
        targets=targets,
    )


def _ours(phases):
    def make(length):
        rope = Rope(head_dim=HEAD_DIM, layout="half", base=reference.BASE, phases=phases)
        return lambda: rope.at(range(length))

    return make


def _outer(length):
    def make():
        exponents = torch.arange(0, HEAD_DIM, 2).float() / HEAD_DIM
        turns = torch.outer(torch.arange(length).float(), 1.0 / reference.BASE**exponents)
        return turns.cos(), turns.sin()

    return make


def _transformers(length):
    embedding, x, places = peers.llama_embedding(HEAD_DIM), torch.empty(0), torch.arange(length)[None]
    return lambda: embedding(x, places)


def _torchtune(length):
    made = peers.torchtune_positions().RotaryPositionalEmbeddings
    return lambda: made(HEAD_DIM, max_seq_len=length, base=int(reference.BASE)).cache


def _x_transformers(length):
    from x_transformers.x_transformers import RotaryEmbedding

    embedding = RotaryEmbedding(HEAD_DIM, base=reference.BASE)

    def make():
        frequencies, _ = embedding.forward_from_seq_len(length)
        return frequencies.cos(), frequencies.sin()

    return make


def _wrong(length, name, got):
    difference = largest_difference(got, reference.angles(range(length), HEAD_DIM))
    tolerance = EXACT_TOLERANCE if name == OURS else FLOAT32_TOLERANCE
    return None if difference <= tolerance else f"off by {difference:.2g}, allowed {tolerance:.2g}"


ALL = (
    Variant(LIMIT, _outer),
    Variant(OURS, _ours("exact"), lambda at: (at.cos, at.sin)),
    Variant(OURS_FLOAT32, _ours("float32"), lambda at: (at.cos, at.sin)),
    Variant(
        "transformers",
        _transformers,
        lambda tables: tuple(table[0, :, : HEAD_DIM // 2] for table in tables),
        peers.missing("transformers"),
    ),
    Variant("torchtune", _torchtune, lambda table: table.unbind(-1), peers.missing("torchtune")),
    Variant(
        "x-transformers, cos, sin",
        _x_transformers,
        lambda tables: tuple(table[0, :, ::2] for table in tables),
        peers.missing("x_transformers"),
    ),
)
