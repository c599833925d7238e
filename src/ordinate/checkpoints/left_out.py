"""Model types that no plan can say exactly, and why."""

from __future__ import annotations

MISTRAL_LARGE4 = (
    "its frequencies and its queries' growth are learned, a number a pair and two a head, and no configuration holds weights"
)
HUNYUAN_VL = "the two entries of a pair turn by different coordinates of a token, which is no rotation"
LEFT_OUT: dict[str, str] = {
    "hunyuan_vl": HUNYUAN_VL,
    "hunyuan_vl_text": HUNYUAN_VL,
    "qwen2_5_omni_dit": "the first head of each layer turns and the others do not",
    "mistral_large4": MISTRAL_LARGE4,
    "mistral_large4_text": MISTRAL_LARGE4,
    "vjepa2": "the two entries of a pair turn by different angles, which is no rotation",
    "lightglue": "angles are a learned linear map of keypoints, weights and not frequencies",
    "esmfold2": "axes have pairs of unequal number and bases of their own, and atoms have coordinates in space",
    "musicflamingo": "features at the input are turned, by products of two times and in float64, and not queries and keys",
}
