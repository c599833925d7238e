"""`python -m benchmarks.speed`: run the operations' tests, measure, print tables, write JSON."""

import argparse
import json
import re
import sys
from pathlib import Path

import torch
from benchmarks.speed import angles, decode, environment, gate, growth, memory, report, rotation, scores, without_kernel
from benchmarks.speed.bench import Bench

PARTS = {
    "rotation": rotation.run,
    "decode": decode.run,
    "angles": angles.run,
    "scores": scores.run,
    "memory": memory.run,
    "growth": growth.run,
    "without-kernel": without_kernel.run,
}
ROUNDS = 12


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--only", type=chosen, default=list(PARTS), metavar="NAME,...", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=rounds, default=ROUNDS, help=f"samples of every variant, at most (default {ROUNDS})")
    parser.add_argument("--output", type=Path, help="JSON file with every figure")
    parser.add_argument("--long", action="store_true", help="attention at 16384 tokens and compiled peers at all shapes, too")
    return parser.parse_args(arguments)


def chosen(text):
    unknown = [name for name in text.split(",") if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"needed names of {', '.join(PARTS)}, got {', '.join(unknown)}")
    return text.split(",")


def rounds(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"needed a whole number of at least 1, got {text}")
    return int(text)


def main(arguments=None):
    """Exit status 1 if the tests fail or a result of ours is wrong; a target that is not met is a finding, not a failure."""
    options = parsed(arguments)
    bench = Bench(options.rounds, options.long)
    bench.say("the operations' tests")
    try:
        tests = gate.check()
    except gate.TestsFailedError as failure:
        print(failure, file=sys.stderr)
        return 1
    environment.leave_memory()
    torch.manual_seed(0)
    for name in options.only:
        PARTS[name](bench)
        if options.output is not None:  # after every part: what was measured is kept if a later part is stopped
            options.output.write_text(written(document(options, tests, bench)))
    print(report.tables(bench.records))
    return 1 if refused_of_ours(bench.records) else 0


def written(document):
    """JSON with every row of numbers on one line."""
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    return re.sub(r"\[\s+([-+.\deE,\s]+?)\s+\]", lambda row: f"[{' '.join(row[1].split())}]", text)


def document(options, tests, bench):
    met, of = report.count_met(bench.records)
    return {
        **environment.described(),
        "rounds": options.rounds,
        "long": options.long,
        "seconds_taken": round(bench.seconds()),
        "tests": tests,
        "targets_met": met,
        "targets": of,
        "records": bench.records,
    }


def refused_of_ours(records):
    """Names of our variants whose results were wrong."""
    rows = [item for record in records for item in record.get("rows", {}).items()]
    return [name for name, row in rows if name.startswith("ordinate") and row.get("left_out", "").startswith("refused")]


if __name__ == "__main__":
    sys.exit(main())
