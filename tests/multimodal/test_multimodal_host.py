"""What the host reads: nothing of any tensor, unless there is a fault to word; and each fault's words."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from ordinate import multimodal

READS = {"aten::_local_scalar_dense", "aten::item", "aten::nonzero", "aten::equal", "aten::is_nonzero", "aten::masked_select"}
TENSORS = ("token_types", "mask", "markers")
MASK = [[1] * 9, [0, 0, 1, 1, 1, 1, 1, 1, 1]]
COMMON = {
    "token_types": [[0, 1, 1, 0, 2, 2, 2, 2, 0], [0, 0, 0, 1, 1, 0, 0, 0, 0]],
    "image_grids": [(1, 2, 4), (1, 4, 2)],
    "video_grids": [(2, 2, 4)],
    "spatial_merge": 2,
    "mask": MASK,
}
NEWLINES = {
    **COMMON,
    "token_types": [[0, 1, 1, 1, 0, 2, 2, 2, 2], [0, 0, 0, 1, 1, 1, 1, 0, 0]],
    "video_grids": [(1, 4, 2)],
}
SOUND = {
    **COMMON,
    "token_types": [[0, 1, 1, 0, 0, 2, 3, 3, 2, 0, 0], [0, 0, 0, 1, 1, 0, 3, 0, 0, 0, 0]],
    "video_grids": [(2, 2, 2)],
    "seconds_per_grid": [0.5],
    "mask": [[1] * 11, [0, 0, *[1] * 9]],
}
BUILDERS = {
    "qwen2_vl": (multimodal.qwen2_vl_positions, COMMON),
    "qwen2_5_vl": (multimodal.qwen2_5_vl_positions, {**COMMON, "tokens_per_second": 2, "seconds_per_grid": [0.5]}),
    "qwen3_vl": (multimodal.qwen3_vl_positions, COMMON),
    "ernie4_5_vl": (multimodal.ernie4_5_vl_positions, {**COMMON, "temporal_merge": 1}),
    "qwen2_5_omni": (multimodal.qwen2_5_omni_positions, {**SOUND, "steps_per_second": 25}),
    "qwen3_omni": (multimodal.qwen3_omni_positions, {**SOUND, "steps_per_second": 13, "n_audios": 2}),
    "hy_v4_vl": (multimodal.hy_v4_vl_positions, NEWLINES),
    "hunyuan_vl": (
        multimodal.hunyuan_vl_positions,
        {
            "token_types": [[0, 1, 1, 1, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1, 0]],
            "image_grids": [(1, 2, 4), (1, 4, 2), (1, 2, 4)],
            "spatial_merge": 2,
            "axes": 3,
            "mask": MASK,
        },
    ),
    "minicpm_v": (
        multimodal.minicpm_v_positions,
        {
            "token_types": [[0, 1, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 2, 2, 0, 0, 0, 0]],
            "markers": [[1, 0, 1, 2, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1, 0, 0, 0]],
            "image_crops": [(2, 2), (2, 4)],
            "video_crops": [(4, 2)],
            "spatial_merge": 2,
            "mask": MASK,
        },
    ),
    "glm_image": (
        multimodal.glm_image_positions,
        {
            "token_types": [[0, 1, 1, 0, 0, 0, 0, 0, 0], [0] * 4 + [1, 1, 1, 0, 0]],
            "image_grids": [(1, 1, 2), (1, 3, 1)],
            "mask": MASK,
        },
    ),
}


class NoReading(TorchDispatchMode):
    """Raises when a value reaches Python or decides about a shape."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.name().split(".")[0]
        chosen = name == "aten::index" and any(index is not None and index.dtype == torch.bool for index in args[1])
        counted = name == "aten::repeat_interleave" and (kwargs or {}).get("output_size") is None
        if name in READS or chosen or counted:
            raise AssertionError(f"{name} reads a tensor")
        return function(*args, **(kwargs or {}))


def made(builder, settings, *, tensors, device="cpu"):
    """The call, with all but the token types and the mask as Python numbers, or all as tensors."""
    as_tensors = [name for name, value in settings.items() if isinstance(value, list) and (tensors or name in TENSORS)]
    return builder(**settings | {name: torch.tensor(settings[name], device=device) for name in as_tensors})


def test_reading_is_seen():
    one = torch.ones(1)
    for read in (one.item, one.nonzero, lambda: one[one > 0], lambda: torch.repeat_interleave(one, one.long())):
        with NoReading(), pytest.raises(AssertionError, match="reads a tensor"):
            read()


@pytest.mark.parametrize("tensors", [False, True], ids=["numbers", "tensors"])
@pytest.mark.parametrize("name", BUILDERS)
def test_no_tensor_is_read(name, tensors):
    builder, settings = BUILDERS[name]
    want = made(builder, settings, tensors=tensors)
    with NoReading():
        got = made(builder, settings, tensors=tensors)
    for ours, theirs in zip(got, want, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("tensors", [False, True], ids=["numbers", "tensors"])
@pytest.mark.parametrize("name", BUILDERS)
def test_shapes_follow_from_shapes(name, tensors):
    """On meta tensors there are no values to read; under FakeTensorMode reading one raises."""
    builder, settings = BUILDERS[name]
    positions, deltas = made(builder, settings, tensors=tensors, device="meta")
    assert (positions.shape, deltas.shape, positions.device.type) == ((*torch.tensor(settings["mask"]).shape, 3), (2,), "meta")
    with FakeTensorMode():
        positions, deltas = made(builder, settings, tensors=tensors)
    assert (positions.shape, deltas.shape) == ((*torch.tensor(settings["mask"]).shape, 3), (2,))


@pytest.mark.parametrize("name", BUILDERS)
def test_one_graph_for_compile(name):
    builder, settings = BUILDERS[name]
    torch.compiler.reset()
    compiled = torch.compile(made, fullgraph=True, backend="eager")
    for ours, theirs in zip(compiled(builder, settings, tensors=True), made(builder, settings, tensors=True), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", ["qwen2_vl", "qwen3_omni", "minicpm_v"])
def test_two_compilations_over_four_lengths(name):
    builder, settings = BUILDERS[name]
    torch.compiler.reset()
    counter = CompileCounter()
    compiled = torch.compile(builder, backend=counter, fullgraph=True)
    for length in (0, 1, 4, 9):
        longer = {
            key: torch.nn.functional.pad(torch.tensor(value), (0, length)) if key in TENSORS else value
            for key, value in settings.items()
        }
        for ours, theirs in zip(compiled(**longer), builder(**longer), strict=True):
            assert torch.equal(ours, theirs)
    assert counter.frame_count <= 2


BAD = [
    (
        {"image_grids": [(1, 4, 4), (1, 4, 4)]},
        r"image_grids: needed as many tokens as token_types has of images \(4\), got \[4, 4\]",
    ),
    ({"image_grids": None}, r"image_grids: needed as many .* of images \(4\), got \[\] of the grids, 0 in all"),
    ({"image_grids": torch.tensor([[1, 4, 2]])}, r"image_grids: needed as many .* \(4\), got \[2\] of the grids, 2 in all"),
    ({"video_grids": [(1, 4, 4)]}, r"video_grids: needed as many .* of videos \(0\), got \[4\] of the grids, 4 in all"),
    (
        {"image_grids": [(1, 4, 2), (1, 2, 4)], "token_types": [[0, 1, 0, 1, 1, 1]]},
        "side by side, got a gap before token 3 of row 0",
    ),
    ({"image_grids": [(1, 4, 4)], "token_types": [[0, 1, 1], [1, 1, 0]]}, "side by side, got a gap before token 0 of row 1"),
    ({"image_grids": [(1, -4, 4)]}, "image_grids: rows: needed a whole number >= 1, got -4"),
    ({"image_grids": [(0, 4, 4)]}, "image_grids: frames: needed a whole number >= 1, got 0"),
    ({"image_grids": [(1, 4.0, 4)]}, "image_grids: rows: needed a whole number >= 1, got float 4.0"),
    ({"image_grids": [(1, 4, 5)]}, r"image_grids: needed columns divisible by 2, the merge, got \(1, 4, 5\)"),
    ({"image_grids": [(4, 4)]}, r"image_grids: needed \(frames, rows, columns\) for each, got tuple \(4, 4\)"),
    ({"image_grids": 4}, r"image_grids: needed a list of \(frames, rows, columns\), got int 4"),
    (
        {"image_grids": torch.tensor([[1, 4, 5]])},
        r"image_grids: needed sizes >= 1, divisible by \(1, 2, 2\) .* got \[\[1, 4, 5\]\]",
    ),
    ({"image_grids": torch.tensor([[1, -4, -4]])}, r"image_grids: needed sizes >= 1, .* got \[\[1, -4, -4\]\]"),
    ({"image_grids": torch.tensor([[1.0, 4, 4]])}, r"image_grids: needed an integer tensor \[N, 3\] .* got float32 \[1, 3\]"),
    ({"image_grids": torch.tensor([1, 4, 4])}, r"image_grids: needed an integer tensor \[N, 3\] .* got int64 \[3\]"),
    ({"image_grids": torch.ones(1, 3, dtype=torch.int64, device="meta")}, "image_grids: needed a tensor on cpu, .* one on meta"),
    (
        {"token_types": torch.zeros(1, 3)},
        r"token_types: needed an integer tensor \[B, T\] \(0 text, 1 image, 2 video\), got float32 \[1, 3\]",
    ),
    ({"token_types": torch.zeros(3, dtype=torch.int64)}, r"token_types: needed an integer tensor \[B, T\] .* got int64 \[3\]"),
    ({"token_types": torch.zeros(1, 3, dtype=torch.bool)}, r"token_types: .* got bool \[1, 3\]"),
    ({"token_types": [[0, 3]]}, r"token_types: needed 0 to 2 \(text, image, video\), got 0 to 3"),
    ({"token_types": [[-1, 0]]}, r"token_types: needed 0 to 2 \(text, image, video\), got -1 to 0"),
    ({"mask": torch.ones(1, 5)}, r"mask: needed a bool or integer tensor \[1, 6\] \(true = a real token\), got float32 \[1, 5\]"),
    ({"mask": torch.ones(1, 6)}, r"mask: .* got float32 \[1, 6\]"),
    ({"mask": torch.ones(1, 6, dtype=torch.bool, device="meta")}, "mask: needed a tensor on cpu, .* one on meta"),
    ({"spatial_merge": 0}, "spatial_merge: needed a whole number >= 1, got 0"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_what_is_refused(change, message):
    given = {"token_types": [[0, 1, 1, 1, 1, 0]], "image_grids": [(1, 4, 4)], "spatial_merge": 2, **change}
    types = given.pop("token_types")
    with pytest.raises(ValueError, match=message):
        multimodal.qwen2_vl_positions(torch.tensor(types) if isinstance(types, list) else types, **given)


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        ([0.5], "seconds_per_grid: needed 2 numbers, one a video, got 1"),
        ([0.5, -1.0], r"seconds_per_grid: needed numbers >= 0, got \[0.5, -1.0\]"),
        ([0.5, float("nan")], "seconds_per_grid: needed a finite number, got float nan"),
        (0.5, "seconds_per_grid: needed one number a video, got float 0.5"),
        (torch.tensor([0.5]), r"seconds_per_grid: needed a float32 or float64 tensor \[2\], one a video, got float32 \[1\]"),
        (torch.tensor([0.5, -1.0]), r"seconds_per_grid: needed finite numbers >= 0, got \[0.5, -1.0\]"),
        (torch.ones(2, dtype=torch.bfloat16), r"seconds_per_grid: .* got bfloat16 \[2\]"),
        (torch.ones(2, device="meta"), "seconds_per_grid: needed a tensor on cpu, .* one on meta"),
    ],
)
def test_seconds_that_are_refused(seconds, message):
    settings = {"seconds_per_grid": seconds, "tokens_per_second": 2, "spatial_merge": 1}
    with pytest.raises(ValueError, match=message):
        multimodal.qwen2_5_vl_positions(torch.tensor([[2, 0, 2]]), video_grids=[(1, 1, 1)] * 2, **settings)


def test_temporal_merge_must_divide():
    with pytest.raises(ValueError, match=r"video_grids: needed frames divisible by 2, the merge, got \(3, 2, 4\)"):
        multimodal.ernie4_5_vl_positions(torch.tensor([[2, 2]]), video_grids=[(3, 2, 4)], spatial_merge=2, temporal_merge=2)


def test_wrong_counts_on_an_accelerator_are_not_looked_for():
    types = torch.ones(1, 3, dtype=torch.int64, device="meta")
    assert multimodal.qwen2_vl_positions(types, image_grids=[(1, 9, 9)], spatial_merge=1).positions.shape == (1, 3, 3)


@pytest.mark.parametrize(
    ("deltas", "seen", "n", "message"),
    [
        (torch.zeros(2, 1, dtype=torch.int64), 1, 1, r"deltas: needed an int64 \(or float32\) tensor \[B\], .* got int64 \[2, 1\]"),
        (torch.zeros(2), torch.zeros(3, dtype=torch.int64), 1, r"seen: needed an int or an integer tensor \[2\], got int64 \[3\]"),
        (torch.zeros(2), torch.zeros(2), 1, r"seen: needed an int or an integer tensor \[2\], got float32 \[2\]"),
        (torch.zeros(2), -1, 1, "seen: needed a whole number >= 0, got -1"),
        (torch.zeros(2), 1, -1, "n: needed a whole number >= 0, got -1"),
    ],
)
def test_continuations_that_are_refused(deltas, seen, n, message):
    with pytest.raises(ValueError, match=message):
        multimodal.continued(deltas, seen, n)


def test_rows_without_tokens_and_no_tokens_at_all():
    """transformers has no answer to either: it joins an empty list of pieces."""
    types = torch.zeros(2, 3, dtype=torch.int64)
    positions, deltas = multimodal.qwen2_vl_positions(types, spatial_merge=2, mask=torch.tensor([[1, 1, 1], [0, 0, 0]]))
    assert (positions[..., 0].tolist(), deltas.tolist()) == ([[0, 1, 2], [0, 0, 0]], [0, 0])
    omni = {"steps_per_second": 25, "spatial_merge": 2}
    for builder, settings in (
        (multimodal.qwen2_vl_positions, {"spatial_merge": 2}),
        (multimodal.qwen2_5_omni_positions, omni),
        (multimodal.qwen3_omni_positions, {**omni, "n_audios": 0}),
        (multimodal.hunyuan_vl_positions, {"spatial_merge": 2, "axes": 3}),
        (multimodal.minicpm_v_positions, {"spatial_merge": 2, "markers": types[:, :0]}),
    ):
        positions, deltas = builder(types[:, :0], **settings, mask=types[:, :0])
        assert (positions.shape, deltas.tolist()) == ((2, 0, 3), [0, 0])
