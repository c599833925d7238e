"""T5Bias's buckets against transformers' T5, and against whole numbers where a float32 logarithm misses a border."""

import pytest
import torch
from transformers.models.t5.modeling_t5 import T5Attention

from ordinate import T5Bias

# Buckets, largest distance and a distance (causal) that lies a float32 rounding or less from a border.
CLOSE = [(32, 939, 728), (40, 1550, 1247), (64, 6144, 2702), (72, 49, 42), (96, 131072, 94261), (100, 5500, 2360), (200, 196, 140)]


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(
    ("n_buckets", "max_distance"), [(32, 128), (8, 20), (12, 64), (64, 256), (128, 1000), (256, 2048), (320, 800)]
)
def test_buckets(n_buckets, max_distance, bidirectional):
    distance = torch.arange(-100000, 100001)
    sizes = {"num_buckets": n_buckets, "max_distance": max_distance}
    theirs = T5Attention._relative_position_bucket(distance, bidirectional=bidirectional, **sizes)
    rows = [T5Bias(n_heads=1, n_buckets=n_buckets, max_distance=max_distance, bidirectional=way) for way in (True, False)]
    assert torch.equal(rows[not bidirectional].buckets(distance), theirs)
    assert (rows[bidirectional].buckets(distance) != theirs).float().mean() > 0.1


def test_theirs_misses_borders_that_ours_keeps():
    missed = []
    for n_buckets, max_distance, reach in CLOSE:
        exact = n_buckets // 2
        wide = n_buckets - exact
        # the definition in whole numbers: the last k with (reach / exact)^wide >= (max_distance / exact)^k
        k = max(k for k in range(wide) if reach**wide * exact**k >= exact**wide * max_distance**k)
        scheme = T5Bias(n_heads=1, n_buckets=n_buckets, max_distance=max_distance, bidirectional=False)
        assert scheme.buckets(torch.tensor(-reach)) == exact + k
        sizes = {"num_buckets": n_buckets, "max_distance": max_distance}
        missed.append(T5Attention._relative_position_bucket(torch.tensor(-reach), bidirectional=False, **sizes) != exact + k)
    # which ones a float32 logarithm misses is up to the processor
    assert any(missed)
