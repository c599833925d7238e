"""What is no configuration, hostile files, and the command: one line, in bounded time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mutations import (
    CONFIGS,
    OF_JSON,
    accepted,
    outcome,
    refused,
)
from small_configs import LLAMA, written

from ordinate import checkpoints
from ordinate.checkpoints.plan import PositionPlan
from ordinate.cli.main import main

# What is no configuration


@pytest.mark.parametrize("source", [None, 5, b"config.json", [LLAMA], {1}, "a\0b", "\ud800", LLAMA.items(), 2.5, object(), Path])
def test_what_is_no_source(source: Any) -> None:
    refused(source)


class Configuration:
    model_type = "llama"

    def __init__(self, values: Any) -> None:
        self.values = values

    def to_dict(self) -> Any:
        return self.values


@pytest.mark.parametrize("values", [None, [], "x", 5, [("model_type", "llama")]], ids=repr)
def test_configuration_objects_that_give_no_mapping(values: Any) -> None:
    refused(Configuration(values), "Configuration")


def test_a_class_in_place_of_its_object() -> None:
    assert accepted(Configuration(LLAMA)).layers == accepted(LLAMA).layers
    refused(Configuration, "needed")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"model_type": 5}, ("model_type", "got 5")),
        ({"model_type": ""}, ("model_type", "got ''")),
        ({"model_type": ["bert"]}, ("model_type", "got ['bert']")),
        ({"model_type": "lama"}, ("model_type 'lama' is not in the table", "did you mean llama")),
        ({"ignore": None}, ("ignore", "got None")),
        ({"ignore": 5}, ("ignore", "got 5")),
        ({"ignore": "rope_theta"}, ("ignore", "got 'rope_theta'")),
        ({"ignore": [["rope_theta"]]}, ("ignore", "got")),
        ({"ignore": [5]}, ("ignore", "got")),
    ],
    ids=repr,
)
def test_wrong_options(options: dict[str, Any], parts: tuple[str, ...]) -> None:
    refused(LLAMA, *parts, **options)


# Files


GOOD = json.dumps(LLAMA)
START = GOOD[:-1]
FILES: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "empty": ("", ("config.json: needed JSON",)),
    "blank": (" \n\n", ("config.json: needed JSON",)),
    "null": ("null", ("config.json: needed a JSON object, got None",)),
    "number": ("5", ("config.json: needed a JSON object, got 5",)),
    "list": (f"[{GOOD}]", ("config.json: needed a JSON object",)),
    "text": ('"llama"', ("config.json: needed a JSON object, got 'llama'",)),
    "not JSON": ("model_type: llama\n", ("config.json: needed JSON",)),
    "Python": (repr(LLAMA), ("config.json: needed JSON",)),
    "not UTF-8": (b'{"model_type": "\xff\xfe"}', ("config.json: needed JSON",)),
    "UTF-16": (GOOD.encode("utf-16"), ("config.json: needed JSON",)),
    "UTF-32": (GOOD.encode("utf-32"), ("config.json: needed JSON",)),
    "zeros": (b"\0" * 1000, ("config.json: needed JSON",)),
    "gzip": (b"\x1f\x8b\x08\0" + bytes(range(256)), ("config.json: needed JSON",)),
    "half a letter": (b'{"model_type": "\xed\xa0\x80"}', ("config.json: needed JSON",)),
    "escaped half": ('{"model_type": "\\ud800"}', ("model_type '\\ud800' is not in the table",)),
    "two values": (GOOD + GOOD, ("config.json: needed JSON",)),
    "comment": ("// a\n" + GOOD, ("config.json: needed JSON",)),
    "comma": (START + ",}", ("config.json: needed JSON",)),
    "nested deeply": ("[" * 10**5 + "]" * 10**5, ("config.json: needed a configuration, got JSON nested too deeply",)),
    "only opened": ("[" * 10**5, ("config.json: ",)),
    "value nested deeply": (f'{START}, "a": {"[" * 10**5}{"]" * 10**5}}}', ("nested too deeply",)),
    "mappings nested deeply": ('{"a":' * 10**5 + "1" + "}" * 10**5, ("nested too deeply",)),
    "many digits": (f'{START}, "rope_theta": {"9" * 5001}}}', ("config.json: ",)),
    "many digits beside": (f'{START}, "rope_theta": {"9" * 4001}}}', ("rope_theta: needed", "a very large number")),
    "many digits inside": (f'{START}, "rope_theta": [{"9" * 4001}]}}', ("rope_theta: needed",)),
    "1e400": (START + ', "rope_theta": 1e400}', ("rope_theta: needed a finite number >= 1, got inf",)),
    "NaN": (START + ', "rope_theta": NaN}', ("rope_theta: needed a finite number >= 1, got nan",)),
    "-Infinity": (START + ', "rope_theta": -Infinity}', ("rope_theta: needed a finite number >= 1, got -inf",)),
    "twice": (START + ', "rope_theta": 1e4, "rope_theta": 1e6}', ("'rope_theta' is there twice, as 10000.0 and as 1000000.0",)),
    "twice inside": (START + ', "rope_scaling": {"type": "yarn", "type": "linear"}}', ("'type' is there twice, as 'yarn' and as",)),
    "twice, NaN": (START + ', "rope_theta": NaN, "rope_theta": 1}', ("'rope_theta' is there twice, as nan and as 1",)),
    "twice, lines": (START + ', "a\\nb": 1, "a\\nb": 2}', ("'a\\nb' is there twice",)),
    "lines": (START + ', "rope_\\nx": 1}', ("is unknown",)),
}


@pytest.mark.parametrize("what", FILES)
def test_files(tmp_path: Path, what: str) -> None:
    content, parts = FILES[what]
    path = written(tmp_path, content)
    assert refused(path, *parts) == refused(str(tmp_path), *parts)


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + GOOD.encode(), START + ', "rope_theta": 1, "rope_theta": 1}', GOOD + "\r\n"])
def test_files_that_are_right_after_all(tmp_path: Path, content: str | bytes) -> None:
    accepted(written(tmp_path, content))


@pytest.mark.parametrize("name", ["gemma_3_4b_it.json", "llama_3_1_8b.json", "omnigen_v1_phi3_su.json", "mpt_7b.json"])
def test_truncated_files(tmp_path: Path, name: str) -> None:
    text = (CONFIGS / name).read_text().rstrip()
    for end in range(0, len(text), 13):
        refused(written(tmp_path, text[:end]), "config.json: needed JSON")
    accepted(written(tmp_path, text))


def test_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)
    refused(path, "config.json: needed at most", "got 104857600")
    refused(tmp_path, "config.json: needed at most")


@pytest.mark.parametrize(
    "middle",
    [
        ",".join(f'"a{number}": 1' for number in range(900_000)),
        f'"a": [{"[]," * 4_000_000}[]]',
        f'"a": "{"x" * 12_000_000}"',
        ",".join(f'"rope_{number}": null' for number in range(8_000)),
        ",".join(f'"rope_{number}": {number}' for number in range(20_000)),
        f'"sliding_window": "{"x" * 12_000_000}"',
        f'"rope_scaling": {{{",".join(f"{chr(34)}k{number}{chr(34)}: 1" for number in range(300_000))}}}',
    ],
    ids=["keys", "lists", "text", "keys that are off", "unknown keys", "idle text", "keys of the dictionary"],
)
def test_files_of_the_largest_size_take_bounded_time(tmp_path: Path, middle: str) -> None:
    found = outcome(written(tmp_path, f"{START}, {middle}}}"))
    assert isinstance(found, PositionPlan) or len(found) < 2**20


def test_keys_that_are_there_twice_at_every_depth(tmp_path: Path) -> None:
    text = f'{START}, "a": {chr(123)}{(chr(34) + "a" + chr(34) + ":1," + chr(34) + "a" + chr(34) + ":{") * 300}'
    text += f'"b":"{"x" * 200_000}"' + "}" * 302
    refused(written(tmp_path, text), "'a' is there twice")


def test_folders_and_links(tmp_path: Path) -> None:
    refused(tmp_path, "needed config.json or one GGUF file in the folder, got neither")
    (tmp_path / "config.json").mkdir()
    refused(tmp_path, "needed config.json or one GGUF file")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "config.json").symlink_to("../to/config.json")
    refused(tmp_path / "to", "needed config.json")
    for path in (tmp_path / "loop.json", tmp_path / "nothing.json", tmp_path / ("x" * 300), tmp_path / "loop.json" / "config.json"):
        with pytest.raises(OSError):  # noqa: PT011
            checkpoints.read(path)
    (tmp_path / "dir.gguf").mkdir()
    refused(tmp_path / "dir.gguf", "needed config.json or one GGUF file in the folder, got neither")


def test_a_folder_whose_name_has_lines(tmp_path: Path) -> None:
    folder = tmp_path / "a\nb"
    folder.mkdir()
    refused(folder, "needed config.json")
    refused(written(folder, "", name="c\nd.json"), "needed JSON")
    accepted(written(folder, GOOD, name="c\nd.json"))


# The command


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["read", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def refuses(capsys: pytest.CaptureFixture[str], path: Path | str, *options: str) -> str:
    status, out, err = said(capsys, str(path), *options)
    assert (status, out) == (2, "")
    assert err.startswith("ordinate read: ")
    assert err.endswith("\n")
    assert err[:-1].isprintable(), err
    return err


@pytest.mark.parametrize("what", FILES)
def test_the_command_refuses_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    content, parts = FILES[what]
    written(tmp_path, content)
    for options in ((), ("--json",)):
        assert all(part in refuses(capsys, tmp_path, *options) for part in parts)


def test_the_command_and_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for name in ("nothing", "loop", "x" * 300, "a\nb", "loop/config.json", "a\0b", "nothing.gguf"):
        refuses(capsys, tmp_path / name)
    refuses(capsys, tmp_path)
    (tmp_path / "a\nb").mkdir()
    refuses(capsys, tmp_path / "a\nb")


def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("what", [name for name in OF_JSON if name not in ("long text", "deep list")])
def test_the_command_prints_json_whatever_an_idle_key_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    for key in ("sliding_window", "n_ctx", "max_window_layers"):
        path = written(tmp_path, json.dumps({**LLAMA, key: OF_JSON[what]}))
        status, out, err = said(capsys, str(path), "--json")
        assert (status, err) == (0, "")
        assert strict(out)["model_type"] == "llama"
        status, out, err = said(capsys, str(path))
        assert (status, err) == (0, "")
        assert all(line.isprintable() for line in out.split("\n"))


@pytest.mark.parametrize("depth", [100, 300, 500, 900])
@pytest.mark.parametrize("key", ["sliding_window", "rope_theta", "layer_types", "rope_scaling", "a"])
def test_nesting_that_json_allows(tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, depth: int) -> None:
    path = written(tmp_path, f'{START}, "{key}": {"[" * depth}{"]" * depth}}}')
    for options in ((), ("--json",)):
        status, out, err = said(capsys, str(path), *options)
        assert (status == 2) == (out == "") == (err.count("\n") == 1)
        assert status in (0, 2)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
from ordinate.cli.main import main
sys.exit(main(["read", *sys.argv[1:]]))
"""


def run_limited(*arguments: str, seconds: float = 60.0) -> tuple[int, str]:
    """The command in a process of its own, with 3 GB; it is stopped if it waits."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, timeout=seconds, check=False, errors="replace"
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("name", ["config.json", "pipe", "pipe.gguf"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    for path in (tmp_path / name, tmp_path):
        status, err = run_limited(str(path))
        assert (status, err.count("\n")) == (2, 1), err
        assert "Traceback" not in err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null"])
def test_a_device_is_not_read_to_its_end(name: str) -> None:
    status, err = run_limited(name)
    assert (status, err.count("\n")) == (2, 1), err[-400:]
    assert err.startswith("ordinate read: ")
