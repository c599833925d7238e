"""The command: choosing, what is printed, exit statuses, pages, the action and the hook."""

from __future__ import annotations

import json
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path

import pytest
from checkpoints_on_disk import LLAMA, written
from planted_configs import LONG, YARN, ruled

from ordinate.cli.main import main
from ordinate.doctor import Diagnosis
from ordinate.doctor.catalogue import ENTRIES
from ordinate.doctor.finding import diagnosis, exit_status, worst_first
from ordinate.doctor.pages import pages
from ordinate.doctor.precision import DTYPES, angle_error, merged
from ordinate.doctor.showing import lines_of
from ordinate.faults import KINDS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clean(tmp_path: Path) -> str:
    return str(written(tmp_path / "clean", LLAMA))


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    return str(written(tmp_path / "wrong", {**ruled(LONG, YARN, factor=2.0), "rope_teta": 1e6}))


def codes(capsys: pytest.CaptureFixture[str]) -> set[str]:
    return {each["code"] for each in json.loads(capsys.readouterr().out)["findings"]}


def test_exit_statuses(clean: str, wrong: str) -> None:
    assert main(["doctor", clean]) == 0
    assert main(["doctor", wrong]) == 1
    assert main(["doctor", "missing"]) == 2
    assert main(["doctor", clean, wrong, "missing"]) == 2
    assert main(["doctor", wrong, "--ignore", "ORD1"]) == 0
    assert main(["doctor"]) == 2
    assert main(["doctor", clean, "--json", "--sarif"]) == 2
    assert main(["doctor", clean, "--select", "ORD999"]) == 2


def test_what_people_see(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", wrong])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"ORD101 error  {wrong}  [config-key-dropped]"
    assert "\x1b" not in "\n".join(lines)
    assert len(lines) <= 24
    assert lines[-1] == f"{wrong}: 1 error, 1 warning, 3 notes"
    assert [line.split()[0] for line in lines if line.startswith("ORD")] == ["ORD101", "ORD104", "ORD110", "ORD202", "ORD203"]
    assert any(line.strip().startswith("remedy: ") for line in lines)
    main(["doctor", wrong, "--quiet"])
    assert "note  " not in capsys.readouterr().out


def test_colour_is_for_terminals() -> None:
    found = [diagnosis("ORD102", "two").of("a"), diagnosis("ORD110", "old").of("a")]
    assert lines_of(found, ["a"], colour=True, quiet=False)[0].startswith("\x1b[31;1mORD102 error\x1b[0m")
    assert "\x1b" not in "".join(lines_of(found, ["a"], colour=False, quiet=False))


def test_json(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", wrong, "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["targets"] == [wrong]
    assert said["exit_status"] == 1
    assert set(said["findings"][0]) == set(Diagnosis.__dataclass_fields__)
    assert [each["code"] for each in said["findings"]][:2] == ["ORD101", "ORD104"]


def test_sarif(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", wrong, "--sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == wrong
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1
        assert result["message"]["text"]


def test_choosing(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", wrong, "--json", "--select", "ORD1"])
    assert codes(capsys) == {"ORD101", "ORD104", "ORD110"}
    main(["doctor", wrong, "--json", "--select", "ord1,ORD2", "--ignore", "ORD11,ORD203"])
    assert codes(capsys) == {"ORD101", "ORD104", "ORD202"}
    main(["doctor", wrong, "--json", "--ignore", "ORD1", "--select", "ORD104"])
    assert codes(capsys) == {"ORD104"}
    assert main(["doctor", "missing", "--select", "ORD104"]) == 2


def test_the_table(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    table = tmp_path / "pyproject.toml"
    table.write_text('[tool.ordinate]\nselect = ["ORD1"]\nignore = ["ORD104"]\n')
    assert main(["doctor", wrong, "--json"]) == 1
    assert codes(capsys) == {"ORD101", "ORD110"}
    main(["doctor", wrong, "--json", "--select", "ORD2"])
    assert codes(capsys) == {"ORD202", "ORD203"}
    table.write_text('[tool.ordinate]\nexclude = ["*/wrong"]\n')
    assert main(["doctor", wrong]) == 0
    for text, said in (
        ("selct = []", "got selct"),
        ('select = "ORD1"', "needed a list"),
        ('select = ["X"]', "'X'"),
        ("[[[", "needed TOML"),
    ):
        table.write_text(f"[tool.ordinate]\n{text}\n")
        assert main(["doctor", wrong]) == 2
        assert said in capsys.readouterr().err
    table.unlink()
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    assert main(["doctor", wrong]) == 1  # the nearest file is the one that counts


def test_two_targets_are_compared(tmp_path: Path, clean: str, capsys: pytest.CaptureFixture[str]) -> None:
    other = str(written(tmp_path / "other", {**LLAMA, "rope_theta": 5e5}))
    assert main(["doctor", clean, other]) == 1
    assert "47.04x" in capsys.readouterr().out
    assert main(["doctor", clean, other, "--apart"]) == 0
    assert main(["doctor", clean, other, clean]) == 0


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--explain", "ord104"]) == 0
    assert capsys.readouterr().out.startswith("# ORD104: ")
    assert main(["doctor", "--explain", "ORD000"]) == 2
    assert "needed one of ORD101" in capsys.readouterr().err


@dataclass
class Measured:
    value: str


def test_code_and_probes_are_called_only_if_asked(
    clean: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []
    code = types.ModuleType("ordinate.doctor.code")
    code.diagnose_object = lambda spec: asked.append(spec) or [diagnosis("ORD401", "drifts")]  # type: ignore[attr-defined]
    code.diagnose_source = lambda path: asked.append(path) or [diagnosis("ORD201", "cast", where="12")]  # type: ignore[attr-defined]
    report = types.ModuleType("ordinate.doctor.probe.report")
    report.probed = lambda target: Measured(target)  # type: ignore[attr-defined]
    report.lines_of = lambda result, _: [f"measured {result.value}"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ordinate.doctor.code", code)
    monkeypatch.setitem(sys.modules, "ordinate.doctor.probe.report", report)
    assert main(["doctor", "package.module:Object", "file.py", "--sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert asked == ["package.module:Object", "file.py"]
    lines = {result["ruleId"]: result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in run["results"]}
    assert lines == {"ORD401": 1, "ORD201": 12}
    assert main(["doctor", clean]) == 0
    assert "measured" not in capsys.readouterr().out
    assert main(["doctor", clean, "--probe"]) == 0
    assert f"measured {clean}" in capsys.readouterr().out
    assert main(["doctor", clean, "--probe", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["probes"] == [{"target": clean, "value": clean}]
    assert main(["doctor", clean, "--probe", "--sarif"]) == 2


# The catalogue and its pages


def test_every_kind_has_its_code() -> None:
    for kind in KINDS.values():
        assert ENTRIES[kind.code].kind == kind.name
    assert list(ENTRIES) == sorted(ENTRIES)
    for code, entry in ENTRIES.items():
        assert re.fullmatch(r"ORD\d{3}", code)
        assert entry.code == code
        assert entry.kind is None or KINDS[entry.kind].code[:4] == code[:4], "a kind's codes share their hundred"
        assert all((entry.title, entry.what, entry.why, entry.example, entry.mend, entry.is_not))


def test_pages_are_made_of_the_catalogue() -> None:
    folder = ROOT / "docs" / "findings"
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == pages()


def test_order_and_status() -> None:
    found = [
        diagnosis("ORD110", "a"),
        diagnosis("ORD104", "b"),
        diagnosis("ORD801", "c"),
        diagnosis("ORD901", "d"),
        diagnosis("ORD110", "a"),
    ]
    assert [each.code for each in worst_first(found)] == ["ORD901", "ORD801", "ORD104", "ORD110"]
    assert exit_status(found) == 2
    assert exit_status(found[1:3]) == 1
    assert exit_status(found[:1]) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_precision_is_torchs_own(dtype: str) -> None:
    """Spacing of numbers as torch has it: the next one after the last position, and half of it as an error."""
    import torch

    kind = getattr(torch, dtype)
    for length in (2, 100, 257, 2049, 4097, 60000, 131073):
        last = torch.tensor(float(length - 1), dtype=torch.float64)
        if dtype == "float16" and length > 65504:
            assert merged(dtype, length) is angle_error(dtype, length) is None
            continue
        below = torch.nextafter(last.to(kind), torch.tensor(0.0, dtype=kind)).double()
        spacing = float(last.to(kind).double() - below)
        power_of_two = (length - 1) & (length - 2) == 0
        spacing *= 2 if power_of_two else 1  # the spacing above a power of two is twice that below
        assert angle_error(dtype, length) == min(spacing / 2, torch.pi)
        assert merged(dtype, length) == max(spacing, 1)


def test_action_and_hook() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    assert set(action["inputs"]) == {"targets", "args", "python", "package"}
    steps = " ".join(step.get("run", "") for step in action["runs"]["steps"])
    assert "ordinate doctor" in steps
    assert "${{" not in steps, "inputs reach the shell as variables, never as text of the script"
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"] == "ordinate doctor --apart --quiet"
    pattern = re.compile(hook["files"])
    fits = [
        name
        for name in ("config.json", "a/config.json", "a/m.gguf", "a/adapter_config.json", "tsconfig.json")
        if pattern.search(name)
    ]
    assert fits == ["config.json", "a/config.json", "a/m.gguf", "a/adapter_config.json"]
