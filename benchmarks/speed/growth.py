"""Time by length, and the exponent of the power law that fits it best."""

from dataclasses import replace

from benchmarks.speed import angles, rotation, scores
from benchmarks.speed.arithmetic import fitted_exponent
from benchmarks.speed.rotators import CLONE, OURS, TRANSFORMERS
from benchmarks.speed.score_variants import OUR_ALIBI, OUR_T5, PLAIN
from benchmarks.speed.timing import Effort
from benchmarks.speed.vectors import STORAGES, Shape

LONG_LENGTHS = tuple(1024 * 2**doubling for doubling in range(8))
SCORE_LENGTHS = tuple(512 * 2**doubling for doubling in range(7))
HEADS, HEAD_DIM = 2, 128
# A variant that takes longer than this is not tried at the next length.
LONGEST_SECONDS = 8.0


def run(bench):
    """Measure angles, rotation and attention at every length."""
    effort = Effort(rounds=min(bench.rounds, 7), fewest=1, seconds=1.0)
    for lengths, column_at in ((LONG_LENGTHS, _angles), (LONG_LENGTHS, _rotation), (SCORE_LENGTHS, _scores)):
        grown(bench, lengths, column_at, effort)


def grown(bench, lengths, column_at, effort):
    """Measure one group of columns, and add its exponents."""
    records, stopped = [], {}
    for length in lengths:
        column = column_at(length)
        variants = tuple(replace(variant, missing=stopped.get(variant.name, variant.missing)) for variant in column.variants)
        record = bench.measure(replace(column, part="growth", name=f"n = {length}", variants=variants, shown="seconds"), effort)
        records.append((length, record))
        for name, row in record["rows"].items():
            if row.get("median", 0) > LONGEST_SECONDS:
                stopped[name] = f"left out: {row['median']:.0f} s at n = {length} already"
    bench.add({"part": "growth", "group": records[0][1]["group"], "exponents": exponents(records)})


def exponents(records):
    """The fitted exponent of every row, from (length, record) pairs."""
    found = {}
    for name in records[0][1]["rows"]:
        points = [(length, record["rows"][name]["median"]) for length, record in records if "median" in record["rows"][name]]
        found[name] = fitted_exponent(*map(list, zip(*points, strict=True))) if points else None
    return found


def _angles(length):
    return angles.column_of(length, tuple(variant for variant in angles.ALL if variant.name in (angles.LIMIT, angles.OURS)))


def _rotation(length):
    ours = tuple(rotator for rotator in OURS if rotator.sequence_dim == -2)
    shape = Shape(1, HEADS, HEADS, length, HEAD_DIM)
    column = rotation.column_of(shape, "float32", STORAGES[0], False, (CLONE, *ours, TRANSFORMERS), targets=())
    return replace(column, group=f"rotation, forward, B = 1, H = {HEADS}, D = {HEAD_DIM}, float32")


def _scores(length):
    column = scores.column_of("forward", "float32", length, (PLAIN, OUR_ALIBI, OUR_T5))
    return replace(column, group=f"attention, {column.group}, float32")
