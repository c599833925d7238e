"""Encoders of images that lay out pairs, axes or coordinates in ways of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ordinate.checkpoints.axial_types.merged import OF_TABLE, UNREAD
from ordinate.checkpoints.axial_types.record import CLIP, TABLE, AxialType
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.grid_plan import GridPlan
from ordinate.checkpoints.kinds import whole
from ordinate.checkpoints.plan import LayerPlan

MOST_TOKENS = 2**20
TRAINING = {f"pos_embed_{name}": "training alone moves coordinates by it" for name in ("shift", "jitter", "rescale")}
CENTRED = GridPlan(centred=True, times=2 * math.pi)
IMAGE = "patches see their own image: document_ids say which, where images are packed"


def _registers(fields: Fields, grid: GridPlan, default: int) -> Mapping[str, Any]:
    registers = fields.take(
        ("num_register_tokens",), whole(most=MOST_TOKENS), "{} tokens after the class token, before the patches", default=default
    )
    return {"grid": GridPlan(centred=grid.centred, times=grid.times, prefix=1 + registers)}


def _no_registers(fields: Fields, grid: GridPlan) -> Mapping[str, Any]:
    return _registers(fields, grid, 0)


def _eight_registers(fields: Fields, grid: GridPlan) -> Mapping[str, Any]:
    return _registers(fields, grid, 8)


def _registers_and_queries(fields: Fields, grid: GridPlan) -> Mapping[str, Any]:
    found = _registers(fields, grid, 4)
    queries = fields.take(("num_queries",), whole(least=1, most=MOST_TOKENS), "{} query tokens, in the last layers", default=200)
    blocks = fields.take(
        ("num_blocks",), whole(most=MOST_TOKENS), "query tokens come before all others in the last {} layers", default=4
    )
    text = f"{queries} query tokens come before all others in the last {blocks} layers: grid.positions(prefix=) counts them"
    return {**found, "left_to_model": (text, "masks that the queries predict hide patches from them")}


def _square(fields: Fields, grid: GridPlan) -> Mapping[str, Any]:
    image = fields.take(("image_size",), whole(least=1, most=2**24), "pixels of an image's side {}", default=448)
    patch = fields.take(("patch_size",), whole(least=1, most=2**24), "pixels of a patch's side {}", default=14)
    side = max(image // patch, 1)
    return {"grid": GridPlan(first=grid.first, suffix=grid.suffix, size=(side, side))}


def _still_between_images(fields: Fields, grid: GridPlan) -> Mapping[str, Any]:
    """EfficientLoFTR turns nothing where one image attends to the other."""
    heads, width = (fields.values.get(key) for key in ("num_attention_heads", "hidden_size"))
    scale = (width / heads) ** -0.5 if not fields.faults and isinstance(heads, int) and isinstance(width, int) else 1.0
    return {"cross_attention": LayerPlan(scheme=None, softmax_scale=float(scale)), "grid": grid}


OTHER_AXIAL_TYPES: dict[str, AxialType] = {
    "gemma4_vision": AxialType(
        layout="half_by_axis",
        arithmetic="input",
        axis_order=(1, 0),
        base=100.0,
        head_dim=64,
        softmax_scale=1.0,
        noted={"position_embedding_size": OF_TABLE, "max_position_embeddings": UNREAD},
        left=("a learned row and a learned column are added at the input", "padding of a batch of images is hidden by a mask"),
    ),
    "inkling2_vision": AxialType(
        layout="interleaved",
        axis_order=(1, 0),
        sizes={},
        grid=GridPlan(merge=2, prefix=1, first=1),
        merged=True,
        left=(IMAGE, TABLE),
    ),
    "kimi_k25_vision": AxialType(
        order="alternating",
        axis_order=(1, 0),
        noted={f"pos_emb_{name}": OF_TABLE for name in ("height", "width", "time")},
        left=(CLIP, TABLE, "sinusoids of the frame's number are added at the input of videos"),
    ),
    "step3p5_vision": AxialType(
        axis_order=(1, 0),
        sizes={
            "num_hidden_layers": ("num_hidden_layers", "layers"),
            "num_attention_heads": ("num_attention_heads", "heads"),
            "hidden_size": ("hidden_size", "width"),
        },
        noted={"max_position_embeddings": UNREAD},
        left=(TABLE,),
    ),
    "pixtral": AxialType(arithmetic="input", spectrum="shared", left=(IMAGE,)),
    "minimax_m3_vl_vision": AxialType(
        arithmetic="input",
        axes=3,
        axis_order=(0, 1, 2),
        partly=True,
        grid=GridPlan(merge=2, frames=True),
        merged=True,
        left=(CLIP,),
    ),
    "llama4_vision_model": AxialType(
        layout="interleaved",
        axis_order=(1, 0),
        declares_axial=False,
        grid=GridPlan(first=1, suffix=1),
        sized=_square,
        left=("a table of learned positions is added at the input",),
    ),
    "dinov3_vit": AxialType(
        arithmetic="input", base=100.0, dictionary=False, grid=CENTRED, sized=_no_registers, noted=TRAINING, stepped=True
    ),
    "sapiens2": AxialType(
        arithmetic="input", base=100.0, dictionary=False, grid=CENTRED, sized=_eight_registers, noted=TRAINING, stepped=True
    ),
    "eomt_dinov3": AxialType(
        arithmetic="input",
        base=100.0,
        declares_axial=False,
        grid=CENTRED,
        sized=_registers_and_queries,
        noted=TRAINING,
        stepped=True,
    ),
    "efficientloftr": AxialType(
        layout="interleaved",
        arithmetic="mixed",
        order="alternating",
        declares_axial=False,
        joined=True,
        sizes={"num_hidden_layers": ("num_attention_layers",)},
        grid=GridPlan(first=1),
        sized=_still_between_images,
        left=("queries and keys are gathered from blocks of the grid before they are turned: rows and columns are of the blocks",),
    ),
}
