"""One Triton kernel that turns queries and keys in one launch, to the bit as the formula does.

A program turns a tile: some tokens of one row of the batch, some heads of q or of k. Both entries of a pair are read before either
is written, so that a tensor can be turned in place. Triton is imported when the kernel is first needed.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ordinate.formula import Pairs

if TYPE_CHECKING:
    import triton.language as tl  # type: ignore  # Triton is no typed package, and need not be there

DTYPES = {torch.float32, torch.bfloat16, torch.float16, torch.float64}
# Heads that share one reading of cos and sin, and pairs of entries that a program turns: eight a thread of four warps.
HEADS, PAIRS = 8, 1024
# Counts that change from call to call: a kernel compiled for one of them would gain nothing.
COUNTS = ("n_tokens", "token_tiles", "q_heads", "k_heads", "q_tiles")


def why_not(device: torch.device) -> str | None:
    """Say why the kernel cannot turn vectors on a device.

    Args:
        device: where the vectors are.

    Returns:
        The reason, or None if it can: on NVIDIA's GPUs from Ampere on, and on the CPU in Triton's interpreter (TRITON_INTERPRET=1).

    Example:
        >>> why_not(torch.device("meta"))
        'device meta'
    """
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if device.type != "cuda" and not (interpreted and device.type == "cpu"):
        return f"device {device.type}"
    if importlib.util.find_spec("triton") is None:
        return "no triton"
    if interpreted:
        return None
    if not torch.cuda.is_available() or torch.version.hip is not None:
        return "no NVIDIA GPU"
    major, minor = torch.cuda.get_device_capability(device)
    return None if major >= 8 else f"compute capability {major}.{minor}, below 8.0"


def turn(vectors: Sequence[tuple[torch.Tensor, torch.Tensor]], cos: torch.Tensor, sin: torch.Tensor, pairs: Pairs) -> bool:
    """Turn one or two tensors by the kernel, in one launch.

    Args:
        vectors: (x, out) each, of one shape; out may be x itself. Strides are any, but 1 in the last dim.
        cos: cosines, float32 (float64 for float64 vectors).
        sin: sines.
        pairs: which entries turn.

    Returns:
        Whether it was done; False where there is no kernel, or none for this form (nothing is written then).

    Shape:
        x [B, H, T, D] or [B, T, H, D], or three dims without B; cos and sin [T, n] or [B, T, n]

    Example:
        >>> x, quarter = torch.tensor([[[1.0, 2.0]]]), (torch.tensor([[0.0]]), torch.tensor([[1.0]]))
        >>> done = turn([(x, x)], *quarter, Pairs("half", 0, 1, -2, False))
        >>> x.tolist() == ([[[-2.0, 1.0]]] if done else [[[1.0, 2.0]]])
        True
    """
    if not _is_plain(vectors, cos, sin) or why_not(cos.device) is not None:
        return False
    sizes = [_row_head_token(x.shape, 1, pairs.sequence_dim) for x, _ in vectors]
    batch, q_heads, n_tokens = sizes[0]
    k_heads = sizes[1][1] if len(sizes) == 2 else 0
    if sizes[-1] != (batch, sizes[-1][1], n_tokens) or not all(_is_for(table.shape, batch, n_tokens) for table in (cos, sin)):
        return False
    _launch(vectors, (batch, q_heads, k_heads, n_tokens), cos, sin, pairs)
    return True


def _is_plain(vectors: Sequence[tuple[torch.Tensor, torch.Tensor]], cos: torch.Tensor, sin: torch.Tensor) -> bool:
    """Whether dtypes, devices, numbers of dims, widths and last strides are those that the kernel is written for."""
    x = vectors[0][0]
    work = torch.float64 if x.dtype == torch.float64 else torch.float32
    for table in (cos, sin):
        if table.dtype != work or table.device != x.device or table.ndim not in (2, 3) or not table.shape[-1]:
            return False
    others = [other for both in vectors for other in both]
    for other in others:
        if other.dtype != x.dtype or other.device != x.device or other.ndim not in (3, 4) or other.shape[-1] != x.shape[-1]:
            return False
    return x.dtype in DTYPES and all(tensor.stride(-1) == 1 or tensor.shape[-1] == 1 for tensor in (cos, sin, *others))


def _row_head_token(numbers: Sequence[int], no_row: int, sequence_dim: int) -> tuple[int, int, int]:
    """Sizes or strides of all dims but the last, in one order; no_row where there are no rows."""
    row, first, second = (no_row, *numbers[:2]) if len(numbers) == 3 else numbers[:3]
    return (row, first, second) if sequence_dim == -2 else (row, second, first)


def _is_for(shape: Sequence[int], batch: int, n_tokens: int) -> bool:
    """Whether cos or sin has angles for every token, the same for all rows or a row's own."""
    return shape[-2] in (1, n_tokens) and (len(shape) == 2 or shape[0] in (1, batch))


def _table_strides(table: torch.Tensor) -> tuple[int, int]:
    """From row to row and from token to token; 0 where all have the same angles."""
    strides = [0 if size == 1 else stride for size, stride in zip(table.shape, table.stride(), strict=True)]
    return strides[-3] if table.ndim == 3 else 0, strides[-2]


def _launch(
    vectors: Sequence[tuple[torch.Tensor, torch.Tensor]],
    sizes: tuple[int, int, int, int],
    cos: torch.Tensor,
    sin: torch.Tensor,
    pairs: Pairs,
) -> None:
    """Cut the vectors into tiles and start the kernel; without keys it is given the queries again, and no head of them."""
    batch, q_heads, k_heads, n_tokens = sizes
    n_pairs, four = cos.shape[-1], (*vectors[0], *vectors[-1])
    padded, heads = _power_of_two(n_pairs), min(HEADS, _power_of_two(max(q_heads, k_heads)))
    tokens = min(_power_of_two(n_tokens), max(1, PAIRS // (padded * heads)))
    token_tiles, q_tiles, k_tiles = -(-n_tokens // tokens), -(-q_heads // heads), -(-k_heads // heads)
    if batch * token_tiles * (q_tiles + k_tiles) == 0:
        return
    others = four[0].shape[-1] - 2 * n_pairs
    copies = any(out is not x for x, out in vectors)
    # Triton launches on the current device, which need not be that of the vectors.
    with torch.cuda.device(cos.get_device()):
        _kernel()[(batch * token_tiles, q_tiles + k_tiles)](
            *(*four, cos, sin),
            *(stride for x in four for stride in _row_head_token(x.stride(), 0, pairs.sequence_dim)),
            *(*_table_strides(cos), *_table_strides(sin)),
            *(n_tokens, token_tiles, q_heads, k_heads, q_tiles),
            *(tokens, heads, padded, n_pairs, n_pairs // pairs.parts, pairs.start),
            *(others, _power_of_two(others) if copies and others else 0, pairs.layout == "interleaved", pairs.rounds),
            # A product and a sum fused into one rounding would not be the formula's bits.
            enable_fp_fusion=False,
        )


def _power_of_two(least: int) -> int:
    """The smallest one that is not less."""
    return 1 << max(least - 1, 0).bit_length()


@functools.cache
def _kernel() -> Any:
    """Import Triton and make the kernel, once: it keeps what it has compiled."""
    # The kernel's source finds Triton's language under this global name.
    globals()["tl"] = importlib.import_module("triton.language")
    return importlib.import_module("triton").jit(_turn_tile, do_not_specialize=COUNTS)


def _turn_tile(  # type: ignore[no-untyped-def]
    q,
    q_out,
    k,
    k_out,
    cos,
    sin,
    q_batch,
    q_head,
    q_token,
    q_out_batch,
    q_out_head,
    q_out_token,
    k_batch,
    k_head,
    k_token,
    k_out_batch,
    k_out_head,
    k_out_token,
    cos_batch,
    cos_token,
    sin_batch,
    sin_token,
    n_tokens,
    token_tiles,
    q_heads,
    k_heads,
    q_tiles,
    tokens: tl.constexpr,
    heads: tl.constexpr,
    padded: tl.constexpr,
    n_pairs: tl.constexpr,
    per_part: tl.constexpr,
    start: tl.constexpr,
    others: tl.constexpr,
    padded_others: tl.constexpr,
    interleaved: tl.constexpr,
    rounds: tl.constexpr,
):
    """Triton source. Tiles are [tokens, heads, entries]; what is counted in entries of a whole tensor is int64."""
    tile = tl.program_id(1)
    of_q = tile < q_tiles
    batch = (tl.program_id(0) // token_tiles).to(tl.int64)
    token = (tl.program_id(0) % token_tiles).to(tl.int64) * tokens + tl.arange(0, tokens)[:, None, None]
    head = (tile - tl.where(of_q, 0, q_tiles)).to(tl.int64) * heads + tl.arange(0, heads)[None, :, None]
    in_time = token < n_tokens
    there = in_time & (head < tl.where(of_q, q_heads, k_heads))
    x = tl.where(of_q, q, k) + batch * tl.where(of_q, q_batch, k_batch)
    x += head * tl.where(of_q, q_head, k_head) + token * tl.where(of_q, q_token, k_token)
    out = tl.where(of_q, q_out, k_out) + batch * tl.where(of_q, q_out_batch, k_out_batch)
    out += head * tl.where(of_q, q_out_head, k_out_head) + token * tl.where(of_q, q_out_token, k_out_token)

    work = cos.dtype.element_ty
    narrow = q.dtype.element_ty
    # A product is rounded to what is kept, and goes on in what is worked in.
    kept = narrow if rounds else work
    pair = tl.arange(0, padded)[None, None, :]
    angled = in_time & (pair < n_pairs)
    cos = tl.load(cos + batch * cos_batch + token * cos_token + pair, mask=angled, other=0.0).to(kept).to(work)
    sin = tl.load(sin + batch * sin_batch + token * sin_token + pair, mask=angled, other=0.0).to(kept).to(work)
    if interleaved:
        # Read as they lie and then told apart: reading every other entry would be twice the reads.
        entry = tl.arange(0, 2 * padded)[None, None, :]
        inside = there & (entry < 2 * n_pairs)
        both = tl.load(x + start + entry, mask=inside, other=0.0)
        first, second = tl.split(tl.reshape(both, (tokens, heads, padded, 2)))
    else:
        # per_part entries of a part are first ones, as many after them second ones.
        entry = pair + pair // per_part * per_part
        inside = there & (pair < n_pairs)
        first = tl.load(x + start + entry, mask=inside, other=0.0)
        second = tl.load(x + start + per_part + entry, mask=inside, other=0.0)
    first = first.to(work)
    second = second.to(work)
    new_first = ((first * cos).to(kept).to(work) - (second * sin).to(kept).to(work)).to(narrow)
    new_second = ((second * cos).to(kept).to(work) + (first * sin).to(kept).to(work)).to(narrow)
    if interleaved:
        both = tl.reshape(tl.join(new_first, new_second), (tokens, heads, 2 * padded))
        tl.store(out + start + entry, both, mask=inside)
    else:
        tl.store(out + start + entry, new_first, mask=inside)
        tl.store(out + start + per_part + entry, new_second, mask=inside)
    if padded_others:
        other = tl.arange(0, padded_others)[None, None, :]
        inside = there & (other < others)
        other = tl.where(other < start, other, other + 2 * n_pairs)
        tl.store(out + other, tl.load(x + other, mask=inside), mask=inside)
