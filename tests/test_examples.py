"""What the README and the examples show, run."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from ordinate import attend

ROOT = Path(__file__).parents[1]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["decode_with_cache", "packed_documents"])
def test_examples_of_equal_results(name: str) -> None:
    assert load(name).largest_difference() < 2e-6


def test_small_model_learns_offsets_only_with_positions() -> None:
    losses = load("small_model").first_losses(steps=60)
    assert set(losses) == {"none", "sinusoidal", "learned", "rope", "alibi"}
    assert losses["rope"] < losses["none"] - 0.5


def test_convolutions_know_their_place_only_with_positions() -> None:
    accuracies = load("convolution").accuracies()
    assert set(accuracies) == {"learned", "none"}
    assert accuracies["learned"] > 0.95
    assert accuracies["none"] < 0.06  # one of 28 places is 0.036; 7168 guesses: ten standard deviations


@pytest.mark.parametrize("page", ["README.md", "README.ru.md"])
def test_readme_code_runs_and_gives_what_it_says(page: str) -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 6
    for block in blocks[:2]:
        exec(block, names)
    assert names["positions"].from_padding_mask(names["mask"]).tolist() == [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]]
    x, rope = names["x"], names["rope"]
    alone = [names["attend"](x[:, :, p], x[:, :, p], x[:, :, p], scheme=rope, q_positions=r, k_positions=r, causal=True)
             for p, r in ((slice(0, 3), range(3)), (slice(3, 5), range(2)))]  # fmt: skip
    assert torch.allclose(names["out"], torch.cat(alone, dim=2), atol=1e-6)
    exec(blocks[2], names)
    assert names["where"].tolist() == [[[0] * 3, [1] * 3, [2, 2, 2], [2, 2, 3], [2, 3, 2], [2, 3, 3], [4] * 3]]
    turned = names["text"].queries(names["x"], names["where"])
    scores = turned @ names["text"].keys(names["x"], names["where"]).mT / 128**0.5
    seen = scores.masked_fill(torch.ones(7, 7).triu(1).bool(), -torch.inf).softmax(-1)
    assert torch.allclose(names["out"], seen @ names["x"], atol=1e-5)
    exec(blocks[3], names)
    assert torch.equal(names["logits"], names["llama"](torch.arange(9)[None]).logits)
    exec(blocks[0], names)  # its q, k and v
    exec(blocks[4], names)
    q, k, rope = names["q"], names["k"], names["model"].layers[15]
    assert (rope.base, rope.scaling.factor, rope.layout, len(names["at"])) == (500000.0, 32.0, "half", 16)
    turned = rope.queries(q, range(10)) @ rope.keys(k, range(10)).repeat_interleave(4, dim=1).mT / 8
    hidden = torch.ones(10, 10).triu(1).bool()
    want = turned.masked_fill(hidden, -torch.inf).softmax(-1) @ names["v"].repeat_interleave(4, dim=1)
    assert torch.allclose(names["out"], want, atol=1e-5)
    exec(blocks[1], names)  # its positions
    exec(blocks[5], names)
    given = tuple(torch.randn(1, 4, 21, 64) for _ in range(3))
    assert torch.allclose(names["program"].module()(*given), names["Attention"]()(*given), atol=1e-6)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
def test_code_of_the_page_on_speed_runs() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/speed.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 2
    exec(blocks[0], names)
    told: dict[str, Any] = {"q_positions": range(16), "k_positions": range(16), "causal": False}
    want = attend(names["q"], names["k"], names["v"], scheme=names["alibi"], **told)
    assert torch.allclose(names["out"], want, atol=1e-6)
    exec(blocks[1], names)
    given = tuple(torch.randn(1, 4, 21, 64) for _ in range(3))
    assert torch.allclose(names["program"].module()(*given), names["Attention"]()(*given), atol=1e-6)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "README.ru.md",
        "CONTRIBUTING.md",
        "docs/adding-a-scheme.md",
        "docs/adding-a-model-type.md",
        "docs/attach.md",
        "docs/speed.md",
    ],
)
def test_links_of_the_pages_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), target
