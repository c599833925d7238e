"""Encoders of Qwen2-VL's kind: rows, then columns, in halves of the head; frames share their coordinates."""

from __future__ import annotations

from ordinate.checkpoints.axial_types.layers import convolutions_by_type, windows_but_some, windows_by_type
from ordinate.checkpoints.axial_types.record import FRAME, TABLE, AxialType
from ordinate.checkpoints.grid_plan import GridPlan

QWEN = {"num_hidden_layers": ("depth", "num_hidden_layers"), "num_attention_heads": ("num_heads", "num_attention_heads")}
DOTS = {"hidden_size": ("hidden_size", "embed_dim"), "num_attention_heads": ("num_attention_heads", "num_heads")}
OF_TABLE = "size of a table of learned positions, which is added at the input and left to the model"
UNREAD = "nothing: the encoder's code does not read it"
MERGED = GridPlan(merge=2)

PLAIN = AxialType(sizes=QWEN, grid=MERGED, merged=True, left=(FRAME,))
WINDOWED = AxialType(sizes=QWEN, grid=MERGED, merged=True, policy=windows_but_some, left=(FRAME,))
TABLED = AxialType(sizes=QWEN, grid=MERGED, merged=True, noted={"num_position_embeddings": OF_TABLE}, left=(FRAME, TABLE))
SAMPLED = AxialType(sizes=QWEN, grid=MERGED, merged=True, left=(FRAME, TABLE))
MUSE = AxialType(
    arithmetic="mixed",
    axis_order=(1, 0),
    grid=GridPlan(first=1),
    policy=windows_by_type,
    noted={"pos_emb_width": OF_TABLE, "max_position_embeddings": UNREAD},
    left=(FRAME, TABLE, "layers take patches window by window; the order changes nothing but the order"),
)

MERGED_TYPES: dict[str, AxialType] = {
    "qwen2_vl_vision": AxialType(sizes={**QWEN, "hidden_size": ("embed_dim",)}, grid=MERGED, merged=True, left=(FRAME,)),
    "qwen2_5_vl_vision": WINDOWED,
    "qwen2_5_omni_vision_encoder": WINDOWED,
    "exaone4_5_vision": WINDOWED,
    "qwen3_vl_vision": TABLED,
    "qwen3_vl_moe_vision": TABLED,
    "qwen3_5_vision": TABLED,
    "qwen3_5_moe_vision": TABLED,
    "qwen4_exp_vision": TABLED,
    "qwen3_omni_moe_vision_encoder": TABLED,
    "cohere_compass_vision": TABLED,
    "glm4v_vision": SAMPLED,
    "glm4v_moe_vision": SAMPLED,
    "glm_ocr_vision": PLAIN,
    "glm5_next_vision": PLAIN,
    "ernie4_5_vl_moe_vision": PLAIN,
    "dots3_note_vision_encoder": AxialType(sizes=DOTS, grid=MERGED, merged=True, left=(FRAME,)),
    "lfm3_vl_vision": AxialType(base=1000000.0, grid=MERGED, merged=True, policy=convolutions_by_type, left=(FRAME,)),
    "paddleocr_vl_vision": AxialType(left=(FRAME, TABLE)),
    "video_llama_3_vision": AxialType(left=(FRAME, "merge sizes are told with each image: grid.positions(merge=)")),
    "mlcd_vision_model": AxialType(
        left=("a class token comes first, turned by angles that are weights (class_pos_emb); grid.positions numbers the patches",)
    ),
    "muse_glimmer_vision": MUSE,
    "muse_spark_vision": MUSE,
}
