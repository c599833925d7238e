"""Learned against transformers' GPT-2: one row a position, added to the token vectors."""

import pytest
import torch
from transformers import GPT2Config
from transformers.models.gpt2 import modeling_gpt2 as gpt2

from ordinate import Learned, TokenAndPositionEmbedding

TOKENS = torch.randint(3, 60, (2, 10), generator=torch.Generator().manual_seed(0))


def embedding_like(model):
    embed = TokenAndPositionEmbedding(vocabulary_size=64, d_model=16, scheme=Learned(max_length=20, d_model=16), scale=None)
    embed.scheme.load_state_dict(model.wpe.state_dict(), strict=True)
    embed.tokens.load_state_dict(model.wte.state_dict(), strict=True)
    return embed.eval()


@pytest.fixture
def model(lively):
    return lively(gpt2.GPT2Model(GPT2Config(vocab_size=64, n_positions=20, n_embd=16, n_layer=1, n_head=2)))


def test_embeddings_bit_for_bit(model, watched):
    theirs = watched(model, model.h[0], TOKENS)["x"]
    with torch.no_grad():
        assert torch.equal(embedding_like(model)(TOKENS, range(10)), theirs)


def test_embeddings_of_a_decoded_token(model, watched):
    cache = model(TOKENS[:, :6], use_cache=True).cache
    theirs = watched(model, model.h[0], TOKENS[:, 6:7], cache=cache)["x"]
    with torch.no_grad():
        assert torch.equal(embedding_like(model)(TOKENS[:, 6:7], range(6, 7)), theirs)


def test_embeddings_with_positions_per_row(model, watched):
    places = torch.stack([torch.arange(10).flip(0), torch.arange(10) + 10])
    theirs = watched(model, model.h[0], TOKENS, position_ids=places)["x"]
    with torch.no_grad():
        assert torch.equal(embedding_like(model)(TOKENS, places), theirs)


def test_a_table_of_another_length_is_refused(model):
    with pytest.raises(RuntimeError, match=r"size mismatch for weight: .*\[20, 16\].*\[24, 16\]"):
        Learned(max_length=24, d_model=16).load_state_dict(model.wpe.state_dict(), strict=True)
