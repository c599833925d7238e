"""Peak memory and bytes kept for the backward pass: a fresh process for every variant, which measures all its columns.

`python -m benchmarks.speed.memory FAMILY VARIANT` is such a process; it prints JSON.
"""

import functools
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch
from benchmarks.speed import angles, rotation, scores
from benchmarks.speed.columns import Target, compared, described_failure, fault_of
from benchmarks.speed.gate import ROOT
from benchmarks.speed.peak import ENVIRONMENT, MIB, can_measure, peak_bytes, saved_bytes
from benchmarks.speed.score_variants import FLEX_ALIBI, KINDS, OUR_ALIBI, OUR_T5, PLAIN, WRITTEN_ALIBI, WRITTEN_T5
from benchmarks.speed.vectors import STORAGES

LEFT_OUT = "left_out"
PROCESSES = 2
TRAINED_LENGTH, LENGTHS = 2048, (2048, 8192)
SCORES = (PLAIN, OUR_ALIBI, OUR_T5, WRITTEN_ALIBI, WRITTEN_T5, FLEX_ALIBI)


def run(bench):
    """Add a record of peaks for every column, and one of kept bytes where there is a backward pass."""
    if not can_measure():
        bench.say("memory: left out, it needs Linux's /proc/self/clear_refs")
        return
    for family, columns in families().items():
        names = list(dict.fromkeys(variant.name for column in columns for variant in column.variants))
        bench.say(f"memory: {family}, {len(names)} processes")
        # Nothing is timed here, so several may run at once.
        with ThreadPoolExecutor(PROCESSES) as pool:
            found = dict(zip(names, pool.map(functools.partial(_in_fresh_process, family), names), strict=True))
        for column in columns:
            for record in _records(family, column, found):
                bench.add(record)


def families():
    """Columns by what they measure."""
    return {"angles": _angles(), "rotation": _rotations(), "attention": _attentions()}


def _angles():
    variants = tuple(variant for variant in angles.ALL if variant.name != angles.OURS_FLOAT32)
    return [angles.column_of(angles.LENGTH, variants, (Target(angles.OURS, angles.LIMIT, 1.0),))]


def _rotations():
    return [
        rotation.column_of(
            rotation.SHAPES["big"], dtype_name, storage, backward, rotation.usual(storage, backward), "big", targets=()
        )
        for backward in (False, True)
        for storage in STORAGES
        for dtype_name in rotation.DTYPES
    ]


def _attentions():
    columns = [scores.column_of("forward", "float32", length, SCORES) for length in LENGTHS]
    for kind, of_kind in KINDS.items():
        variants = tuple(variant for variant in SCORES if variant is PLAIN or variant in of_kind)
        columns.append(scores.column_of(f"{kind}, forward and backward", "float32", TRAINED_LENGTH, variants))
    return columns


def _in_fresh_process(family, name):
    command = [sys.executable, "-m", "benchmarks.speed.memory", family, name]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True)
    if done.returncode != 0:
        return {LEFT_OUT: f"does not run: {(done.stderr.strip().splitlines() or ['killed'])[-1]}"}
    return json.loads(done.stdout.splitlines()[-1])


def _records(family, column, found):
    """Whole MiB: a process's peak moves by some pages from run to run."""
    figures = {variant.name: found[variant.name].get(key_of(column), found[variant.name]) for variant in column.variants}
    place = replace(column, part="memory", shown="figures")
    peaks = {name: _row(figure, "peak", 0) for name, figure in figures.items()}
    yield compared(replace(place, group=f"peak of one call, {family}: {column.group}"), peaks, unit="MiB")
    if column.grad:
        kept = {name: _row(figure, "saved", 1) for name, figure in figures.items()}
        yield compared(replace(place, group=f"kept for the backward pass, {family}: {column.group}", targets=()), kept, unit="MiB")


def key_of(column):
    """A column's name among all of its family."""
    return f"{column.group}, {column.name}"


def _row(figure, key, digits):
    return {LEFT_OUT: figure[LEFT_OUT]} if LEFT_OUT in figure else {"median": round(figure[key] / MIB, digits)}


def figures_of(family, name):
    """Of one variant, by column: bytes at the peak and kept, or why there are none."""
    found = {}
    for column in families()[family]:
        variant = next((variant for variant in column.variants if variant.name == name), None)
        if variant is not None:
            found[key_of(column)] = {LEFT_OUT: variant.missing} if variant.missing else _measured(column, variant)
    return found


def _measured(column, variant):
    with torch.set_grad_enabled(column.grad):
        fault = fault_of(column, variant, column.small())
        if fault is not None:
            return {LEFT_OUT: fault}
        try:
            timed = variant.make(column.inputs())
            return {"saved": saved_bytes(timed), "peak": peak_bytes(timed)}
        except Exception as error:  # out of memory, or no backward pass: the row says so
            return {LEFT_OUT: described_failure(error)}


if __name__ == "__main__":
    print(json.dumps(figures_of(*sys.argv[1:])))
