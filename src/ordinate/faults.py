"""The kinds of positional faults, and the code that each has wherever it is found: in a file, in a model, in a function."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of fault.

    Attributes:
        name: as it is called everywhere.
        code: of its findings; a kind that shows itself in several ways has further codes of the same hundred.
        what: goes wrong.
        remedy: in general; a finding says more.

    Example:
        >>> KINDS["decode-offset"].code
        'ORD401'
    """

    name: str
    code: str
    what: str
    remedy: str


_ROWS = (
    (
        "config-key-dropped",
        "ORD101",
        "a declared key is ignored, renamed, or replaced by a default",
        "read the key, or refuse it by name",
    ),
    (
        "per-layer-schedule",
        "ORD105",
        "layers that need settings of their own get those of others",
        "read base, rule and window layer by layer",
    ),
    (
        "partial-rotary",
        "ORD106",
        "frequencies or the distance within pairs are taken from the whole head where a part turns",
        "make frequencies of rotary_dim, pair inside its entries, and leave the others as they are",
    ),
    (
        "yarn-magnitude",
        "ORD107",
        "the magnitude of YaRN or LongRoPE is applied never, twice, or in the wrong place",
        "multiply cos and sin by it once; what scales the softmax is a number of its own",
    ),
    (
        "longrope-switch",
        "ORD108",
        "LongRoPE's short and long factors change at the wrong length, or are mixed in one cache",
        "choose by the length of the whole sequence, and turn cached keys again when the choice changes",
    ),
    (
        "dynamic-ntk",
        "ORD109",
        "the base depends on earlier calls, or changes below the trained length",
        "work the base out of the sequence's own length, every time",
    ),
    (
        "low-precision-phase",
        "ORD201",
        "positions, frequencies or their product lose bits before sine and cosine",
        "keep positions as integers and frequencies in float32 at least, and multiply outside of autocast",
    ),
    (
        "backend-dtype",
        "ORD204",
        "complex numbers or float64 where a backend has none",
        "turn with pairs of real numbers, in float32",
    ),
    (
        "layout-mismatch",
        "ORD301",
        "half-split and interleaved pairs are confused",
        "turn the pairs that the weights were trained with, or permute the rows of the query and key weights",
    ),
    (
        "fused-kernel-shape",
        "ORD303",
        "the fast path is wrong for some shapes, writes over its input, or has no gradient",
        "compare it with the formula over small sizes, forward and backward",
    ),
    (
        "decode-offset",
        "ORD401",
        "the absolute position is wrong while decoding with a cache",
        "count new tokens from the number of tokens in the cache",
    ),
    (
        "packed-positions",
        "ORD402",
        "positions run on over the border of a document, or documents see each other",
        "count from 0 in every document, and hide documents from each other by their ids",
    ),
    (
        "mask-blind-positions",
        "ORD403",
        "padding is counted as positions",
        "count real tokens alone: cumulative sum of the mask, less one",
    ),
    (
        "mrope-index",
        "ORD404",
        "time, row and column of multimodal tokens are counted wrongly",
        "start each part after the largest position so far; multiply times first and take the floor last",
    ),
    (
        "grid-order-and-resize",
        "ORD405",
        "rows and columns of a grid are exchanged, or a table is resized in the wrong order",
        "keep one order, rows first, and test with a grid that is not square",
    ),
    (
        "context-parallel-slice",
        "ORD406",
        "a rank turns its shard by the wrong positions",
        "cut positions exactly as tokens are cut",
    ),
    (
        "cos-sin-range",
        "ORD407",
        "positions outside of a table, negative or of a wrong dtype are taken without an error",
        "check the range before indexing, or work cos and sin out of the position",
    ),
    (
        "alibi-slopes",
        "ORD501",
        "slopes do not follow the published rule",
        "2^(-8 (h + 1) / n) for n a power of two; else those of the next smaller power, then every second one of the next larger",
    ),
    (
        "alibi-geometry",
        "ORD502",
        "sign, alignment, length or rounding of the bias is wrong",
        "bias = -slope (query - key) for keys at or before the query, in float32",
    ),
    (
        "relative-index-logic",
        "ORD503",
        "sign, split, clipping or shift of relative positions is wrong",
        "distance = key - query; compare bucket by bucket with the published table",
    ),
    (
        "sinusoid-construction",
        "ORD601",
        "the width is odd and it fails, or the table follows no convention",
        "sin and cos of position / 10000^(2i / d), one more sine than cosines where d is odd",
    ),
    (
        "table-range-and-base",
        "ORD602",
        "a learned table is read past its end, or from the wrong first row",
        "check positions against the number of rows before indexing; add the padding offset once",
    ),
    (
        "derived-keys-in-checkpoint",
        "ORD701",
        "numbers that follow from the configuration are stored with the weights, or expected there",
        "keep them out of the state dict (persistent=False), and load files with and without them",
    ),
    (
        "derived-buffer-uninit",
        "ORD702",
        "buffers that follow from the configuration are garbage after a model was made without memory",
        "work them out when they are used, or again after to_empty",
    ),
    (
        "cache-key-and-sharing",
        "ORD703",
        "a memoised table answers for other settings, or is changed by who received it",
        "key it by all that it depends on, or keep none",
    ),
    (
        "compile-unfriendly",
        "ORD704",
        "tracing breaks, or starts again for every length",
        "no Python numbers out of tensors (.item(), .tolist(), bool()) in forward, and no state that grows",
    ),
    (
        "provenance-mix",
        "ORD801",
        "weights of models with different positional settings were merged",
        "merge models with equal settings, or keep the settings of the weights that were trained",
    ),
)
KINDS: dict[str, Kind] = {row[0]: Kind(*row) for row in _ROWS}
