"""SAM 2, SAM 3 and EdgeTAM: attention of an image to memory, and SAM 3's encoder with windows."""

from encoder_cases import NO_OPTIONS, PATCH, SIZES, Encoder, drawn, whole

MEMORIES, POINTERS, LATENTS = 2, 4, 3  # remembered frames, object pointers after them, keys without a place before each
SMALL = {"memory_attention_hidden_size": 48, "memory_attention_num_layers": 2, "memory_attention_num_attention_heads": 1}
SMALL |= {"memory_attention_downsample_rate": 2, "memory_attention_feed_forward_hidden_size": 32}
ROWS, COLUMNS = 3, 5


def remembering(keys: int, latents: int = 0):
    """Features of one image and tokens of memory: frames of the grid, each after latents, then pointers."""

    def run(model, images, dtype):
        ((_, rows, columns),) = images
        memory, more = MEMORIES * (keys + latents) + POINTERS, {"num_spatial_memory_tokens": MEMORIES} if latents else {}
        features, remembered = drawn(rows * columns, 1, 48).to(dtype), drawn(memory, 1, 64).to(dtype)
        return model(features, remembered, features, remembered, num_object_pointer_tokens=POINTERS, **more)

    return run


def memory(folder: str, prefix: str, apply: str, run, **values) -> Encoder:
    return Encoder(
        folder,
        f"{prefix}Config",
        f"{prefix}MemoryAttention",
        {**SMALL, **values},
        f"{prefix}VisionRotaryEmbedding",
        apply,
        run,
        sequence_dim=-2,
        x_first=True,
        images=((1, ROWS, COLUMNS),),
        options=NO_OPTIONS,
    )


SEGMENTERS = {
    "sam2_video": memory(
        "sam2_video",
        "Sam2Video",
        "apply_rotary_pos_emb_2d",
        remembering(ROWS * COLUMNS),
        memory_attention_rope_feat_sizes=[COLUMNS, ROWS],
    ),
    "sam3_tracker_video": memory(
        "sam3_tracker_video", "Sam3TrackerVideo", "apply_rotary_pos_emb_2d", remembering(16), image_size=56
    )._replace(images=((1, 4, 4),)),
    "edgetam_video": memory(
        "edgetam_video",
        "EdgeTamVideo",
        "apply_rotary_pos_emb_2d_cross_attn",
        remembering(8, LATENTS),
        memory_attention_rope_feat_sizes=[COLUMNS, ROWS],
        memory_attention_rope_k_sizes=[4, 2],
        perceiver_resampler_num_latents=LATENTS,
    )._replace(also_apply=("apply_rotary_pos_emb_2d_self_attn",)),
    "sam3_vit_model": Encoder(
        "sam3",
        "Sam3ViTConfig",
        "Sam3ViTModel",
        {**SIZES, "image_size": 6 * PATCH, "window_size": 4, "global_attn_indexes": [1], "pretrain_image_size": 4 * PATCH},
        "Sam3ViTRotaryEmbedding",
        "apply_rotary_pos_emb_2d",
        whole,
        sequence_dim=-2,
        x_first=True,
        images=((1, 6, 6),),
        options=NO_OPTIONS,
    ),
}
