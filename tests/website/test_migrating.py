"""The migration pages: both sides are run, held to each other and to the definitions in loops; their numbers are those measured."""

from __future__ import annotations

import functools
import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ordinate import ALiBi, Rope, Sinusoidal, T5Bias, checkpoints, reference, scaling

FOLDER = Path(__file__).parents[2] / "docs" / "migrating"
PAGES = {
    "transformers": "transformers",
    "rotary-embedding-torch": "rotary_embedding_torch",
    "x-transformers": "x_transformers",
    "positional-encodings": "positional_encodings",
}
CLOSE = re.compile(r"assert torch\.allclose\((\w+), (\w+), rtol=0, atol=(\S+)\)  # measured: (\d\S*)")
# What a page computes, and how it words it.
SAID = {
    "transformers": {"float32_error": "3.7e-3", "cast_error": "2.00", "memory_error": "1.27"},
    "rotary-embedding-torch": {"bfloat16_error": "4.55", "stale_error": "4.55", "our_bfloat16_error": "0.015"},
    "x-transformers": {"bias_deviation": "7.8", "their_wave_length": "0.71", "our_wave_length": "16"},
    "positional-encodings": {"stale_error": "2e-3", "cast_error": "1.99"},
}


def text_of(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


@functools.cache
def names_of(page: str) -> dict[str, Any]:
    """What the page's blocks leave behind, run in order."""
    with warnings.catch_warnings():  # x-transformers compiles functions on import, in a way that torch calls deprecated
        warnings.simplefilter("ignore", DeprecationWarning)
        pytest.importorskip(PAGES[page])
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text_of(page), flags=re.DOTALL):
        exec(block, names)
    return names


def prose_of(page: str) -> str:
    return re.sub(r"```python\n.*?```", "", text_of(page), flags=re.DOTALL)


def near(found: torch.Tensor, oracle: Any, within: float) -> None:
    np.testing.assert_allclose(found.detach().double().numpy(), oracle, rtol=0, atol=within)


def turned(x: torch.Tensor, positions: Any, layout: str, **settings: Any) -> Any:
    """Every head by the definition."""
    rows = x.double().numpy()
    heads = [reference.rope(head, positions, layout, **settings) for head in rows.reshape(-1, *rows.shape[-2:])]
    return np.stack(heads).reshape(rows.shape)


@pytest.mark.parametrize("page", PAGES)
def test_both_sides_agree_as_closely_as_the_page_says(page: str) -> None:
    names, said = names_of(page), CLOSE.findall(text_of(page))
    for ours, theirs, tolerance, measured in said:
        apart = (names[ours].double() - names[theirs].double()).abs().max().item()
        assert float(measured) / 1.5 < apart < 1.5 * float(measured), (ours, apart)
        assert apart <= float(tolerance) <= 50 * float(measured), (ours, apart)
    # Every pair is compared in one way or the other, and no comparison holds something to itself.
    pairs = {name for name in names if name.startswith("theirs_") and f"ours_{name[7:]}" in names}
    compared = {theirs for _, theirs, _, _ in said} | set(re.findall(r"torch\.equal\(ours_\w+, (theirs_\w+)", text_of(page)))
    assert pairs - compared <= {"theirs_offset_q"}
    assert {name for name in names if name.startswith("theirs_")} - pairs <= {"theirs_before", "theirs_after"}
    assert len(pairs) >= 3


@pytest.mark.parametrize("page", PAGES)
def test_numbers_in_the_text_are_those_of_the_blocks(page: str) -> None:
    names, prose = names_of(page), prose_of(page)
    for name, written in SAID[page].items():
        assert re.search(rf"(?<![\d.]){re.escape(written)}(?![\d])", prose), written
        digits = len(re.sub(r"e.*|\D", "", written).lstrip("0"))
        assert float(f"{names[name]:.{digits}g}") == pytest.approx(float(written)), (name, names[name])


@pytest.mark.parametrize("page", [*PAGES, "index"])
def test_links_exist_and_the_versions_are_those_installed(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", prose_of(page)):
        assert (FOLDER / target).exists(), target
    constraints = dict(re.findall(r"^(\S+)==(\S+)$", (FOLDER.parents[1] / "constraints.txt").read_text(), flags=re.MULTILINE))
    for library in PAGES if page == "index" else [page]:
        assert constraints[library] in text_of(page)


def test_transformers_against_the_definition() -> None:
    names = names_of("transformers")
    places = range(1000, 1010)
    oracle = turned(names["q"], places, "half", base=500000.0)
    near(names["exact_q"], oracle, 1e-6)
    for side in ("theirs", "ours"):
        near(names[f"{side}_q"], oracle, 2e-4)
        near(names[f"{side}_k"], turned(names["k"], places, "half", base=500000.0), 2e-4)
    frequencies = reference.llama3(500000.0, 64, 32.0, 1.0, 4.0, 8192)
    near(names["theirs_far"], turned(names["q"], range(100000, 100010), "half", inverse_frequencies=frequencies), 0.03)
    exact = checkpoints.read(names["stretched"]).build(phases="exact").layers[0]
    near(
        exact(names["q"], names["k"], names["far"])[0],
        turned(names["q"], range(100000, 100010), "half", inverse_frequencies=frequencies),
        2e-4,
    )
    assert not torch.equal(names["theirs_far"], names["theirs_q"])
    base = 10000.0 * (4.0 * 80 / 64 - 3.0) ** (64 / 62)
    cosines = [[math.cos(p * w) for w in reference.rope_frequencies(base, 64)] for p in range(80)]
    near(names["ours_80"][0], cosines, 2e-5)
    near(names["theirs_before"][0, :, :32], cosines, 2e-5)
    assert (names["theirs_after"] - names["theirs_before"]).abs().max() > 1


RULES = {
    "linear": ({"factor": 4.0}, scaling.Linear),
    "dynamic": ({"factor": 4.0}, scaling.DynamicNTK),
    "yarn": ({"factor": 4.0, "original_max_position_embeddings": 2048}, scaling.YaRN),
    "longrope": (
        {"short_factor": [1.0] * 32, "long_factor": [2.0] * 32, "factor": 4.0, "original_max_position_embeddings": 2048},
        scaling.LongRoPE,
    ),
    "llama3": (
        {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 2048},
        scaling.Llama3,
    ),
    "proportional": ({"partial_rotary_factor": 0.5}, scaling.Proportional),
}


def test_transformers_rules_are_those_of_the_table() -> None:
    pytest.importorskip("transformers")
    from transformers import CohereConfig, GPTJConfig, GPTNeoXConfig, LlamaConfig, MistralConfig, Qwen2Config

    rows = dict(re.findall(r"^\| `rope_type=\"(\w+)\"` \| `scaling=(\w+)\(", text_of("transformers"), flags=re.MULTILINE))
    assert rows == {name: rule.__name__ for name, (_, rule) in RULES.items()}
    for name, (numbers, rule) in RULES.items():
        if name == "proportional":  # not a rule of Llama
            assert rule(proportion=0.5).apply([1.0, 0.1], base=100.0).inverse_frequencies == (1.0, 0.0)
            continue
        parameters = {"rope_type": name, "rope_theta": 10000.0, **numbers}
        config = LlamaConfig(hidden_size=256, num_attention_heads=4, max_position_embeddings=8192, rope_parameters=parameters)
        assert isinstance(checkpoints.read(config).build().layers[0].scaling, rule)
    for kind in (LlamaConfig, MistralConfig, Qwen2Config):
        assert checkpoints.read(kind()).build().layers[0].layout == "half"
    for kind in (GPTJConfig, CohereConfig):
        assert checkpoints.read(kind()).build().layers[0].layout == "interleaved"
    partial = checkpoints.read(GPTNeoXConfig()).build().layers[0]
    assert partial.rotary_dim == partial.head_dim // 4


def test_attach_replaces_the_rotation() -> None:
    import ordinate

    names = names_of("transformers")
    with torch.no_grad(), ordinate.attach(names["llama"], phases="exact"):
        exact = names["llama"](names["tokens"]).logits
    assert 0 < (exact - names["theirs_logits"]).abs().max() < 1e-4


def test_rotary_embedding_torch_against_the_definition() -> None:
    names = names_of("rotary-embedding-torch")
    oracle = turned(names["q"], range(64), "interleaved", rotary_dim=32)
    near(names["theirs_q"], oracle, 2e-5)
    near(names["ours_q"], oracle, 1e-6)
    near(names["theirs_k"], turned(names["k"], range(64), "interleaved", rotary_dim=32), 2e-5)
    near(names["theirs_new_q"], turned(names["new_q"], [10], "interleaved", rotary_dim=32), 2e-6)
    near(names["theirs_offset_q"], turned(names["new_q"], [10], "interleaved", rotary_dim=32), 2e-6)
    near(names["theirs_all_k"], turned(names["all_k"], range(11), "interleaved", rotary_dim=32), 2e-6)
    far = range(1000, 1064)
    linear = [w / 4 for w in reference.rope_frequencies(10000.0, 64)]
    near(names["ours_linear"], turned(names["q"], far, "interleaved", inverse_frequencies=linear), 1e-6)
    near(names["theirs_linear"], turned(names["q"], far, "interleaved", inverse_frequencies=linear), 2e-4)
    base = reference.ntk_base(10000.0, 64, 4.0)
    near(names["ours_ntk"], turned(names["q"], far, "interleaved", base=base), 1e-6)
    near(names["theirs_ntk"], turned(names["q"], far, "interleaved", base=base), 1e-3)


def test_rotary_embedding_torch_on_grids_against_the_definition() -> None:
    names = names_of("rotary-embedding-torch")
    patches = names["patches"][0, 0].double().numpy()
    places = [(row, column) for row in range(6) for column in range(9)]
    oracle = reference.axial_rope(patches, places, "interleaved")
    near(names["theirs_grid"][0, 0], oracle, 2e-6)
    near(names["ours_grid"][0, 0], oracle, 1e-6)
    fastest = [math.pi * (1 + 127 * i / 15) for i in range(16)]
    assert fastest[-1] == pytest.approx(402, abs=0.2)
    down, across = ([2 * n / (size - 1) - 1 for n in range(size)] for size in (6, 9))
    rows = reference.rope(patches, [down[row] for row, _ in places], "interleaved", rotary_dim=32, inverse_frequencies=fastest)
    oracle = reference.rope(
        rows, [across[column] for _, column in places], "interleaved", rotary_start=32, inverse_frequencies=fastest
    )
    near(names["ours_pixel"][0, 0], oracle, 1e-4)
    near(names["theirs_pixel"][0, 0], oracle, 2e-4)


def test_rotary_embedding_torch_as_its_table_says() -> None:
    module = pytest.importorskip("rotary_embedding_torch").RotaryEmbedding
    x = torch.randn(2, 11, 8, 64)  # tokens before heads
    rope = Rope(head_dim=64, layout="interleaved", base=500000.0)
    theirs = module(dim=64, seq_before_head_dim=True, theta=500000).rotate_queries_or_keys(x)
    near(rope.queries(x, rope.at(range(11)), sequence_dim=-3), theirs, 2e-5)
    given = torch.tensor([1.0, 0.5, 0.125])
    theirs = module(dim=6, custom_freqs=given).rotate_queries_or_keys(x[..., :6].transpose(1, 2))
    near(theirs, turned(x[..., :6].transpose(1, 2), range(11), "interleaved", inverse_frequencies=given.tolist()), 1e-5)
    assert list(module(dim=32).state_dict()) == ["freqs"]
    assert [weight.requires_grad for weight in module(dim=32).parameters()] == [False]
    assert not list(rope.parameters())
    assert not list(rope.buffers())
    with pytest.raises(ZeroDivisionError):
        module(dim=2)
    names, as_trained = names_of("rotary-embedding-torch"), Rope(head_dim=64, layout="interleaved", rotary_dim=32)
    for far, low, high in ((1000, 2e-5, 2e-4), (100000, 1e-3, 1e-2)):
        apart = module(dim=32).rotate_queries_or_keys(names["q"], offset=far) - as_trained.queries(
            names["q"], as_trained.at(range(far, far + 64))
        )
        assert low < apart.abs().max() < high


def attended(names: dict[str, Any], q: Any, k: Any, bias: Any) -> Any:
    """The first row's last query under every head, by the definition, through their output projection."""
    seen = np.ones((1, 100), dtype=bool)
    v = names["v"].detach().double().numpy()
    heads = [reference.attention(q[0, h, -1:], k[0, h], v[0, h], 64**-0.5, bias[h, -1:], seen) for h in range(8)]
    return np.concatenate(heads, axis=-1) @ names["layer"].to_out.weight.detach().double().numpy().T


def test_x_transformers_against_the_definition() -> None:
    names = names_of("x-transformers")
    q, k = (names[name].detach() for name in "qk")
    plain, places = np.zeros((8, 100, 100)), range(100)
    rotated = [turned(x, places, "interleaved", rotary_dim=32) for x in (q, k)]
    q, k = q.double().numpy(), k.double().numpy()
    slopes = reference.alibi_slopes(8, "authors")
    some = [*reference.alibi_slopes(3, "authors"), 0, 0, 0, 0, 0]
    table = 8 * names["t5_there"].relative_attention_bias.weight.detach().double().numpy()
    oracles = {
        "rotary": attended(names, *rotated, plain),
        "alibi": attended(names, q, k, reference.alibi(places, places, slopes)),
        "some": attended(names, q, k, reference.alibi(places, places, some)),
        "t5": attended(names, q, k, reference.t5(places, places, table, 128, False)),
    }
    for name, oracle in oracles.items():
        for side in ("theirs", "ours"):
            near(names[f"{side}_{name}"][0, -1:], oracle, 2e-6)
        assert all(other is oracle or abs(other - oracle).max() > 1e-3 for other in oracles.values()), name
    near(names["theirs_bias"], reference.alibi(places, places, slopes), 1e-6)
    table = 8 * names["two_way"].relative_attention_bias.weight.detach().double().numpy()
    near(names["theirs_two_way"], reference.t5(places, places, table, 128, True), 1e-5)
    weight = names["tabled"].pos_emb.emb.weight.detach().double().numpy()
    near(names["theirs_table"], weight[:10] / 512**0.5, 1e-6)
    near(names["theirs_waves"], reference.sinusoidal(10, 512, layout="sin_cos") / 512**0.5, 1e-6)


def test_x_transformers_as_its_page_says() -> None:
    names = names_of("x-transformers")
    assert names["turning"] == 32
    assert names["alibi_keeps_the_table"]
    assert names["Decoder"](dim=64, depth=1, heads=8, rel_pos_bias=True).disable_abs_pos_emb
    assert (names["bucket_there"], names["bucket_here"]) == (53, 54)
    assert reference.t5_bucket(-60, 72, 100, False) == 54
    assert names["some_there"].slopes.flatten().tolist() == [1 / 16, 1 / 256, 1 / 4]
    assert names["first_weights"] == pytest.approx(1, abs=0.1)
    assert names["their_table_length"] == pytest.approx(1, abs=0.05)
    assert names["our_table_length"] == pytest.approx(0.45, abs=0.02)
    twelve = names["Decoder"](dim=768, depth=1, heads=12, alibi_pos_bias=True).rel_pos.slopes.flatten().tolist()
    apart = np.abs(np.subtract(twelve, reference.alibi_slopes(12, "authors"))).max()
    assert 1.1e-8 < apart < 1.3e-8
    near(torch.tensor(ALiBi(n_heads=12, slopes="authors").slope_values), twelve, 2e-8)
    sides = [T5Bias(n_heads=1, bidirectional=way).buckets(torch.arange(-200, 201)).tolist() for way in (False, True)]
    assert sides == [[reference.t5_bucket(d, 32, 128, way) for d in range(-200, 201)] for way in (False, True)]
    with pytest.raises(ZeroDivisionError):
        names["Decoder"](dim=16, depth=1, heads=1, rotary_pos_emb=True, rotary_emb_dim=2, verbose=False)


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        ({"rotary_interpolation_factor": 4.0}, scaling.Linear(factor=4.0)),
        ({"rotary_base_rescale_factor": 4.0}, scaling.NTK(alpha=4.0)),
        ({}, None),
    ],
)
def test_x_transformers_turns_to_the_same_angles(flags: dict[str, float], rule: Any) -> None:
    names = names_of("x-transformers")
    from x_transformers.x_transformers import apply_rotary_pos_emb

    freqs, _ = names["Decoder"](dim=512, depth=1, heads=8, rotary_pos_emb=True, rotary_emb_dim=64, **flags).rotary_pos_emb(
        torch.arange(1000)
    )
    x = torch.randn(1, 2, 1000, 64)
    exact, same = (Rope(head_dim=64, layout="interleaved", scaling=rule, phases=way) for way in ("exact", "float32"))
    theirs = apply_rotary_pos_emb(x, freqs)
    near(exact.queries(x, exact.at(range(1000))), theirs, 5e-4)
    if rule is None:
        assert torch.equal(same.queries(x, same.at(range(1000))), theirs)


def test_positional_encodings_against_the_definition() -> None:
    names = names_of("positional-encodings")
    line = reference.sinusoidal(100, 64)
    near(names["ours_vectors"], line, 1e-7)
    near(names["theirs_vectors"], line, 2e-5)
    near(names["theirs_sum"], names["x"].double().numpy() + line, 2e-5)
    near(names["theirs_odd"], reference.sinusoidal(10, 6)[:, :5], 1e-6)
    axis = reference.sinusoidal(9, 32)
    grid = [[[*axis[row], *axis[column]] for column in range(9)] for row in range(6)]
    near(names["ours_grid"], grid, 1e-7)
    near(names["theirs_grid"], grid, 1e-6)
    assert abs(reference.sinusoidal(10, 5) - names["theirs_odd"].numpy()).max() > 0.1


def test_positional_encodings_as_its_page_says() -> None:
    names = names_of("positional-encodings")
    encodings = pytest.importorskip("positional_encodings.torch_encodings")
    assert names["stale_dtype"] == torch.bfloat16
    assert names["edited_error"] == pytest.approx(1, abs=1e-4)
    assert list(encodings.PositionalEncoding1D(8).state_dict()) == ["inv_freq"]
    assert not Sinusoidal(d_model=8).state_dict()
    far = encodings.PositionalEncoding1D(64)(torch.zeros(1, 5000, 64))[0]
    assert 1e-4 < abs(far.double().numpy() - reference.sinusoidal(5000, 64)).max() < 4e-4
    channels_first = encodings.PositionalEncodingPermute1D(64)(torch.zeros(1, 64, 10))[0]
    near(Sinusoidal(d_model=64).at(range(10)).T, channels_first, 1e-6)
    six = encodings.PositionalEncoding2D(6)(torch.zeros(1, 5, 7, 6))[0, 2, 3].tolist()
    assert six == pytest.approx([math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02), math.sin(3), math.cos(3)], abs=1e-6)
    cube = encodings.PositionalEncoding3D(96)(torch.zeros(1, 2, 3, 4, 96))[0, 1, 2, 3]
    near(cube, np.concatenate([reference.sinusoidal(4, 32)[place] for place in (1, 2, 3)]), 1e-6)
