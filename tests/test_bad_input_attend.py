"""Bad input to attend: one change to a call that is right, and the one clear line that it gives."""

import math

import pytest
import torch

from ordinate import ALiBi, Rope, Sinusoidal, attend

ROPE = Rope(head_dim=8, layout="half")
ALIBI = ALiBi(n_heads=4, slopes="paper")
META = torch.device("meta")


def x(*shape, **kind):
    return torch.zeros(*shape, **kind)


def whole(*shape, **kind):
    return torch.zeros(*shape, dtype=torch.int64, **kind)


# one change each to a call of attend that is right: 4 query heads, 2 key heads, 3 tokens
ATTENDING = [
    ({"q": x(3, 8)}, r"q: needed a floating tensor \[B, H, T, D\], got float32 \[3, 8\]"),
    ({"k": whole(1, 2, 3, 8)}, r"k: needed a floating tensor \[B, H, T, D\], got int64 \[1, 2, 3, 8\]"),
    ({"v": None}, "v: needed a floating tensor .* got NoneType"),
    ({"v": x(1, 2, 3, 8, dtype=torch.bfloat16)}, "one dtype, got torch.float32, torch.float32, torch.bfloat16"),
    ({"k": x(1, 2, 3, 8, device=META)}, "one device, got cpu, meta, cpu"),
    ({"k": x(1, 3, 3, 8), "v": x(1, 3, 3, 8)}, "k: needed a number of heads that divides q's 4, got 3"),
    ({"k": x(1, 0, 3, 8), "v": x(1, 0, 3, 8)}, "k: needed a number of heads that divides q's 4, got 0"),
    ({"k": x(1, 2, 3, 6)}, r"got q \[1, 4, 3, 8\], k \[1, 2, 3, 6\], v \[1, 2, 3, 8\]"),
    ({"v": x(1, 2, 4, 8)}, r"k \[1, 2, 3, 8\], v \[1, 2, 4, 8\]"),
    ({"q_positions": range(2)}, "q_positions: needed 3 positions, one a token, got 2"),
    ({"k_positions": whole(2, 3)}, r"k_positions: needed 1 rows, one a batch row \(or 1\), got 2"),
    ({"k_positions": whole(3, device=META)}, "k_positions: needed device cpu, where the vectors are, got meta"),
    ({"q_positions": x(3, dtype=torch.float16)}, r"q_positions: .* got float16 \[3\]"),
    ({"order": (range(3), range(4))}, "order k_positions: needed 3 positions, one a token, got 4"),
    (
        {"mask": torch.ones(3, 3, dtype=torch.int64)},
        r"mask: needed a tensor, bool .* got int64 \[3, 3\]",
    ),
    ({"mask": [[True]]}, "mask: needed a tensor, bool .* got list"),
    (
        {"mask": torch.ones(2, 3, dtype=torch.bool)},
        r"\[B, H, Q, K\] = \[1, 4, 3, 3\], got \[2, 3\]; a padding mask \[B, K\] is mask\[:, None",
    ),
    ({"mask": torch.ones(3, 3, dtype=torch.bool, device=META)}, "mask: needed device cpu, got meta"),
    ({"window": 0}, "window: needed a whole number >= 1, got 0"),
    ({"window": 1.5}, "window: needed a whole number >= 1, got float 1.5"),
    ({"window": True}, "window: needed a whole number >= 1, got bool True"),
    ({"dropout": 1.0}, r"dropout: needed a probability in \[0, 1\), got 1.0"),
    ({"dropout": -0.5}, r"dropout: needed a probability in \[0, 1\), got -0.5"),
    ({"scale": math.nan}, "scale: needed a finite number, got float nan"),
    ({"scale": math.inf}, "scale: needed a finite number, got float inf"),
    ({"document_ids": x(3)}, r"document_ids: needed integer tensors \[T\] or \[B, T\], got float32 \[3\]"),
    ({"document_ids": [0, 0, 1]}, "document_ids: needed integer tensors .* got list"),
    ({"document_ids": whole(4)}, "document_ids of the queries: needed 3 positions, one a token, got 4"),
    ({"document_ids": (whole(3), whole(2))}, "document_ids of the keys: needed 3 positions, one a token, got 2"),
    ({"document_ids": whole(3, device=META)}, "document_ids: needed device cpu, .* got meta"),
    ({"q": x(1, 4, 2, 8), "q_positions": range(2), "document_ids": whole(3)}, r"got 3; give a pair \(q_ids, k_ids\)"),
    ({"at": ROPE.at(range(3))}, "at: needed "),
    ({"scheme": ALIBI, "at": (ROPE.at(range(3)), ROPE.at(range(3)))}, "at: needed "),
    (
        {"at": (ROPE.at(range(4)), ROPE.at(range(4)))},
        r"made for q positions range\(0, 3\), got one for range\(0, 4\)",
    ),
    ({"scheme": Rope(head_dim=6, layout="half")}, r"q: .* with D = head_dim = 6, got float32 \[1, 4, 3, 8\]"),
    ({"scheme": ALiBi(n_heads=3, slopes="paper")}, r"ALiBi\(n_heads=3\): needed q with 3 heads, got 4"),
]


def call(**change):
    right = {"q": x(1, 4, 3, 8), "k": x(1, 2, 3, 8), "v": x(1, 2, 3, 8), "scheme": ROPE, "causal": True}
    right |= {"q_positions": range(3), "k_positions": range(3)} | change
    return attend(**right)


def one_line(caught):
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 400


def test_the_call_is_right():
    assert call().shape == (1, 4, 3, 8)


@pytest.mark.parametrize(("change", "message"), ATTENDING, ids=[message[:50] for _, message in ATTENDING])
def test_values(change, message):
    with pytest.raises(ValueError, match=message) as caught:
        call(**change)
    one_line(caught)


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (
            Sinusoidal(d_model=8),
            "needed a query-key or score scheme, got Sinusoidal, which acts at the input: call it on the embeddings",
        ),
        ("rope", "scheme: needed a query-key scheme, a score scheme or None, got str"),
    ],
    ids=["input scheme", "name"],
)
def test_schemes(scheme, message):
    with pytest.raises(TypeError, match=message) as caught:
        call(scheme=scheme)
    one_line(caught)
