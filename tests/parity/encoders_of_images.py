"""Encoders of images in transformers whose queries and keys turn by rows and columns: small configurations, and how to run each.

``ENCODERS_OF_IMAGES`` has one case a model type: its directory, its classes, its function that turns, and a run.
"""

import torch
from encoder_cases import (
    IMAGE_PATCH,
    NO_OPTIONS,
    ONE,
    PATCH,
    SIZES,
    TWO_IMAGES,
    VIDEO_PATCH,
    Encoder,
    merged_blocks,
    packed,
    pair,
    qwen,
    split,
    square,
    whole,
    whole_of_several,
    with_ids,
)
from segmenter_cases import SEGMENTERS

TABLE = {"num_position_embeddings": 16}
DEEPSTACK = {**TABLE, "deepstack_visual_indexes": [0]}
WINDOWS = {"window_size": 8, "fullatt_block_indexes": [1], "depth": 3}
SAMPLED = {"image_size": 8}

ENCODERS_OF_IMAGES: dict[str, Encoder] = {
    "qwen2_vl_vision": qwen("qwen2_vl", "Qwen2VL", "Qwen2VisionTransformerPretrainedModel", embed_dim=48)._replace(
        values={"depth": 2, "num_heads": 2, "embed_dim": 48, "hidden_size": 32, "patch_size": PATCH}
    ),
    "qwen2_5_vl_vision": qwen("qwen2_5_vl", "Qwen2_5_VL", "Qwen2_5_VisionTransformerPretrainedModel", **WINDOWS),
    "qwen2_5_omni_vision_encoder": qwen(
        "qwen2_5_omni", "Qwen2_5Omni", "Qwen2_5OmniVisionEncoder", "Qwen2_5OmniVisionEncoderConfig", **WINDOWS
    ),
    "exaone4_5_vision": qwen("exaone4_5", "Exaone4_5_", "Exaone4_5_VisionModel", num_key_value_heads=1, **WINDOWS),
    "qwen3_vl_vision": qwen("qwen3_vl", "Qwen3VL", "Qwen3VLVisionModel", **DEEPSTACK),
    "qwen3_vl_moe_vision": qwen("qwen3_vl_moe", "Qwen3VLMoe", "Qwen3VLMoeVisionModel", **DEEPSTACK),
    "qwen3_5_vision": qwen("qwen3_5", "Qwen3_5", "Qwen3_5VisionModel", **TABLE),
    "qwen3_5_moe_vision": qwen("qwen3_5_moe", "Qwen3_5Moe", "Qwen3_5MoeVisionModel", **TABLE),
    "qwen4_exp_vision": qwen("qwen4_exp", "Qwen4Exp", "Qwen4ExpVisionModel", **TABLE),
    "qwen3_omni_moe_vision_encoder": qwen(
        "qwen3_omni_moe", "Qwen3OmniMoe", "Qwen3OmniMoeVisionEncoder", "Qwen3OmniMoeVisionEncoderConfig", **DEEPSTACK
    ),
    "cohere_compass_vision": qwen("cohere_compass", "CohereCompass", "CohereCompassVisionModel", **DEEPSTACK),
    "glm4v_vision": qwen("glm4v", "Glm4v", "Glm4vVisionModel", **SAMPLED)._replace(images=TWO_IMAGES),
    "glm4v_moe_vision": qwen("glm4v_moe", "Glm4vMoe", "Glm4vMoeVisionModel", **SAMPLED)._replace(images=TWO_IMAGES),
    "glm_ocr_vision": qwen("glm_ocr", "GlmOcr", "GlmOcrVisionModel"),
    "glm5_next_vision": qwen("glm5_next", "Glm5Next", "Glm5NextVisionModel", projection_intermediate_size=32),
    "ernie4_5_vl_moe_vision": qwen("ernie4_5_vl_moe", "Ernie4_5_VLMoe", "Ernie4_5_VLMoeVisionTransformerPretrainedModel")._replace(
        run=IMAGE_PATCH
    ),
    "dots3_note_vision_encoder": qwen("dots3_note", "Dots3Note", "Dots3NoteVisionModel")._replace(
        values={
            **SIZES,
            "mlp_layer_types": ["dense", "dense"],
            "adapter_in_dim": 48,
            "adapter_out_dim": 32,
            "moe_intermediate_size": 32,
        },
        run=square,
    ),
    "lfm3_vl_vision": qwen("lfm3_vl", "Lfm3Vl", "Lfm3VlVisionModel")._replace(
        values={**SIZES, "num_key_value_heads": 1, "layer_types": ["conv", "full_attention", "conv", "full_attention"]}
        | {"num_hidden_layers": 4}
    ),
    "paddleocr_vl_vision": qwen("paddleocr_vl", "PaddleOCR", "PaddleOCRVisionModel")._replace(
        values={**SIZES, "image_size": 8}, run=split
    ),
    "video_llama_3_vision": qwen("video_llama_3", "VideoLlama3", "VideoLlama3VisionModel")._replace(
        values=SIZES,
        run=packed(3 * PATCH**2, merge_sizes=torch.tensor([1, 2])),
        options=({"merge": 1}, {"merge": 2}),
    ),
    "mlcd_vision_model": Encoder(
        "mlcd",
        "MLCDVisionConfig",
        "MLCDVisionModel",
        SIZES,
        "MLCDRotaryEmbedding",
        "apply_rotary_pos_emb_vision",
        whole,
        images=ONE,
        options=NO_OPTIONS,
    ),
    "muse_glimmer_vision": qwen("muse_glimmer", "MuseGlimmer", "MuseGlimmerVisionModel")._replace(
        values={**SIZES, "num_hidden_layers": 5, "pos_emb_height": 4, "pos_emb_width": 4}, x_first=True
    ),
    "muse_spark_vision": qwen("muse_spark", "MuseSpark", "MuseSparkVisionModel")._replace(
        values={**SIZES, "num_hidden_layers": 5, "pos_emb_height": 4, "pos_emb_width": 4}, x_first=True
    ),
    "gemma4_vision": Encoder(
        "gemma4",
        "Gemma4VisionConfig",
        "Gemma4VisionModel",
        {**SIZES, "head_dim": 24, "num_key_value_heads": 1, "position_embedding_size": 32, "pooling_kernel_size": 1},
        "Gemma4VisionRotaryEmbedding",
        "apply_multidimensional_rope",
        with_ids,
        x_first=True,
        images=ONE,
        options=NO_OPTIONS,
    ),
    "inkling2_vision": qwen("inkling2", "Inkling2", "Inkling2VisionModel")._replace(
        values={**SIZES, "posemb_grid_size": 4, "projection_hidden_dim": 32, "text_hidden_size": 32},
        run=merged_blocks,
        images=TWO_IMAGES,
    ),
    "kimi_k25_vision": qwen("kimi_k25", "Kimi_K25", "Kimi_K25VisionModel")._replace(
        values={**SIZES, "pos_emb_height": 4, "pos_emb_width": 4}, run=square
    ),
    "step3p5_vision": qwen("step3p7", "Step3p7", "Step3p7VisionModel")._replace(
        values={**SIZES, "image_size": 8, "mlp_ratio": 1.0}, run=whole, images=ONE, options=NO_OPTIONS
    ),
    "pixtral": Encoder(
        "pixtral",
        "PixtralVisionConfig",
        "PixtralVisionModel",
        {**SIZES, "image_size": 32},
        "PixtralVisionRotaryEmbedding",
        "apply_rotary_pos_emb",
        whole_of_several,
        sequence_dim=-2,
        images=((1, 5, 7), (1, 6, 3)),
    ),
    "minimax_m3_vl_vision": qwen("minimax_m3_vl", "MiniMaxM3VL", "MiniMaxM3VLVisionModel")._replace(
        values={**SIZES, "hidden_size": 52}, run=VIDEO_PATCH
    ),
    "llama4_vision_model": Encoder(
        "llama4",
        "Llama4VisionConfig",
        "Llama4VisionModel",
        {**SIZES, "intermediate_size": 192, "image_size": 4 * PATCH, "projector_input_dim": 16, "projector_output_dim": 16},
        "Llama4VisionRotaryEmbedding",
        "vision_apply_rotary_emb",
        whole,
        images=((1, 4, 4),),
        options=NO_OPTIONS,
    ),
    "dinov3_vit": Encoder(
        "dinov3_vit",
        "DINOv3ViTConfig",
        "DINOv3ViTModel",
        {**SIZES, "hidden_size": 64, "num_register_tokens": 3},
        "DINOv3ViTRopePositionEmbedding",
        "apply_rotary_pos_emb",
        whole,
        sequence_dim=-2,
        images=ONE,
        options=NO_OPTIONS,
    ),
    "sapiens2": Encoder(
        "sapiens2",
        "Sapiens2Config",
        "Sapiens2Model",
        {**SIZES, "hidden_size": 64, "num_key_value_heads_per_layer": [2, 1]},
        "Sapiens2RopePositionEmbedding",
        "apply_rotary_pos_emb",
        whole,
        sequence_dim=-2,
        images=ONE,
        options=NO_OPTIONS,
    ),
    "eomt_dinov3": Encoder(
        "eomt_dinov3",
        "EomtDinov3Config",
        "EomtDinov3ForUniversalSegmentation",
        {**SIZES, "hidden_size": 64, "num_blocks": 1, "num_queries": 6, "image_size": 4 * PATCH, "num_upscale_blocks": 1},
        "EomtDinov3RotaryEmbedding",
        "apply_rotary_pos_emb",
        whole,
        sequence_dim=-2,
        images=((1, 4, 4),),
        options=NO_OPTIONS,
        unchecked=True,
    ),
    "efficientloftr": Encoder(
        "efficientloftr",
        "EfficientLoFTRConfig",
        "EfficientLoFTRModel",
        {
            "num_attention_layers": 2,
            "num_attention_heads": 8,
            "hidden_size": 64,
            "out_features": [8, 8, 8, 64],
            "stage_num_blocks": [1, 1, 1, 1],
        },
        "EfficientLoFTRRotaryEmbedding",
        "apply_rotary_pos_emb",
        pair,
        images=((1, 3, 5),),
        options=NO_OPTIONS,
    ),
    **SEGMENTERS,
}

# Directories without such an encoder of their own, and the type that is inside their configurations.
BORROWED = {
    "chmv2": "dinov3_vit",
    "diffusion_gemma": "gemma4_vision",
    "glmga": "glm4v_vision",
    "mistral_large4": "pixtral",
    "sam3_video": "sam3_vit_model",
    "cosmos3_omni": "qwen3_vl_vision",
    "glm46v": "glm4v_vision",
    "hyperclovax_vision_v2": "qwen2_5_vl_vision",
    "inkling2_loop": "inkling2_vision",
    "lighton_ocr": "pixtral",
    "mistral3": "pixtral",
    "sam3_lite_text": "sam3_vit_model",
    "sam3_tracker": "sam3_vit_model",
}
