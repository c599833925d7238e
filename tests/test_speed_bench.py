"""The harness of `make bench`: its sums, its turns, what it refuses. Nothing here depends on how fast anything is."""

import itertools
import json
import math
import os
import random
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from benchmarks.speed import __main__ as command
from benchmarks.speed import angles, decode, gate, growth, memory, peak, peers, report, rotation, rotators, score_variants, scores
from benchmarks.speed import without_kernel as uncompiled
from benchmarks.speed.arithmetic import fitted_exponent, met, paired_ratio, ratio, summary
from benchmarks.speed.columns import Column, Target, Variant, compared, largest_difference, measured
from benchmarks.speed.timing import Effort, Meter, interleaved, is_due, repeats_for, rounds_for
from benchmarks.speed.vectors import STORAGES

from ordinate import ALiBi

LIMIT = "limit"


class FakeTime:
    """A clock that only moves when a fake function is called."""

    def __init__(self):
        self.now, self.faults, self.called = 0.0, 0, []
        self.meter = Meter(lambda: self.now, lambda: self.faults)

    def taking(self, name, seconds, faults=0):
        def run():
            self.now += seconds
            self.faults += faults
            self.called.append(name)
            return torch.tensor([1.0, 2.0])

        return run


def column_of(variants, targets=(), wrong=lambda *_: None, inputs=lambda: "inputs", **settings):
    return Column("part", "group", "name", LIMIT, tuple(variants), inputs, lambda: "small", wrong, "key", targets, **settings)


# Sums


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.37, 2.0])
@pytest.mark.parametrize("factor", [1e-6, 3.0])
def test_the_exponent_of_a_power_law(exponent, factor):
    sizes = [512, 1024, 4096, 32768]
    assert math.isclose(fitted_exponent(sizes, [factor * n**exponent for n in sizes]), exponent, abs_tol=1e-12)


def test_the_exponent_is_a_fit_and_wants_two_sizes():
    # least squares by hand: logarithms 0, 1, 2 and 0, 2, 1 (base 2) have slope 1/2
    assert math.isclose(fitted_exponent([1, 2, 4], [1, 4, 2]), 0.5)
    assert fitted_exponent([8], [1.0]) is None


def test_ratio_and_verdict():
    assert ratio(3.0, 2.0) == 1.5
    assert ratio(0, 2.0) == 0
    assert ratio(1.0, 0) is None
    assert met(1.25, 1.25)
    assert met(1.2504, 1.25)  # printed as 1.250
    assert not met(1.251, 1.25)
    assert met(1 / 6, 1 / 6)
    assert not met(None, 1.25)


def test_rounds_are_compared_with_themselves():
    """A machine that is three times slower in some rounds changes nothing, though the medians fall into other rounds."""
    limit = {"median": 1.0, "turns": [0, 1, 2, 3, 4], "seconds": [1.0, 3.0, 1.0, 3.0, 1.0]}
    row = {"median": 6.0, "turns": [0, 1, 3], "seconds": [2.0, 6.0, 6.6]}
    assert paired_ratio(row, limit) == 2.0
    assert paired_ratio({"median": 6.0}, limit) == 6.0
    assert paired_ratio({"median": 6.0, "turns": [7], "seconds": [6.0]}, limit) == 6.0


def test_rows_of_numbers_take_a_line():
    document = {"rows": {"a": {"turns": [0, 1], "seconds": [1.5e-05, -2.0], "names": ["b", "c"], "none": []}}}
    text = command.written(document)
    assert json.loads(text) == document
    assert '"seconds": [1.5e-05, -2.0]' in text


def test_summary():
    assert summary([5.0, 1.0, 2.0, 4.0, 3.0]) == (3.0, (2.0, 4.0))
    assert summary([7.0]) == (7.0, (7.0, 7.0))


# Turns


def test_a_sample_lasts_long_enough_and_gives_the_time_of_one_call():
    time = FakeTime()
    repeats, seconds = repeats_for(time.taking("a", 0.0003), 0.002, time.meter)
    assert math.isclose(seconds, 0.0003)
    assert 0.002 <= repeats * 0.0003 < 0.004
    assert repeats_for(time.taking("b", 0.5), 0.002, time.meter)[0] == 1


def test_slow_functions_get_fewer_rounds():
    effort = Effort(rounds=20, fewest=3, seconds=2.0)
    assert [rounds_for(seconds, 1, effort) for seconds in (0.001, 0.1, 0.25, 5.0)] == [20, 20, 8, 3]
    assert rounds_for(0.01, 100, effort) == 3  # a sample of 100 calls lasts a second
    assert rounds_for(5.0, 1, replace(effort, rounds=2)) == 2


@pytest.mark.parametrize("needed", [1, 3, 7, 20])
def test_the_rounds_of_slow_functions_are_spread_evenly(needed):
    turns = [turn for turn in range(20) if is_due(turn, needed, 20)]
    gaps = [after - before for before, after in itertools.pairwise(turns)]
    assert len(turns) == needed
    assert all(20 // needed <= gap <= 20 // needed + 1 for gap in gaps)


def test_turns_are_taken_in_a_new_random_order_every_round():
    time = FakeTime()
    runs = {name: time.taking(name, seconds, faults) for name, seconds, faults in (("a", 0.5, 0), ("b", 0.25, 3), ("c", 1.0, 1))}
    samples = interleaved(runs, Effort(rounds=12, seconds=100.0), time.meter, random.Random(0))
    rounds = [tuple(time.called[start : start + 3]) for start in range(3, len(time.called), 3)]  # after one call each for repeats
    assert len(rounds) == 12
    assert all(sorted(names) == ["a", "b", "c"] for names in rounds)
    assert len(set(rounds)) > 3
    assert {name: set(found.seconds) for name, found in samples.items()} == {"a": {0.5}, "b": {0.25}, "c": {1.0}}
    assert {name: set(found.faults) for name, found in samples.items()} == {"a": {0.0}, "b": {3.0}, "c": {1.0}}


def test_times_and_faults_are_of_one_call():
    time = FakeTime()
    samples = interleaved({"a": time.taking("a", 2**-12, 2)}, Effort(rounds=4, sample_seconds=2**-8), time.meter)["a"]
    assert samples.repeats >= 16
    assert (samples.seconds, samples.faults) == ([2**-12] * 4, [2.0] * 4)


# Columns


def test_a_column_is_compared_with_its_limit():
    time = FakeTime()
    runs = {name: time.taking(name, seconds) for name, seconds in ((LIMIT, 0.5), ("fast", 0.25), ("slow", 1.0))}
    variants = [Variant(name, lambda _, name=name: runs[name]) for name in runs]
    targets = (Target("fast", LIMIT, 0.5), Target("slow", LIMIT, 1.5), Target("fast", "slow", 0.25))
    record = measured(column_of(variants, targets), Effort(rounds=3), {}, time.meter)
    assert {name: row["ratio"] for name, row in record["rows"].items()} == {LIMIT: 1.0, "fast": 0.5, "slow": 2.0}
    assert [(target["ratio"], target["met"]) for target in record["targets"]] == [(0.5, True), (2.0, False), (0.25, True)]
    assert record["rows"]["slow"]["quartiles"] == (1.0, 1.0)


def test_a_wrong_variant_is_refused_by_name_and_never_timed():
    time, given = FakeTime(), []

    def make(inputs):
        given.append(inputs)
        return time.taking("bad", 0.1)

    def wrong(_small, name, _got):
        return "off by 3" if name == "bad" else None

    variants = (Variant(LIMIT, lambda _: time.taking(LIMIT, 1.0)), Variant("bad", make))
    record = measured(column_of(variants, (Target("bad", LIMIT, 9.0),), wrong), Effort(rounds=2), {}, time.meter)
    assert record["rows"]["bad"] == {"left_out": "refused, wrong result: off by 3"}
    assert given == ["small"]
    assert time.called.count("bad") == 1
    assert not record["targets"][0]["met"]
    assert "bad: refused, wrong result: off by 3" in report.tables([record])


def test_what_fails_or_is_missing_keeps_its_row():
    def failing(inputs):
        if inputs == "inputs":
            raise RuntimeError("not enough memory\nand more")
        return lambda: None

    time = FakeTime()
    variants = (
        Variant(LIMIT, lambda _: time.taking(LIMIT, 1.0)),
        Variant("large", failing),
        Variant("absent", failing, missing="peer is not installed"),
    )
    record = measured(column_of(variants), Effort(rounds=2), {}, time.meter)
    assert record["rows"]["large"]["left_out"] == "does not run: RuntimeError: not enough memory"
    assert record["rows"]["absent"]["left_out"] == "peer is not installed"


def test_checks_are_shared_by_columns_with_one_key():
    time, seen, checks = FakeTime(), [], {}
    variant = Variant(LIMIT, lambda inputs: seen.append(inputs) or time.taking(LIMIT, 1.0))
    for _ in range(2):
        measured(column_of([variant]), Effort(rounds=1), checks, time.meter)
    assert seen == ["small", "inputs", "inputs"]


def test_largest_difference():
    want = (torch.tensor([2.0, -4.0]).double(), torch.tensor([1.0]).double())
    assert largest_difference((torch.tensor([2.0, -3.0]), torch.tensor([1.0])), want) == 0.25
    assert largest_difference((torch.tensor([2.0]), torch.tensor([1.0])), want) == math.inf
    assert largest_difference((torch.tensor([2.0, math.nan]), torch.tensor([1.0])), want) == math.inf


# The parts


def fault(column, variant):
    small = column.small()
    with torch.set_grad_enabled(column.grad):
        return column.wrong(small, variant.name, variant.read(variant.make(small)()))


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", rotation.DTYPES)
def test_wrong_rotations_are_refused(dtype, storage, backward):
    def broken(change):
        def turning(shape, dtype):
            turn = rotators.OURS[0].turning(shape, dtype)
            return lambda q, k: change(*turn(q, k))

        return replace(rotators.OURS[0], turning=turning)

    def straight(shape, dtype):
        """The right result, whose gradient is not turned back."""
        turn = rotators.OURS[0].turning(shape, dtype)
        return lambda q, k: tuple(x + (out - x).detach() for x, out in zip((q, k), turn(q, k), strict=True))

    small = rotation.SMALL
    wrong = {
        "other layout": replace(rotators.OURS[1], name=rotators.OURS[0].name),
        "keys forgotten": broken(lambda q, _k: (q, q[:, : small.k_heads] * 0.5)),
        "one step further": replace(rotators.OURS[0], turning=lambda s, d: rotators.OURS[0].turning(replace(s, start=1), d)),
        **({"gradient not turned": replace(rotators.OURS[0], turning=straight)} if backward else {}),
    }
    column = rotation.column_of(small, dtype, storage, backward, rotators.OURS[:1])
    assert fault(column, rotation.variant_of(rotators.OURS[0])) is None
    for rotator in wrong.values():
        assert fault(column, rotation.variant_of(rotator)).startswith("off by")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the peers' own
@pytest.mark.parametrize("storage", STORAGES)
def test_the_peers_that_are_installed_are_right(storage):
    for backward in (False, True):
        column = rotation.column_of(rotation.SMALL, "float32", storage, backward, rotation.usual(storage, backward))
        assert {variant.name: fault(column, variant) for variant in column.variants if variant.missing is None} == dict.fromkeys(
            variant.name for variant in column.variants if variant.missing is None
        )


def test_a_peer_that_is_not_installed_is_named():
    assert peers.missing("torch") is None
    assert peers.missing("no_such_peer").startswith("no_such_peer is not installed")


@pytest.mark.parametrize("group", ["forward", "ALiBi, forward and backward", "T5, forward and backward"])
def test_wrong_attention_is_refused(group, monkeypatch):
    monkeypatch.setattr(scores, "SMALL", 64)
    right = (score_variants.PLAIN, *(variant for kind in score_variants.KINDS.values() for variant in kind[:2]))
    column = scores.column_of(group, "float32", 64, right)
    assert {variant.name: fault(column, variant) for variant in right} == dict.fromkeys(variant.name for variant in right)

    def full(tensors):
        return score_variants.timed(F.scaled_dot_product_attention, tensors)

    def other_slopes(tensors):
        return score_variants._ours(ALiBi(n_heads=tensors.heads, slopes=(0.25,) * tensors.heads), tensors)

    def half_the_gradient(tensors):
        run = score_variants.OUR_T5.make(tensors)
        return lambda: (*(found := run())[:-1], found[-1] * 0.5)

    for variant, make in (
        (score_variants.PLAIN, full),
        (score_variants.OUR_ALIBI, other_slopes),
        (score_variants.OUR_T5, half_the_gradient),
    ):
        assert fault(column, replace(variant, make=make)).startswith("off by")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the peers' own
def test_wrong_angles_are_refused(monkeypatch):
    monkeypatch.setattr(angles, "SMALL", 512)
    column = angles.column_of(512, angles.ALL)
    assert {variant.name for variant in column.variants if variant.missing is None and fault(column, variant)} == set()
    float32 = next(variant for variant in angles.ALL if variant.name == angles.OURS_FLOAT32)
    assert fault(column, replace(float32, name=angles.OURS)).startswith("off by")
    assert fault(column, replace(float32, read=lambda at: (at.sin, at.cos))).startswith("off by")


class Listing:
    """Stands in for a bench: keeps the columns, measures nothing."""

    rounds, long = 2, True

    def __init__(self):
        self.columns, self.added = [], []

    def measure(self, column, _effort):
        self.columns.append(column)
        return compared(column, {variant.name: {"median": 1.0} for variant in column.variants})

    def add(self, record):
        self.added.append(record)

    def say(self, line):
        pass


@pytest.mark.parametrize("run", [rotation.run, decode.run, angles.run, scores.run, growth.run])
def test_targets_name_rows_of_their_columns(run):
    bench = Listing()
    run(bench)
    assert bench.columns
    for column in bench.columns:
        names = [variant.name for variant in column.variants]
        assert len(set(names)) == len(names)
        assert {column.limit, *(name for target in column.targets for name in (target.row, target.against))} <= set(names)
    places = [(column.group, column.name) for column in bench.columns]
    assert len(set(places)) == len(places)


def test_columns_of_a_process_of_their_own_have_names_of_their_own(monkeypatch):
    for columns in memory.families().values():
        assert len({memory.key_of(column) for column in columns}) == len(columns)
    bench = Listing()
    monkeypatch.setattr(uncompiled, "Bench", lambda _rounds: bench)
    uncompiled.measured(2)
    assert all(column.targets and all(target.at_most == 1.0 for target in column.targets) for column in bench.columns)


def test_growth_stops_where_a_variant_is_too_slow_and_fits_the_rest():
    class Quadratic(Listing):
        def measure(self, column, effort):
            record = super().measure(column, effort)
            for variant in column.variants:
                seconds = column.inputs() ** 2 * (1.0 if variant.name == "slow" else 0.001)
                record["rows"][variant.name] = {"left_out": variant.missing} if variant.missing else {"median": seconds}
            return record

    bench = Quadratic()
    variants = [Variant(name, lambda _: None) for name in (LIMIT, "slow")]
    growth.grown(bench, (1, 2, 4, 8), lambda length: column_of(variants, inputs=lambda: length), Effort())
    assert [column.variants[1].missing for column in bench.columns] == [None, None, None, "left out: 16 s at n = 4 already"]
    assert all(column.variants[0].missing is None for column in bench.columns)
    assert bench.added[0]["exponents"] == pytest.approx({LIMIT: 2.0, "slow": 2.0})


SEEN_PEAKS = """
import torch
from benchmarks.speed.peak import MIB, peak_bytes
n = 64 * MIB // 4
torch.ones(n) * 2
print(peak_bytes(lambda: torch.ones(n)), peak_bytes(lambda: torch.ones(n) * 2))
"""


# A process of its own, as in the benchmark: in this one a large free block of the heap may serve what is asked for.
@pytest.mark.skipif(not peak.can_measure(), reason="needs Linux's /proc/self/clear_refs")
def test_peak_bytes():
    environment = {**os.environ, **peak.ENVIRONMENT}
    done = subprocess.run(
        [sys.executable, "-c", SEEN_PEAKS], cwd=gate.ROOT, env=environment, capture_output=True, text=True, check=True
    )
    one, two = (int(figure) / peak.MIB for figure in done.stdout.split())
    assert one == pytest.approx(64, abs=1)
    assert two == pytest.approx(128, abs=1)


def test_kept_bytes():
    x = torch.ones(1000, requires_grad=True)
    assert peak.saved_bytes(lambda: x * x) == 4000
    assert peak.saved_bytes(lambda: x.sin().sin()) == 8000
    assert peak.saved_bytes(lambda: x.exp().sin()) == 4000  # the result of one is the input of the other
    assert peak.saved_bytes(lambda: x + 1) == 0


# The gate and the command


@pytest.mark.parametrize(("text", "line"), [("def test_it():\n    assert 1 + 1 == 3\n", "1 failed"), ("", "no tests ran")])
def test_failing_tests_stop_the_benchmark(tmp_path, text, line, monkeypatch, capsys):
    (tmp_path / "test_it.py").write_text(text)
    reached = []
    monkeypatch.setattr(command, "PARTS", {"angles": reached.append})
    monkeypatch.setattr(gate.check, "__defaults__", ((("test_it.py",),), tmp_path))
    assert command.main(["--only", "angles"]) == 1
    assert reached == []
    said = capsys.readouterr().err
    assert "nothing is measured, since this failed: pytest -q test_it.py" in said
    assert line in said


def test_passing_tests_open_it(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    (outcome,) = gate.check((("test_it.py",),), tmp_path)
    assert outcome["result"].startswith("1 passed")


def test_the_named_tests_exist():
    for chosen in gate.TESTS:
        assert all((gate.ROOT / name).exists() for name in chosen if name.startswith("tests/"))


def test_losses_are_kept_and_wrong_results_of_ours_fail_the_run(monkeypatch, tmp_path, capsys):
    column = column_of([Variant(LIMIT, None), Variant("ordinate half", None)], (Target("ordinate half", LIMIT, 1.25),))
    lost = compared(column, {LIMIT: {"median": 1.0}, "ordinate half": {"median": 2.0}})
    monkeypatch.setattr(gate, "check", lambda: [{"command": "pytest -q", "result": "1 passed"}])
    monkeypatch.setattr(command.environment, "leave_memory", lambda: None)
    monkeypatch.setattr(command, "PARTS", {"angles": lambda bench: bench.add(lost)})
    file = tmp_path / "figures.json"
    assert command.main(["--only", "angles", "--output", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "2.000  1.250    NOT MET" in printed
    assert "0 of 1 targets met" in printed
    written = command.json.loads(file.read_text())
    assert (written["targets_met"], written["targets"], written["records"][0]["targets"][0]["met"]) == (0, 1, False)
    assert {"versions", "command", "cpu", "threads", "paths", "tests"} <= set(written)

    refused = compared(column, {LIMIT: {"median": 1.0}, "ordinate half": {"left_out": "refused, wrong result: off by 3"}})
    monkeypatch.setattr(command, "PARTS", {"angles": lambda bench: bench.add(refused)})
    assert command.main(["--only", "angles"]) == 1


@pytest.mark.parametrize("arguments", [["--only", "rotations"], ["--rounds", "0"], ["--rounds", "many"], ["--skip-tests"]])
def test_wrong_options_are_refused(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        command.parsed(arguments)
    assert "error" in capsys.readouterr().err


def test_all_parts_by_default():
    assert command.parsed([]).only == list(command.PARTS)
    assert command.parsed(["--only", "angles,scores"]).only == ["angles", "scores"]
    assert sys.modules["benchmarks.speed.__main__"] is command
