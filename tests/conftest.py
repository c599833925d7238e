"""Fixed seeds and a fixed hypothesis profile: every run draws the same numbers."""

import hypothesis
import pytest
import torch

pytest.register_assert_rewrite("contract_tools")
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, database=None, max_examples=150)
hypothesis.settings.load_profile("fixed")
# The tensors are small: one thread is faster, and sums have one order.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
