"""Models with one stack and a learned table at the input: what no key of their configurations says, one row a model type."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

NOTHING: Mapping[str, str] = MappingProxyType({})


class TableType(NamedTuple):
    """One model type.

    Attributes:
        rows: default of max_position_embeddings.
        names: its own spellings of num_hidden_layers, num_attention_heads and hidden_size.
        table_width: key of the table's width, where that is not hidden_size.
        default_width: of that key.
        padding: default of pad_token_id, where real tokens are counted from the row after it; None counts from row 0.
        turned_by: key that makes attention look back only.
        causal: whether attention looks back only, where no key says it.
        sinusoids: key that fills the table with sinusoids before training; a checkpoint has the rows either way.

    Example:
        >>> TABLE_TYPES["electra"].table_width, TABLE_TYPES["xlm-roberta-xl"].rows
        ('embedding_size', 514)
    """

    rows: int = 512
    names: Mapping[str, str] = NOTHING
    table_width: str | None = None
    default_width: int = 128
    padding: int | None = None
    turned_by: str | None = None
    causal: bool = False
    sinusoids: str | None = None


EITHER_WAY = TableType(turned_by="is_decoder")
AFTER_PADDING = TableType(turned_by="is_decoder", padding=1)
XLM = TableType(
    names=MappingProxyType({"num_hidden_layers": "n_layers", "num_attention_heads": "n_heads", "hidden_size": "emb_dim"}),
    turned_by="causal",
    sinusoids="sinusoidal_embeddings",
)
DISTILBERT = TableType(
    names=MappingProxyType({"num_hidden_layers": "n_layers", "num_attention_heads": "n_heads", "hidden_size": "dim"}),
    sinusoids="sinusoidal_pos_embds",
)

TABLE_TYPES: dict[str, TableType] = {
    "bert": EITHER_WAY,
    "bert-generation": EITHER_WAY,
    "ernie": EITHER_WAY,
    "megatron-bert": EITHER_WAY,
    "roc_bert": EITHER_WAY,
    "electra": TableType(turned_by="is_decoder", table_width="embedding_size"),
    "rembert": TableType(turned_by="is_decoder", table_width="input_embedding_size", default_width=256),
    "albert": TableType(table_width="embedding_size"),
    "squeezebert": TableType(table_width="embedding_size", default_width=768),
    "splinter": TableType(),
    "align_text_model": TableType(),
    "chinese_clip_text_model": TableType(),
    "flava_text_model": TableType(),
    "siglip_text_model": TableType(rows=64),
    "siglip2_text_model": TableType(rows=64),
    "clip_text_model": TableType(rows=77, causal=True),
    "clipseg_text_model": TableType(rows=77, causal=True),
    "groupvit_text_model": TableType(rows=77, causal=True),
    "metaclip_2_text_model": TableType(rows=77, causal=True),
    "xclip_text_model": TableType(rows=77, causal=True),
    "owlvit_text_model": TableType(rows=16, causal=True),
    "owlv2_text_model": TableType(rows=16, causal=True),
    "distilbert": DISTILBERT,
    "xlm": XLM,
    "flaubert": XLM,
    "roberta": AFTER_PADDING,
    "roberta-prelayernorm": AFTER_PADDING,
    "camembert": AFTER_PADDING,
    "data2vec-text": AFTER_PADDING,
    "xlm-roberta": AFTER_PADDING,
    "xmod": AFTER_PADDING,
    "xlm-roberta-xl": TableType(turned_by="is_decoder", padding=1, rows=514),
    "bridgetower_text_model": TableType(turned_by="is_decoder", padding=1, rows=514),
    "ibert": TableType(padding=1),
    "altclip_text_model": TableType(padding=1, rows=514),
    "clap_text_model": TableType(padding=1, rows=514),
}
