"""``ordinate stretch`` as its user runs it, on a small checkpoint."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ordinate.cli.main import main
from ordinate.stretching.figures import NAMES
from stretching.conftest import TRAINED, llama, save, text, tiny

__all__ = ["text", "tiny"]

LENGTH = 2 * TRAINED
SMALL = ("--start", "10", "--chunk", "40", "--lengths", "512")


def stretch(*arguments: object) -> int:
    return main(["stretch", *map(str, arguments)])


def found(folder: Path) -> Any:
    """results.json without what depends on the clock and the command line."""
    document = json.loads((folder / "results.json").read_text())
    del document["run"]
    for cell in document["cells"]:
        del cell["seconds"]
    return document


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tiny: Path, text: Path) -> Path:
    """A run from its beginning to its end."""
    folder = tmp_path_factory.mktemp("whole") / "report"
    assert stretch(tiny, *SMALL, "--text", text, "--output", folder) == 0
    return folder


def test_the_folder_and_what_is_in_it(whole: Path) -> None:
    names = {path.name for path in whole.iterdir()}
    assert names == {
        ".lock",
        "cells",
        "results.json",
        "report.html",
        "config-block.json",
        *(f"{name}.{kind}" for name in NAMES for kind in ("png", "svg")),
    }
    document = found(whole)
    cells = document["cells"]
    assert [(cell["rule"], cell["length"], cell["start"], cell["chunk"]) for cell in cells] == [
        (rule, 512, 10, 40) for rule in ("linear", "native", "ntk", "yarn")
    ]
    for cell in cells:
        assert len(cell["bins"]) == 8
        assert cell["tokens"] == 512
        assert cell["loss"] == pytest.approx(sum(cell["bins"]) / 8)
    beyond = {cell["rule"]: sum(cell["bins"][1:]) / 7 for cell in cells}
    best = min(beyond, key=lambda rule: beyond[rule])
    assert document["winners"] == {"512": best if beyond[best] < beyond["native"] - 0.02 else "native"}
    assert {line["rule"] for line in document["needle"]} == {"native", document["winners"]["512"]}
    assert set(document["shift"]) == {"exact", "float32"}
    page = (whole / "report.html").read_text()
    assert page.count("<svg") == 3
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons", ""
    )


def test_the_block_loads_in_transformers(whole: Path, tiny: Path) -> None:
    from transformers import AutoConfig

    document = found(whole)
    block = json.loads((whole / "config-block.json").read_text())
    assert document["recommendation"]["config"] == block
    assert document["recommendation"]["read_back"] == "as measured"
    config = AutoConfig.from_pretrained(tiny, **block)
    assert config.max_position_embeddings == block["max_position_embeddings"]
    assert {key: config.rope_parameters[key] for key in block["rope_parameters"]} == block["rope_parameters"]


def test_again_is_done_at_once_and_the_same(whole: Path, tiny: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = found(whole)
    journals = {path: path.read_bytes() for path in (whole / "cells").iterdir()}
    assert stretch(tiny, *SMALL, "--text", text, "--output", whole) == 0
    assert found(whole) == before
    assert {path: path.read_bytes() for path in (whole / "cells").iterdir()} == journals
    assert "about 0.0 minutes" not in capsys.readouterr().out


def test_killed_midway_it_goes_on_and_ends_the_same(whole: Path, tiny: Path, text: Path, tmp_path: Path) -> None:
    """Killed as soon as some chunks are there, twice, with the last line torn."""
    command = [
        sys.executable,
        "-m",
        "ordinate.cli.main",
        "stretch",
        str(tiny),
        *SMALL,
        "--text",
        str(text),
        "--output",
        str(tmp_path),
    ]
    kept, alone = 0, {**os.environ, "OMP_NUM_THREADS": "1"}  # as in this process: sums are the same to the last bit
    for _ in range(2):
        running = subprocess.Popen(command, env=alone, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limit = time.monotonic() + 120
        while _lines(tmp_path) < kept + 3 and running.poll() is None and time.monotonic() < limit:
            time.sleep(0.002)
        running.send_signal(signal.SIGKILL)
        running.wait()
        newest = max((tmp_path / "cells").iterdir(), key=os.path.getmtime)
        with newest.open("ab") as file:
            file.write(b'{"window": 0, "chunk"')
        assert _lines(tmp_path) > kept
        kept = _lines(tmp_path)
    subprocess.run(command, env=alone, check=True, stdout=subprocess.DEVNULL)
    assert found(tmp_path) == found(whole)


def _lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in (folder / "cells").glob("*.jsonl"))


def test_a_table_is_resized(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 256, "n_positions": TRAINED}
    folder = save(GPT2LMHeadModel(GPT2Config(**sizes)), tmp_path / "model")
    small = ("--start", "10", "--chunk", "40", "--text", text, "--tests", "ppl,shift")
    assert stretch(folder, *small, "--lengths", f"{TRAINED},{LENGTH}", "--output", tmp_path / "report") == 0
    assert [(cell["rule"], cell["length"]) for cell in found(tmp_path / "report")["cells"]] == [
        ("native", TRAINED),
        ("resize-linear", TRAINED),
        ("resize-linear", LENGTH),
    ]
    cells = found(tmp_path / "report")["cells"]
    assert cells[0]["bins"] == pytest.approx(cells[1]["bins"], abs=1e-6)  # as long as it is, the table is the same
    capsys.readouterr()
    assert stretch(folder, *small, "--rules", "yarn", "--output", tmp_path / "other") == 2
    assert "a learned table needs one of native, resize-linear, resize-nearest, got yarn" in capsys.readouterr().err


def test_biases_run_as_they_are(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import torch
    from transformers import BloomConfig, BloomForCausalLM

    torch.manual_seed(0)
    model = BloomForCausalLM(BloomConfig(hidden_size=32, n_layer=2, n_head=2, vocab_size=256))
    folder = save(model, tmp_path / "model")
    arguments = (folder, "--trained", TRAINED, "--start", "10", "--chunk", "40", "--text", text, "--output", tmp_path / "report")
    assert stretch(*arguments) == 2
    assert "the needle needs lengths of" in capsys.readouterr().err
    assert stretch(*arguments, "--tests", "ppl,shift") == 0
    assert [(cell["rule"], cell["length"]) for cell in found(tmp_path / "report")["cells"]] == [("native", LENGTH)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--lengths", "40"], "--lengths: needed at least the trained length, 64, got 40"),
        (["--rules", "yarm"], "needed some of native, none, linear, ntk, dynamic, yarn, longrope:FILE, theta:NUMBER, got 'yarm'"),
        (["--rules", "theta:5"], "needed theta:NUMBER from the checkpoint's own 100 to 1e15, got theta:5"),
        (["--rules", "longrope:/none.json"], "longrope: could not read /none.json"),
        (["--rules", "yarn:2"], "got 'yarn:2'"),
        (["--lengths", "70"], "--tests: the needle needs lengths of 298 tokens at least, got 70; leave needle out"),
        (["--tests", "ppl,speed"], "--tests: needed some of ppl, shift, needle for llama, got speed"),
        (["--start", "999999"], "--text: needed at least 1000128 tokens for 128 from token 999999 on, got"),
        (["--text", "/nowhere.txt"], "--text: needed a readable file, got /nowhere.txt"),
        (["--protocol", "sliding", "--stride", "4000"], "--stride: needed at most the shortest length, 128, got 4000"),
        (["--budget", "1s", "--lengths", "65536", "--start", "0"], "needed at least 65537 tokens"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_refused_before_anything_runs(
    tiny: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    given = arguments if "--text" in arguments else [*arguments, "--text", str(text)]
    assert stretch(tiny, *given, "--output", tmp_path / "report") == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_an_encoders_embeddings_drift(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 256}
    folder = save(BertModel(BertConfig(**sizes, max_position_embeddings=TRAINED)), tmp_path / "model")
    arguments = (folder, "--start", "10", "--lengths", f"{TRAINED},{LENGTH}", "--text", text, "--output", tmp_path / "report")
    assert stretch(*arguments) == 0
    same, drifted = found(tmp_path / "report")["drift"]
    assert (same["length"], same["mean"]) == (TRAINED, pytest.approx(1.0, abs=1e-6))
    # by hand: the table is stretched by resampling its rows, each place in the middle of its row
    model = AutoModel.from_pretrained(folder).eval()
    letters = text.read_text()[10 : 10 + TRAINED // 8]
    ids = torch.tensor(AutoTokenizer.from_pretrained(folder)(letters, add_special_tokens=False)["input_ids"])
    table = model.embeddings.position_embeddings.weight
    with torch.no_grad():
        old = model(ids[None]).last_hidden_state[0].mean(0)
        places = ((torch.arange(LENGTH) + 0.5) / 2 - 0.5).clamp(0, TRAINED - 1)
        low, part = places.long(), (places - places.floor())[:, None]
        stretched = table[low] * (1 - part) + table[(low + 1).clamp(max=TRAINED - 1)] * part
        vectors = model.embeddings.word_embeddings(ids)[None] + stretched[: len(ids)] - table[: len(ids)]
        new = model(inputs_embeds=vectors).last_hidden_state[0].mean(0)
    wanted = torch.nn.functional.cosine_similarity(old, new, dim=0).item()
    assert drifted["passages"][0]["tokens"] == len(ids)
    assert drifted["passages"][0]["cosine"] == pytest.approx(wanted, abs=1e-5)
    assert wanted < 0.9999
    assert stretch(*arguments, "--tests", "ppl") == 2
    assert "--tests: needed some of drift for bert, got ppl" in capsys.readouterr().err


@pytest.mark.parametrize("written", ["2", "0.5x", "x", "-2x", "1e3x"])
def test_times_have_a_form(tiny: Path, written: str) -> None:
    with pytest.raises(SystemExit):
        stretch(tiny, f"--to={written}")


def test_models_that_have_nothing_to_stretch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from transformers import BartConfig, T5Config, ViTConfig

    for name, config, said in (
        ("vit", ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2), "MODEL: "),
        ("t5", T5Config(d_model=32, num_layers=1, num_heads=2), "declares no length; give the trained one with --trained"),
        ("bart", BartConfig(d_model=32), "needed one stack of layers, or an encoder and a decoder with T5's biases, got bart"),
    ):
        config.save_pretrained(tmp_path / name)
        assert stretch(tmp_path / name, "--output", tmp_path / "report") == 2
        assert said in capsys.readouterr().err
    for target, said in (
        (tmp_path, "with one GGUF file, got"),
        (tmp_path / "no.gguf", "which is not there"),
        ("./nowhere", "needed a folder, a .gguf file or a name on a hub"),
    ):
        assert stretch(target, "--output", tmp_path / "report") == 2
        assert said in capsys.readouterr().err


def test_folders_of_others_are_left_alone(tiny: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert stretch(tiny, *SMALL, "--text", text, "--output", tmp_path) == 2
    assert "which holds thesis.txt; choose another folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert stretch(tiny, *SMALL, "--text", text, "--output", tmp_path / "thesis.txt" / "report") == 2
    assert "needed a folder that can be written" in capsys.readouterr().err


def test_out_of_memory_fails_a_cell_and_the_others_go_on(
    tiny: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ordinate.stretching import work

    plain = work.chunk_losses

    def scarce(model: Any, tokens: Any, settings: Any, length: int, done: Any) -> Any:
        if length > LENGTH:
            raise RuntimeError(
                "[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8"
            )
        return plain(model, tokens, settings, length, done)

    monkeypatch.setattr(work, "chunk_losses", scarce)
    arguments = (
        tiny,
        "--tests",
        "ppl",
        "--rules",
        "linear",
        "--start",
        "10",
        "--lengths",
        f"{LENGTH},{2 * LENGTH}",
        "--text",
        text,
    )
    assert stretch(*arguments, "--output", tmp_path / "report") == 1
    assert "ppl linear 256: failed: out of memory" in capsys.readouterr().out
    cells = {(cell["rule"], cell["length"]): cell for cell in found(tmp_path / "report")["cells"]}
    assert cells["linear", 256]["failed"] == "out of memory"
    assert cells["linear", 128]["loss"] > 0
    monkeypatch.setattr(work, "chunk_losses", plain)
    assert stretch(*arguments, "--output", tmp_path / "report") == 0  # and is tried again
    assert all(cell["loss"] > 0 for cell in found(tmp_path / "report")["cells"])
    assert llama is not None


@pytest.mark.slow
def test_a_cluster_of_two_nodes_finds_the_same(whole: Path, tiny: Path, text: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs ray: pip install 'ordinate[cluster]'")
    tool = [str(Path(sys.executable).parent / "ray")]
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    port = "6391"
    try:
        for role in (["--head", f"--port={port}", "--include-dashboard=false"], [f"--address=127.0.0.1:{port}"]):
            started = [*tool, "start", *role, "--num-cpus=1", "--disable-usage-stats"]
            subprocess.run(started, env=alone, check=True, capture_output=True, timeout=120)
        command = [sys.executable, "-m", "ordinate.cli.main", "stretch", str(tiny), *SMALL, "--text", str(text)]
        command += ["--ray", f"127.0.0.1:{port}", "--output", str(tmp_path / "report")]
        done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
    finally:
        subprocess.run([*tool, "stop", "--force"], env=alone, check=False, capture_output=True, timeout=120)
    assert found(tmp_path / "report") == found(whole)


def test_an_encoder_and_its_decoder(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 32, "num_layers": 1, "num_heads": 2, "vocab_size": 256, "decoder_start_token_id": 0}
    folder = save(T5ForConditionalGeneration(T5Config(**sizes, n_positions=TRAINED)), tmp_path / "model")
    small = ("--start", "10", "--chunk", "40", "--output", tmp_path / "report")
    assert stretch(folder, *small, "--text", text) == 0
    document = found(tmp_path / "report")
    assert [(cell["test"], cell["rule"], cell["length"], cell["tokens"]) for cell in document["cells"]] == [
        ("ppl", "native", LENGTH, LENGTH)
    ]
    assert document["model"]["kind"] == "continued"
    short = tmp_path / "short.txt"
    short.write_text("a" * (10 + 2 * LENGTH - 1))
    capsys.readouterr()
    assert stretch(folder, *small, "--text", short) == 2
    assert f"needed at least {10 + 2 * LENGTH} tokens for {LENGTH}" in capsys.readouterr().err
    for changed, said in (
        (("--rules", "yarn"), "runs at any length as it is"),
        (("--tests", "needle"), "needed some of ppl for t5"),
    ):
        assert stretch(folder, *small, "--text", text, *changed) == 2
        assert said in capsys.readouterr().err
