"""Reading models whose scores get T5's bias: T5 and its kin, and MPNet, which has a learned table at the input too."""

from __future__ import annotations

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, whole
from ordinate.checkpoints.plan import LayerPlan, StackPlan
from ordinate.checkpoints.scheme_plans import T5Plan
from ordinate.checkpoints.table_models import Reader, Stacks, after_padding, head_scale, sizes

MOST_HEADS = 2**12
MPNET_PADDING = 1
MPNET_BUCKETS = 32


def _t5(fields: Fields) -> Stacks:
    """Read T5: one table for the encoder's layers, one for the decoder's; scores are not scaled."""
    return _pair(fields, own_tables=False)


def _switch(fields: Fields) -> Stacks:
    """Read Switch Transformers: as T5, but the decoder has 12 layers where no key says it, as many as the encoder for null."""
    return _pair(fields, own_tables=False, decoders=None if "num_decoder_layers" in fields.values else 12)


def _umt5(fields: Fields) -> Stacks:
    """Read UMT5: a table for each layer."""
    return _pair(fields, own_tables=True)


def _pair(fields: Fields, *, own_tables: bool, decoders: int | None = None) -> Stacks:
    layers = fields.size(("num_layers", "num_hidden_layers"), "{} layers", most=MOST_LAYERS)
    number = whole(least=1, most=MOST_LAYERS)
    decoders = fields.take(("num_decoder_layers",), number, "{} layers of the decoder", default=decoders or layers)
    n_heads = fields.size(("num_heads", "num_attention_heads"), "{} heads", most=MOST_HEADS)
    buckets = fields.take(("relative_attention_num_buckets",), whole(least=4, most=2**20), "{} buckets", default=32)
    became = "distances from {} on share a bucket"
    farthest = fields.take(("relative_attention_max_distance",), whole(least=2, most=2**30), became, default=128)
    if not fields.faults and (buckets % 2 or farthest <= buckets // 2):
        needed = "needed an even number, and relative_attention_max_distance above half of it"
        fields.fault("relative_attention_num_buckets", f"{needed}, got {buckets} and {farthest}")
    stacks = []
    for name, count in (("encoder", layers), ("decoder", decoders)):
        two_way = name == "encoder"
        schemes = [
            T5Plan(
                n_heads=n_heads, n_buckets=buckets, max_distance=farthest, bidirectional=two_way, table=layer if own_tables else 0
            )
            for layer in range(count)
        ]
        plans = tuple(LayerPlan(scheme=scheme, softmax_scale=1.0) for scheme in schemes)
        cross = None if two_way else LayerPlan(scheme=None, softmax_scale=1.0)
        stacks.append(StackPlan(name=name, causal=not two_way, max_length=None, input=None, layers=plans, cross_attention=cross))
    return tuple(stacks)


def _mpnet(fields: Fields) -> Stacks:
    """Read MPNet: 32 buckets whatever the configuration says, scaled scores, and rows counted after padding token 1."""
    n_layers, n_heads, width = sizes(fields)
    if n_heads > MOST_HEADS:
        fields.fault("num_attention_heads", f"needed at most {MOST_HEADS}, got {n_heads}")
    rows = fields.take(("max_position_embeddings",), whole(least=1), "learned table of {} rows", default=512)
    buckets = fields.take(("relative_attention_num_buckets",), whole(least=1), "{} buckets", default=MPNET_BUCKETS)
    if not fields.faults and buckets != MPNET_BUCKETS:
        needed = f"cannot be honoured: the model type's code always reads {MPNET_BUCKETS} buckets"
        fields.fault("relative_attention_num_buckets", f"{needed}, needed {MPNET_BUCKETS}, got {buckets}")
    table, ids = after_padding(fields, width=width, rows=rows, padding=MPNET_PADDING)
    scheme = T5Plan(n_heads=min(n_heads, MOST_HEADS), n_buckets=MPNET_BUCKETS, max_distance=128, bidirectional=True)
    layers = (LayerPlan(scheme=scheme, softmax_scale=head_scale(fields, width, n_heads)),) * n_layers
    return (StackPlan(name="encoder", causal=False, max_length=table.max_length, input=table, layers=layers, position_ids=ids),)


READERS: dict[str, Reader] = {
    "t5": _t5,
    "switch_transformers": _switch,
    "pop2piano": _t5,
    "umt5": _umt5,
    "mpnet": _mpnet,
}
