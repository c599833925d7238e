"""SmolLM2-135M against transformers alone: the same losses by position, with its own rule and with the block that is written."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ordinate.stretching.rules import config_block, setting_of
from ordinate.stretching.settings import Cell, Settings, read_text
from ordinate.stretching.subject import located
from ordinate.stretching.work import Worker

pytestmark = pytest.mark.slow
TRAINED, START, PIECE = 8192, 2000, 2048


def by_transformers(changed: dict[str, Any] | None, length: int) -> torch.Tensor:
    """Load the checkpoint with a changed configuration, and read the text with it: nothing of this project runs."""
    from pydoc_data.topics import topics

    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache

    where = located(None)
    source: dict[str, Any] = {"gguf_file": where.gguf_file}
    config = AutoConfig.from_pretrained(where.folder, **source)
    for key, value in (changed or {}).items():
        setattr(config, key, value)
    model = AutoModelForCausalLM.from_pretrained(where.folder, config=config, dtype=torch.float32, **source).eval()
    tokenizer = AutoTokenizer.from_pretrained(where.folder, **source)
    tokenizer.model_max_length = 10**9
    ids = torch.tensor(tokenizer("\n".join(topics.values()), add_special_tokens=False)["input_ids"])[START : START + length + 1]
    cache, found = DynamicCache(), []
    with torch.no_grad():
        for first in range(0, length, PIECE):
            scores = model(ids[None, first : first + PIECE], cache=cache, use_cache=True).logits[0].log_softmax(-1)
            targets = ids[first + 1 : first + 1 + len(scores)]
            found.append(-scores[: len(targets)].gather(1, targets[:, None])[:, 0])
    return torch.cat(found)[:length].double()


def by_ordinate(rule: str, length: int) -> tuple[Worker, torch.Tensor]:
    settings = Settings(lengths=(length,), rules=("native", rule), start=START, chunk=1024)
    worker = Worker(located(None), None, settings, read_text([]))
    lines = [line for line in worker.run(Cell("ppl", rule, length), []) if "losses" in line]
    return worker, torch.tensor([loss for line in lines for loss in line["losses"]], dtype=torch.float64)


def test_without_a_rule_inside_the_trained_length() -> None:
    _, found = by_ordinate("none", TRAINED)
    plain = by_transformers(None, TRAINED)
    assert len(found) == len(plain) == TRAINED
    assert (found - plain).abs().max() < 1e-4
    assert 2.0 < plain.mean() < 3.0


def test_the_block_gives_the_measured_loss() -> None:
    length = 10240
    worker, found = by_ordinate("yarn", length)
    plain = by_transformers(config_block(setting_of("yarn", worker.subject, length), worker.subject, length), length)
    assert (found - plain).abs().max() < 1e-3
    assert found.mean().item() == pytest.approx(plain.mean().item(), abs=1e-5)
