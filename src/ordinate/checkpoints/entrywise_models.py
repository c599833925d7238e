"""Reading models whose entries each have an angle of their own, HunYuan-VL and V-JEPA 2: trained with what is no rotation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.grid_plan import GridPlan
from ordinate.checkpoints.kinds import MOST_LAYERS, short, whole
from ordinate.checkpoints.plan import LayerPlan, PositionIds, StackPlan
from ordinate.checkpoints.rope_dictionary import DICTIONARIES, RopeKeys
from ordinate.checkpoints.rope_sections import SectionKeys
from ordinate.checkpoints.rotary_models import read_rotary
from ordinate.checkpoints.rotary_types import RotaryType
from ordinate.checkpoints.scheme_plans import EntrywiseRopePlan, MultimodalRopePlan
from ordinate.checkpoints.table_models import Reader, Stacks
from ordinate.checkpoints.wide_heads import WIDEST_HEAD

HUNYUAN = RotaryType(
    arithmetic="mixed",
    normed_after=True,
    values={"use_rotary_pos_emb": (True,)},
    sizes={"head_dim": "attention_head_dim"},
    defaults={"max_position_embeddings": 2048, "num_hidden_layers": 32},
)
CALLED = {3: ("column", "row", "image"), 4: ("position", "column", "row", "image")}
MOST_PIXELS = 2**24
CHOSEN = "masks choose the patches: their coordinates are rows of grid.positions, and they stand in the grid's order"
POOLED = "a classifier's pooler attends without positions"


def hunyuan_vl(fields: Fields) -> Stacks:
    """Read the text model of HunYuan-VL: sections of coordinates lie over the whole head, whose halves are the pairs.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 1, "head_dim": 16, "rope_parameters": {"mrope_section": [2, 2, 2, 2]}}
        >>> hunyuan_vl(Fields(config, source="mapping", model_type="hunyuan_vl_text"))[0].layers[0].scheme.shares
        (4, 4, 4, 4)
    """
    fields.defaults = HUNYUAN.defaults
    axes = _sections(fields)
    if not fields.has("head_dim", "attention_head_dim"):
        fields.fault("head_dim", "needed, got nothing: its attention does not divide the width among the heads")
        fields.defaults = {**HUNYUAN.defaults, "head_dim": 128}
    called = CALLED.get(axes, tuple(f"coordinate {axis}" for axis in range(axes)))
    rope = RopeKeys(
        ntk_alpha=True, aliases={"xdrope": "dynamic"}, sections=SectionKeys(default=(1,) * axes, axes=axes, called=called)
    )
    stack = read_rotary(fields, replace(HUNYUAN, rope=rope))
    (layer,) = set(stack.layers)
    entrywise = replace(layer, scheme=_entrywise(layer.scheme)) if isinstance(layer.scheme, MultimodalRopePlan) else layer
    return (replace(stack, layers=(entrywise,) * len(stack.layers), position_ids=PositionIds(axes=axes, called=called)),)


def _entrywise(scheme: MultimodalRopePlan) -> EntrywiseRopePlan:
    return EntrywiseRopePlan(
        head_dim=scheme.head_dim,
        layout=scheme.layout,
        shares=tuple(2 * pairs for pairs in scheme.sections),
        spectrum="shared",
        base=scheme.base,
        scaling=scheme.scaling,
        arithmetic=scheme.arithmetic,
    )


def _sections(fields: Fields) -> int:
    """Call the sections of older files by their newer name; give how many there are."""
    values, found = dict(fields.values), None
    for name in DICTIONARIES:
        if not isinstance(values.get(name), Mapping):
            continue
        part: dict[str, Any] = dict(values[name])
        older = part.pop("xdrope_section", None)
        if older is not None:
            fields.note(f"{name}.xdrope_section", older, "read as mrope_section")
            if part.get("mrope_section") not in (None, older):
                keys = (fields.name(f"{name}.mrope_section"), fields.name(f"{name}.xdrope_section"))
                fields.disagree((keys[0], part["mrope_section"]), (keys[1], older))
            part["mrope_section"] = older
        values[name], found = part, part.get("mrope_section", found)
    fields.values = values
    axes = len(found) if isinstance(found, (list, tuple)) else 0
    if not fields.has(*DICTIONARIES):
        fields.fault(DICTIONARIES[0], "needed, got nothing: its mrope_section shares out the pairs among coordinates")
        return 2
    if not 2 <= axes <= WIDEST_HEAD:
        fields.refuse(f"{fields.prefix}mrope_section: needed two numbers or more, the pairs of each coordinate, got {short(found)}")
        return 2
    return axes


def vjepa2(fields: Fields) -> Stacks:
    """Read V-JEPA 2: thirds of a head for frames, rows and columns, in the encoder and in the predictor.

    Args:
        fields: the configuration.

    Returns:
        Both stacks.

    Example:
        >>> config = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 128}
        >>> encoder, predictor = vjepa2(Fields(config, source="mapping", model_type="vjepa2"))
        >>> encoder.layers[0].scheme.shares, predictor.layers[0].scheme.head_dim, encoder.grid.size
        ((20, 20, 20), 32, (16, 16))
    """
    n_layers = fields.size(("num_hidden_layers",), "{} layers of the encoder", most=MOST_LAYERS)
    heads, width = fields.size(("num_attention_heads",), "{} heads"), fields.size(("hidden_size",), "width {}")
    crop = fields.take(("crop_size",), whole(least=1, most=MOST_PIXELS), "pixels of a frame's side {}", default=256)
    patch = fields.take(("patch_size",), whole(least=1, most=MOST_PIXELS), "pixels of a patch's side {}", default=16)
    predicting = fields.take(
        ("pred_num_hidden_layers",), whole(least=1, most=MOST_LAYERS), "{} layers of the predictor", default=12
    )
    own_heads = fields.take(("pred_num_attention_heads",), whole(least=1), "{} heads of it", default=12)
    own_width = fields.take(("pred_hidden_size",), whole(least=1), "its width {}", default=384)
    if not fields.faults and crop < patch:
        fields.fault("crop_size", f"needed at least patch_size = {patch}, got {crop}")
    grid = GridPlan(frames=True, size=(max(crop // patch, 1),) * 2)
    return (
        _video_stack(fields, "encoder", grid, n_layers, _head(fields, "hidden_size", width, heads), POOLED),
        _video_stack(fields, "predictor", grid, predicting, _head(fields, "pred_hidden_size", own_width, own_heads), CHOSEN),
    )


def _head(fields: Fields, key: str, width: int, heads: int) -> int:
    """Width of a head, which three coordinates share."""
    if not fields.faults and (width % heads or not 6 <= width // heads <= WIDEST_HEAD):
        fields.fault(key, f"needed a multiple of the {heads} heads, 6 to {WIDEST_HEAD} entries each, got {width}")
    return max(width // heads, 6)


def _video_stack(fields: Fields, name: str, grid: GridPlan, n_layers: int, head_dim: int, left: str) -> StackPlan:
    scheme = EntrywiseRopePlan(
        head_dim=head_dim,
        layout="interleaved",
        shares=(head_dim // 3 // 2 * 2,) * 3,
        spectrum="each",
        base=10000.0,
        phases="input",
    )
    fields.note("model_type", fields.model_type, "angles are rounded to the vectors' dtype")
    return StackPlan(
        name=name,
        causal=False,
        max_length=None,
        input=None,
        layers=(LayerPlan(scheme=scheme, softmax_scale=float(head_dim**-0.5)),) * n_layers,
        position_ids=PositionIds(axes=3),
        grid=grid,
        left_to_model=(left,),
    )


READERS: dict[str, Reader] = {"hunyuan_vl_text": hunyuan_vl, "vjepa2": vjepa2}
