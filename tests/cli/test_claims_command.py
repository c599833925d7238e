"""``ordinate claims`` as its user runs it: what it prints, what it leaves out, its exit status, and how it refuses."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ordinate.claims
from ordinate.claims import CLAIMS, Claim, Measured, Note, Text, Verdict, ledger
from ordinate.claims.claim import judged
from ordinate.claims.kept_losses import UnmeasuredError
from ordinate.cli.claims_text import ending
from ordinate.cli.main import main
from ordinate.lab import kept
from ordinate.lab.results import Comparison

PROGRAM = "import sys; from ordinate.cli.main import main; sys.exit(main(sys.argv[1:]))"


def _two() -> Measured:
    return judged(holds=1 + 1 == 2, sum=2)


def _pigs() -> Measured:
    return judged(holds=False, instead=True, share=0.25)


def _trained(results: Comparison | None = None) -> Measured:
    source = "kept" if results is None else results.command
    return judged(holds=False, with_condition=True, source=source)


def claim(name: str, check: Callable[..., Measured], verdict: Verdict, shown: str, **given: object) -> Claim:
    made = Claim(
        name=name,
        note=Note.REPRESENTATIONS,
        kind="number",
        statement=Text(f"The {name} statement.", f"Утверждение {name}."),
        check=check,
        shown=Text(shown, shown),
        verdict=verdict,
    )
    return dataclasses.replace(made, **given)  # type: ignore[arg-type]


SMALL = (
    claim("pigs-fly", _pigs, Verdict.FAILS, "{share:.0%} of them", note=Note.WORDS, truth=Text("They walk.", "Ходят.")),
    claim("two", _two, Verdict.HOLDS, "the sum is {sum}", schemes=("nope",)),
    claim("trained", _trained, Verdict.CONDITION, "from {source}", truth=Text("If trained.", "Если обучена.")),
)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put another ledger in place."""
    monkeypatch.setenv("COLUMNS", "80")

    def put(*claims: Claim) -> None:
        monkeypatch.setattr(ordinate.claims, "CLAIMS", claims)
        monkeypatch.setattr(ledger, "CLAIMS", claims)

    put(*SMALL)
    return put


def fresh(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, "claims", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


@pytest.mark.usefixtures("use")
def test_everything_is_printed_by_note(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    *entries, last = printed.out.splitlines()
    assert entries == [
        "Positional representations (course note, in Russian)",
        "=" * 52,
        "",
        "✓ two: holds",
        "  The two statement.",
        "  measured: the sum is 2",
        "",
        "± trained: holds with a condition",
        "  The trained statement.",
        "  measured: from kept",
        "  condition: If trained.",
        "",
        "How do transformers take account of the position of words? (course note, in",
        "Russian)",
        "=" * 75,
        "",
        "✗ pigs-fly: does not hold",
        "  The pigs-fly statement.",
        "  measured: 25% of them",
        "  true: They walk.",
        "",
    ]
    assert re.fullmatch(r"3 claims in \d+\.\d s; ✓ holds: 1; ± holds with a condition: 1; ✗ does not hold: 1", last)


@pytest.mark.parametrize("option", ["--lang", "--language"])
@pytest.mark.usefixtures("use")
def test_russian(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert main(["claims", option, "ru"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:7] == [
        "Позиционные представления",
        "=" * 25,
        "",
        "✓ two: верно",
        "  Утверждение two.",
        "  измерено: the sum is 2",
        "",
    ]
    assert "  на деле: Ходят." in lines
    assert re.match(r"3 утверждения за \d+\.\d с; ✓ верно: 1; ± верно при условии: 1; ✗ неверно: 1$", lines[-1])
    assert not re.search("measured|recorded|holds|claims", "\n".join(lines))


def test_counts_that_do_not_fit_have_a_line_each(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["claims", "equivariance", "first-word"]) == 0
    *_, total, holds, condition = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"2 claims in \d+\.\d s", total)
    assert (holds, condition) == ("✓ holds: 1", "± holds with a condition: 1")


def names_in(text: str) -> list[str]:
    return re.findall(r"^[✓±✗?] ([a-z-]+):", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["two"], ["two"]),
        (["pigs-fly", "two", "two"], ["two", "pigs-fly"]),
        (["--note", "words"], ["pigs-fly"]),
        (["--note", "representations"], ["two", "trained"]),
        (["--verdict", "condition"], ["trained"]),
        (["--verdict", "fails"], ["pigs-fly"]),
        (["--verdict", "holds", "--note", "representations"], ["two"]),
    ],
)
@pytest.mark.usefixtures("use")
def test_choice(capsys: pytest.CaptureFixture[str], arguments: list[str], names: list[str]) -> None:
    assert main(["claims", *arguments]) == 0
    assert names_in(capsys.readouterr().out) == names
    assert main(["claims", "--json", *arguments]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tow"], "unknown claim 'tow'; did you mean two? (`ordinate claims --list`)\n"),
        (["two", "pigs-fry", "zzz"], "unknown claim 'pigs-fry'; did you mean pigs-fly?"),
        (["p1", "p2", "p3", "p4", "p5"], "unknown claim 'p1'"),
        (["a\nb"], "unknown claim 'a\\nb'"),
        (["two", "--note", "words"], "needed a choice that leaves a claim, got none: leave out a NAME, --note or --verdict"),
        (["--results", "nowhere.json"], "--results: needed a results.json of `ordinate compare`, or its folder, got nowhere.json"),
    ],
)
@pytest.mark.usefixtures("use")
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["claims", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"ordinate claims: {message}")
    assert printed.err.count("\n") == 1
    assert ("unknown claim 'zzz'" in printed.err) == ("zzz" in arguments)


@pytest.mark.usefixtures("use")
def test_many_unknown_names_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", *(f"qq{number}" for number in range(50))]) == 2
    said = capsys.readouterr().err
    assert re.findall(r"qq\d+", said) == ["qq0", "qq1", "qq2"]
    assert said.endswith("; and 47 more names that are unknown\n")
    assert main(["claims", "qq0", "qq1", "qq2"]) == 2
    assert "more names" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "en", "ru"),
    [
        (1, "1 claim in 0.5 s", "1 утверждение за 0.5 с"),
        (2, "2 claims in 0.5 s", "2 утверждения за 0.5 с"),
        (5, "5 claims in 0.5 s", "5 утверждений за 0.5 с"),
        (11, "11 claims in 0.5 s", "11 утверждений за 0.5 с"),
        (12, "12 claims in 0.5 s", "12 утверждений за 0.5 с"),
        (21, "21 claims in 0.5 s", "21 утверждение за 0.5 с"),
        (114, "114 claims in 0.5 s", "114 утверждений за 0.5 с"),
        (123, "123 claims in 0.5 s", "123 утверждения за 0.5 с"),
    ],
)
def test_counted_claims_agree_with_their_number(number: int, en: str, ru: str) -> None:
    found = [ledger.Settled(SMALL[1], _two(), 0.0)] * number
    for language, total in (("en", en), ("ru", ru)):
        assert "; ".join(ending(found, language, seconds=0.5)).split(";")[0] == total


@pytest.mark.usefixtures("use")
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    seconds = [entry.pop("seconds") for entry in entries]
    assert all(0 <= second < 60 for second in seconds)
    assert entries[2] == {
        "name": "pigs-fly",
        "note": "words",
        "note_title": "Как в трансформерах учитывается позиция слов?",
        "kind": "number",
        "statement": {"en": "The pigs-fly statement.", "ru": "Утверждение pigs-fly."},
        "verdict": "does not hold",
        "recorded": "does not hold",
        "as_recorded": True,
        "values": {"share": 0.25},
        "measured": {"en": "25% of them", "ru": "25% of them"},
        "truth": {"en": "They walk.", "ru": "Ходят."},
        "schemes": [],
    }
    assert entries[0]["schemes"] == ["nope"]


def test_another_verdict_is_news(use: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    use(*SMALL[1:], claim("wrong", _pigs, Verdict.HOLDS, "{share}", truth=Text("Old truth.", "Старое.")))
    assert main(["claims"]) == 1
    printed = capsys.readouterr()
    assert printed.err == "ordinate claims: wrong: recorded holds, measured does not hold\n"
    assert "✗ wrong: does not hold (recorded: holds)\n" in printed.out
    assert "Old truth" not in printed.out
    assert printed.out.splitlines()[-1] == "not as recorded: wrong"
    assert main(["claims", "--json"]) == 1
    printed = capsys.readouterr()
    assert printed.err == "ordinate claims: wrong: recorded holds, measured does not hold\n"
    assert [entry["as_recorded"] for entry in json.loads(printed.out)] == [True, True, False]


def test_a_check_that_stops_has_settled_nothing(use: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    def stops() -> Measured:
        raise RuntimeError("no such table")

    use(SMALL[1], claim("stops", stops, Verdict.HOLDS, "{nothing}"))
    assert main(["claims"]) == 1
    printed = capsys.readouterr()
    assert "? stops: not settled (recorded: holds)\n" in printed.out
    assert "measured: the check stopped: RuntimeError: no such table\n" in printed.out
    assert printed.err == "ordinate claims: stops: recorded holds, measured not settled\n"
    assert main(["claims", "stops", "--json"]) == 1
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry["measured"]["ru"] == "проверка прервана: RuntimeError: no such table"


def test_json_has_no_infinity(use: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    use(claim("far", lambda: judged(holds=True, far=math.inf, near=math.nan), Verdict.HOLDS, "{far} {near}"))
    assert main(["claims", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert entry["values"] == {"far": "inf", "near": "nan"}


def test_list_runs_nothing(use: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    use(claim("silent", lambda: pytest.fail("it ran"), Verdict.CONDITION, "", truth=Text("T.", "Т.")), SMALL[0])
    assert main(["claims", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[3] == "± silent    The silent statement."
    assert lines[-1] == "✗ pigs-fly  The pigs-fly statement."
    assert main(["claims", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["recorded"] for entry in listed] == ["holds with a condition", "does not hold"]
    assert not {"verdict", "values", "measured"} & set(listed[0])


@pytest.mark.usefixtures("use")
def test_code_is_the_checks(capsys: pytest.CaptureFixture[str]) -> None:
    for extra in ([], ["--list"]):
        assert main(["claims", "two", "--code", *extra]) == 0
        printed = capsys.readouterr().out
        assert "    def _two() -> Measured:\n        return judged(holds=1 + 1 == 2, sum=2)\n" in printed
        assert main(["claims", "two", "--code", "--json", *extra]) == 0
        assert json.loads(capsys.readouterr().out)[0]["code"] == inspect.getsource(_two)


@pytest.mark.usefixtures("use")
def test_results_of_ones_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own = json.loads(kept.KEPT.read_text())
    own["command"] = "mine"
    (tmp_path / "results.json").write_text(json.dumps(own))
    for path in (tmp_path, tmp_path / "results.json"):
        assert main(["claims", "--results", str(path), "--code"]) == 0
        printed = capsys.readouterr()
        assert "measured: from mine\n" in printed.out
        assert "def _trained(results" in printed.out
        assert printed.err == ""
    (tmp_path / "results.json").write_text('{"made_by": "someone"}')
    assert main(["claims", "--results", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith("ordinate claims: --results: needed a results.json of `ordinate compare` in format")


def test_a_remark_on_the_packages_losses_is_not_made_of_others(
    use: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    def holds(results: Comparison | None = None) -> Measured:
        return judged(holds=True, source="kept" if results is None else "own")

    use(claim("good", holds, Verdict.HOLDS, "{source}", truth=Text("Of ours.", "О наших.")), *SMALL[1:])
    assert main(["claims"]) == 0
    printed = capsys.readouterr().out
    assert "  remark: Of ours.\n" in printed
    assert main(["claims", "good", "--lang", "ru"]) == 0
    assert "  замечание: О наших.\n" in capsys.readouterr().out
    assert main(["claims", "--results", str(kept.KEPT)]) == 0
    printed = capsys.readouterr().out
    assert "measured: own" in printed
    assert "Of ours" not in printed
    assert "  condition: If trained.\n" in printed
    assert main(["claims", "--json", "--results", str(kept.KEPT)]) == 0
    assert "Of ours" not in capsys.readouterr().out


def test_what_was_not_measured_is_said(use: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    def lacks() -> Measured:
        raise UnmeasuredError("needed a scheme", "нужна схема")

    use(claim("lacks", lacks, Verdict.HOLDS, "{nothing}"))
    for language, line in (
        ("en", "  measured: nothing to judge by: needed a scheme\n"),
        ("ru", "  измерено: судить не по чему: нужна схема\n"),
    ):
        assert main(["claims", "--lang", language]) == 1
        assert line in capsys.readouterr().out
    assert main(["claims", "--json"]) == 1
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry["verdict"] == "not settled"
    assert entry["values"] == {"reason": "needed a scheme", "reason_ru": "нужна схема"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--json", "--lang", "ru"], "--lang has no effect on --json, which has both languages"),
        (["--list", "--results", "anything"], "--results has no effect on --list"),
        (["two", "--results", str(kept.KEPT)], "--results has no effect: none of these claims rests on trained models"),
    ],
)
@pytest.mark.usefixtures("use")
def test_what_has_no_effect_is_said(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert main(["claims", *arguments]) == 0
    assert capsys.readouterr().err == f"ordinate claims: warning: {said}\n"


@pytest.mark.parametrize(("columns", "widest"), [("20", 24), ("40", 40), ("80", 80), ("400", 100), ("0", 80)])
def test_lines_fit_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str, widest: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    if columns == "0":  # no terminal, nothing known
        monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    for arguments in (["equivariance", "causal-mask"], ["--list"], ["equivariance", "--lang", "ru"], ["--list", "--lang", "ru"]):
        assert main(["claims", *arguments]) == 0
        lines = capsys.readouterr().out.splitlines()
        too_long = [line for line in lines if len(line) > widest and len(line.split()) > 2]
        assert too_long == []
        if columns == "400" and "--list" not in arguments:
            assert max(map(len, lines)) > 80


def test_the_whole_ledger_is_as_recorded() -> None:
    done = fresh("--json")
    assert done.stderr == ""
    assert done.returncode == 0
    entries = json.loads(done.stdout, parse_constant=pytest.fail)
    assert sorted(entry["name"] for entry in entries) == sorted(claim.name for claim in CLAIMS)
    for entry in entries:
        assert entry["verdict"] == entry["recorded"]
        assert entry["values"]


@pytest.mark.parametrize(
    "arguments", [["claims", "--list"], ["claims", "--list", "--json", "--code"], ["claims", "--help"], ["--help"]]
)
def test_a_list_and_the_help_load_no_torch(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom ordinate.cli.main import main\n"
        f"try:\n    main({arguments})\nexcept SystemExit:\n    pass\n"
        "print('torch' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "False\n"
    assert "claims" in done.stdout or "equivariance" in done.stdout


def test_plain_marks_where_there_is_no_letter() -> None:
    done = fresh("equivariance", "example-position-0", "first-word", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert re.findall(r"^([-+~?]) ([a-z0-9-]+):", done.stdout, flags=re.MULTILINE) == [
        ("+", "equivariance"),
        ("~", "first-word"),
        ("-", "example-position-0"),
    ]


@pytest.mark.parametrize("extra", [[], ["--list"]])
def test_json_is_escaped_where_there_are_no_letters(extra: list[str]) -> None:
    plain, letters = (fresh("equivariance", "--json", *extra, PYTHONIOENCODING=code).stdout for code in ("ascii", "utf-8"))
    assert plain.isascii()
    assert "?" not in json.loads(plain)[0]["statement"]["ru"]
    assert json.loads(plain)[0]["statement"] == json.loads(letters)[0]["statement"]
    assert "\\u" in plain
    assert "\\u" not in letters


def shell(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-c", f"set -o pipefail; {script}", sys.executable, PROGRAM, "claims", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


WRONG = (
    "import sys, dataclasses, ordinate.claims as c\n"
    "from ordinate.cli.main import main\n"
    "wrong = dataclasses.replace(c.find('equivariance'), verdict=c.Verdict.FAILS)\n"
    "c.CLAIMS = (wrong,)\n"
    "sys.exit(main(['claims']))\n"
)


def test_a_reader_that_leaves_has_not_changed_a_verdict() -> None:
    done = shell('"$0" -c "import time; time.sleep(0.5); $1" "${@:2}" | true', "--list", "--json")
    assert (done.stderr, done.returncode) == ("", 3)


@pytest.mark.parametrize("arguments", [["equivariance"], ["--list"], ["equivariance", "--json"]])
def test_a_full_disk_has_not_changed_a_verdict(arguments: list[str]) -> None:
    done = shell('"$0" -c "$1" "${@:2}" > /dev/full', *arguments)
    assert (done.stderr, done.returncode) == ("ordinate: could not write (No space left on device)\n", 3)


@pytest.mark.parametrize(("closed", "out", "err"), [(">&-", False, True), ("2>&-", True, False), (">&- 2>&-", False, False)])
def test_closed_streams_do_not_hide_the_verdict(closed: str, out: bool, err: bool) -> None:
    done = shell(f'"$0" -c "$1" "${{@:2}}" {closed}', "equivariance")
    assert (bool(done.stdout), done.stderr, done.returncode) == (out, "", 0)
    command = ["bash", "-c", f'"$0" -c "$1" {closed}', sys.executable, WRONG]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (bool(done.stdout), bool(done.stderr), done.returncode) == (out, err, 1)
    done = shell(f'"$0" -c "$1" "${{@:2}}" {closed}', "nothing-like-it")
    assert (done.stdout, bool(done.stderr), done.returncode) == ("", err, 2)


def test_an_error_that_cannot_be_said_is_no_traceback() -> None:
    command = ["bash", "-c", '"$0" -c "$1" claims equivariance > /dev/full 2> /dev/full', sys.executable, PROGRAM]
    assert subprocess.run(command, check=False).returncode == 3


def test_the_help_names_every_status() -> None:
    said = fresh("--help").stdout
    assert "0 if every verdict is the recorded one, 1 if any is another, 2 for bad input" in said
    assert "3 if the output could not be written" in said


def test_progress_is_shown_on_a_terminal_alone() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", PROGRAM, "claims", "equivariance", "causal-mask"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=False)
    os.close(theirs)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "1 / 2  equivariance" in shown
    assert "2 / 2  causal-mask" in shown
    assert shown.endswith("\r\x1b[2K")
    assert b"1 / 2" not in done.stdout
    assert fresh("equivariance").stderr == ""
