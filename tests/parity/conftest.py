"""What the comparisons with transformers share: no network, tiny models with weights that matter, printed differences."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch

# Positions as models see them: a long prompt, odd lengths, one decoded token, far ones, each row in an order of its own.
PLACES = {
    "0..5000": torch.arange(5001)[None],
    "odd length": torch.arange(37)[None],
    "one token": torch.tensor([[6]]),
    "far": torch.tensor([[131071, 999983, 2**24 + 1, 10**7, 2**31 - 1]]),
    "shuffled rows": torch.stack([torch.randperm(5001, generator=torch.Generator().manual_seed(row))[:501] for row in range(3)]),
}


@pytest.fixture(params=PLACES.values(), ids=PLACES.keys())
def places(request):
    return request.param


@pytest.fixture(params=[torch.float32, torch.bfloat16, torch.float16], ids=["float32", "bfloat16", "float16"])
def dtype(request):
    return request.param


@pytest.fixture
def near(capsys):
    """Assert that two tensors agree within a bound, and print the largest difference."""

    def check(what, ours, theirs, bound):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        largest = (ours.double() - theirs.double()).abs().max().item()
        with capsys.disabled():
            print(f"\n  {what}: largest difference {largest:.1e}, allowed {bound:.1e}", end="")
        assert largest <= bound

    return check


@pytest.fixture
def lively():
    """Draw weights large enough that attention is far from uniform; with the usual 0.02 a wrong position would hardly show."""

    def draw(model):
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for weight in model.parameters():
                scale = 1.5 * weight.shape[-1] ** -0.5 if weight.ndim > 1 else 0.1
                drawn = torch.randn(weight.shape, generator=generator) * scale
                weight.copy_(drawn if weight.ndim > 1 else weight + drawn)
        return model.eval()

    return draw


@pytest.fixture
def watched():
    """Run a model and give what went into one of its modules and what came out."""

    def run(model, module, *inputs, **keywords):
        seen = {}

        def keep(_, positional, named, out):
            seen["x"] = positional[0] if positional else named["hidden_states"]
            seen["inputs"] = positional
            seen["out"] = out[0] if isinstance(out, tuple) else out

        handle = module.register_forward_hook(keep, with_kwargs=True)
        with torch.no_grad():
            seen["result"] = model(*inputs, **keywords)
        handle.remove()
        return seen

    return run


@pytest.fixture
def padded():
    """Give a batch of 10 tokens, the second row with three of padding on the left: tokens and mask."""
    tokens = torch.randint(3, 60, (2, 10), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(2, 10, dtype=torch.int64)
    mask[1, :3] = 0
    return tokens.masked_fill(mask == 0, 1), mask
