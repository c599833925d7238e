"""Learned with two rows of padding against transformers' RoBERTa and OPT: position p reads row p + 2."""

import pytest
import torch
from transformers import RobertaConfig
from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding
from transformers.models.roberta.modeling_roberta import RobertaEmbeddings

from ordinate import Learned
from ordinate.positions import from_padding_mask

PAD = 1


def learned_like(table, max_length):
    scheme = Learned(max_length=max_length, d_model=16, padding_offset=2)
    scheme.load_state_dict({"weight": table.weight}, strict=True)
    return scheme.eval()


@pytest.fixture
def theirs(lively):
    # 18 rows for 16 positions, as roberta-base has 514 for 512
    return lively(RobertaEmbeddings(RobertaConfig(vocab_size=64, hidden_size=16, max_position_embeddings=18, pad_token_id=PAD)))


def ours(theirs, tokens, places):
    """The module with its position table replaced by Learned; the sum in the module's order."""
    x = theirs.word_embeddings(tokens) + theirs.token_type_embeddings.weight[0]
    return theirs.LayerNorm(learned_like(theirs.position_embeddings, 16)(x, places))


def test_embeddings_bit_for_bit(theirs):
    tokens = torch.randint(3, 60, (2, 16), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(ours(theirs, tokens, range(16)), theirs(tokens))


@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_padded_embeddings_bit_for_bit(theirs, side):
    real = {"left": [0, 0, 0, 1, 1, 1, 1], "right": [1, 1, 1, 1, 0, 0, 0], "both": [0, 1, 1, 1, 1, 1, 0]}[side]
    mask = torch.tensor([real, [1] * 7]).bool()
    tokens = torch.randint(3, 60, (2, 7), generator=torch.Generator().manual_seed(0)).masked_fill(~mask, PAD)
    with torch.no_grad():
        out = ours(theirs, tokens, from_padding_mask(mask))
        assert torch.equal(out[mask], theirs(tokens)[mask])


def test_without_the_offset_every_row_is_wrong(theirs):
    weight = theirs.position_embeddings.weight
    shifted = Learned(max_length=18, d_model=16)
    shifted.load_state_dict({"weight": weight}, strict=True)
    difference = (shifted.at(range(16)) - learned_like(theirs.position_embeddings, 16).at(range(16))).abs()
    assert torch.all(difference.amax(-1) > 0.1)


def test_a_table_without_the_offset_rows_is_refused(theirs):
    with pytest.raises(RuntimeError, match=r"\[18, 16\].*\[20, 16\]"):
        learned_like(theirs.position_embeddings, 18)


def test_opt_reads_two_rows_on(lively):
    table = lively(OPTLearnedPositionalEmbedding(16, 16))
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    rows = learned_like(table, 16).at(from_padding_mask(mask))
    assert torch.equal(rows[mask.bool()], table(mask)[mask.bool()])
