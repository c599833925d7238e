"""Losses by position against transformers' own models, each rule against a model built from the block that says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from ordinate.stretching.journal import ENDED
from ordinate.stretching.needle import ASKED, PLANTED, SECRETS
from ordinate.stretching.perplexity import summary
from ordinate.stretching.rules import config_block, setting_of
from ordinate.stretching.running import under
from ordinate.stretching.settings import Cell, Settings, Text, read_text
from ordinate.stretching.subject import located
from ordinate.stretching.work import Worker
from stretching.conftest import TRAINED, llama, save

LENGTH = 2 * TRAINED


def worker_of(folder: Path, text: Path, **changes: Any) -> Worker:
    settings = Settings(**{"lengths": (LENGTH,), "rules": ("native",), "start": 10, "chunk": 48, **changes})
    return Worker(located(str(folder)), None, settings, read_text([text]))


def plain_losses(folder: Path, tokens: torch.Tensor, changed: dict[str, Any] | None = None) -> torch.Tensor:
    """Of transformers' own model, loaded from a folder whose config.json was changed, in one forward without a cache."""
    from transformers import AutoModelForCausalLM

    if changed is not None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        scores = model(tokens[None, :-1]).logits[0].double().log_softmax(-1)
    return -scores[torch.arange(len(tokens) - 1), tokens[1:]]


def measured(worker: Worker, cell: Cell) -> list[dict[str, Any]]:
    lines = list(worker.run(cell, []))
    assert ENDED in lines[-1], lines[-1]
    return lines[:-1]


def all_losses(lines: list[dict[str, Any]]) -> torch.Tensor:
    return torch.tensor([loss for line in lines for loss in line["losses"]], dtype=torch.float64)


def inside(worker: Worker) -> torch.Tensor:
    return worker.tokens[worker.settings.start : worker.settings.start + LENGTH + 1]


def test_the_checkpoints_own_losses(tiny: Path, text: Path) -> None:
    worker = worker_of(tiny, text)
    found = all_losses(measured(worker, Cell("ppl", "native", LENGTH)))
    torch.testing.assert_close(found, plain_losses(tiny, inside(worker)), atol=2e-5, rtol=0)


@pytest.mark.parametrize("rule", ["linear", "ntk", "yarn", "theta:3000", "dynamic", "none", "longrope"])
def test_each_rule_gives_the_losses_of_a_model_with_its_block(tmp_path: Path, text: Path, rule: str) -> None:
    """The block of config.json, loaded by transformers, is the oracle; rules of one length in one chunk, others in several."""
    if rule == "longrope":
        factors = tmp_path / "factors.json"
        factors.write_text(json.dumps({"short_factor": [1.0] * 16, "long_factor": [1.0 + 0.2 * pair for pair in range(16)]}))
        rule = f"longrope:{factors}"
    native = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 2.0, "original_max_position_embeddings": 32}
    folder = save(llama(**({"rope_parameters": native} if rule == "none" else {})), tmp_path / "model")
    by_length = rule == "dynamic" or rule.startswith("longrope")
    worker = worker_of(folder, text, rules=("native", rule), chunk=LENGTH if by_length else 48)
    assert worker.model is not None  # loaded before its folder changes
    block = config_block(setting_of(rule, worker.subject, LENGTH), worker.subject, LENGTH)
    plain = plain_losses(folder, inside(worker), json.loads(json.dumps(block)))
    own = all_losses(measured(worker, Cell("ppl", "native", LENGTH)))
    found = all_losses(measured(worker, Cell("ppl", rule, LENGTH)))
    torch.testing.assert_close(found, plain, atol=3e-5, rtol=0)
    assert (found - own).abs().max() > 1e-3
    again = all_losses(measured(worker, Cell("ppl", "native", LENGTH)))
    assert torch.equal(again, own)  # the rule has gone


def test_sliding_windows(tiny: Path, text: Path) -> None:
    """Every later window scores its last tokens with the whole window as context."""
    worker = worker_of(tiny, text, protocol="sliding", stride=20, windows=3)
    lines = measured(worker, Cell("ppl", "native", LENGTH))
    start = worker.settings.start
    for window in range(3):
        own = [line for line in lines if line["window"] == window]
        tokens = worker.tokens[start + 20 * window : start + 20 * window + LENGTH + 1]
        scored = plain_losses(tiny, tokens)[0 if window == 0 else LENGTH - 20 :]
        torch.testing.assert_close(all_losses(own), scored, atol=2e-5, rtol=0)
    found = summary(lines, LENGTH)
    assert found["tokens"] == LENGTH + 40
    eighth = [loss for line in lines for place, loss in enumerate(line["losses"], line["first"]) if place >= LENGTH * 7 // 8]
    assert found["bins"][-1] == pytest.approx(sum(eighth) / len(eighth))


def test_what_is_done_is_not_run_again(tiny: Path, text: Path) -> None:
    worker, cell = worker_of(tiny, text, windows=2), Cell("ppl", "native", LENGTH)
    whole = measured(worker, cell)
    for done in range(len(whole)):
        rest = [line for line in worker.run(cell, whole[:done]) if ENDED not in line]
        assert [(line["window"], line["chunk"]) for line in rest] == [(line["window"], line["chunk"]) for line in whole[done:]]
        torch.testing.assert_close(all_losses(rest), all_losses(whole[done:]), atol=0, rtol=0)


def test_exact_angles_are_flat_and_float32_ones_are_not(tiny: Path, text: Path) -> None:
    worker = worker_of(tiny, text)
    flat = measured(worker, Cell("shift", "exact", TRAINED))
    bent = measured(worker, Cell("shift", "float32", TRAINED))
    assert [line["offset"] for line in flat] == [0, 1_000, 10_000, 100_000, 1_000_000]
    assert flat[-1]["rms"] < 3e-5 < 3e-3 < bent[-1]["rms"]
    tokens = worker.tokens[10 : 10 + TRAINED + 1]
    plain = plain_losses(tiny, tokens).mean().item()
    assert flat[0]["loss"] == pytest.approx(plain, abs=1e-5)
    assert flat[-1]["loss"] == pytest.approx(plain, abs=1e-4)


@pytest.mark.parametrize("rule", ["native", "yarn"])
def test_a_shared_cache_gives_what_a_whole_prompt_gives(tiny: Path, text: Path, rule: str) -> None:
    long = 5 * LENGTH
    worker = worker_of(tiny, text, rules=("native", rule), lengths=(long,), depths=(0.9, 0.0, 0.5))
    lines = measured(worker, Cell("needle", rule, long))
    assert [line["depth"] for line in lines] == [0.0, 0.5, 0.9]
    spelled = [list(PLANTED.format(name=name, key=key).encode()) for name, key in SECRETS[:3]]
    asked = [list((ASKED.format(name=name) + f" {key}").encode()) for name, key in SECRETS[:3]]
    room = long - sum(map(len, spelled)) - max(map(len, asked))
    hay = list(text.read_bytes())[10 : 10 + room]
    places = [0, *(round(depth * room) for depth in (0.0, 0.5, 0.9)), room]
    haystack: list[int] = []
    for begin, end, needle in zip(places, places[1:], [*spelled, []], strict=False):
        haystack += [*hay[begin:end], *needle]
    for line, question in zip(lines, asked, strict=True):
        ids = torch.tensor(worker.tokenizer("".join(map(chr, haystack + question)), add_special_tokens=False)["input_ids"])
        with torch.no_grad(), under(worker.model, worker.subject, rule, long) as model:
            scores = model(ids[None]).logits[0].double().log_softmax(-1)[-7:-1]
        assert len(ids) <= long
        wanted = -scores[torch.arange(6), ids[-6:]].mean()  # a space and five digits
        assert line["loss"] == pytest.approx(wanted.item(), abs=1e-4)
        assert line["found"] == bool((scores.argmax(-1) == ids[-6:]).all())


def test_a_text_has_a_name_of_its_own() -> None:
    assert read_text([]) != Text("pydoc_data.topics", "", "")


def test_an_encoder_decoder_continues_what_its_encoder_has_read(tmp_path: Path, text: Path) -> None:
    """As long a text again is predicted, after the model's own start token; transformers' one forward is the oracle."""
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 32, "num_layers": 2, "num_heads": 2, "initializer_factor": 3.0}
    config = T5Config(**sizes, vocab_size=256, n_positions=TRAINED, decoder_start_token_id=5)
    model = T5ForConditionalGeneration(config).eval()
    worker = worker_of(save(model, tmp_path / "t5"), text, continued=True, chunk=40, windows=2)
    found = all_losses(measured(worker, Cell("ppl", "native", LENGTH)))
    for window in range(2):
        first = worker.settings.start + window * LENGTH
        read, wanted = worker.tokens[first : first + LENGTH], worker.tokens[first + LENGTH : first + 2 * LENGTH]
        given = torch.cat((torch.tensor([5]), wanted[:-1]))
        with torch.no_grad():
            scores = model(input_ids=read[None], decoder_input_ids=given[None]).logits[0].double().log_softmax(-1)
        plain = -scores[torch.arange(LENGTH), wanted]
        torch.testing.assert_close(found[window * LENGTH : (window + 1) * LENGTH], plain, atol=3e-5, rtol=5e-6)
