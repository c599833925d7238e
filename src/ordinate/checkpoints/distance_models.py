"""Reading conformers whose queries meet vectors of distances: learned ones (Shaw), or projected sinusoids (Transformer-XL)."""

from __future__ import annotations

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import whole
from ordinate.checkpoints.scheme_plans import ShawPlan, TransformerXLPlan

SIDES = ("left_max_position_embeddings", "right_max_position_embeddings")
MOST_ROWS = 2**20
MOST_HEADS = 2**12


def learned_vectors(fields: Fields, n_layers: int, n_heads: int, width: int) -> list[ShawPlan]:
    """Read tables of keys, past and future clipped at distances of their own.

    Args:
        fields: the configuration.
        n_layers: how many tables.
        n_heads: of a layer.
        width: of all heads.

    Returns:
        One a layer.

    Example:
        >>> learned_vectors(Fields({}, source="mapping", model_type="wav2vec2-bert"), 1, 2, 8)[0].max_future
        8
    """
    became = "{} distances have vectors of their own"
    past = fields.take(SIDES[:1], whole(least=1, most=MOST_ROWS), f"in the past {became}", default=64)
    future = fields.take(SIDES[1:], whole(most=MOST_ROWS), f"in the future {became}", default=8)
    head_dim = 1 if fields.faults else width // n_heads
    return [
        ShawPlan(head_dim=head_dim, max_distance=past, max_future=future, values=False, table=layer) for layer in range(n_layers)
    ]


def projected_sinusoids(fields: Fields, n_layers: int, n_heads: int, width: int) -> list[TransformerXLPlan]:
    """Read sinusoids of the distance as wide as the model, sine beside cosine, projected in each layer.

    Args:
        fields: the configuration.
        n_layers: how many projections.
        n_heads: of a layer.
        width: of all heads, and of the sinusoids.

    Returns:
        One a layer.

    Example:
        >>> projected_sinusoids(Fields({}, source="mapping", model_type="wav2vec2-bert"), 1, 2, 8)[0].head_dim
        4
    """
    if n_heads > MOST_HEADS:
        fields.fault("num_attention_heads", f"needed at most {MOST_HEADS}, got {n_heads}")
    if not fields.faults and width % 2:
        fields.fault("hidden_size", f"needed an even width for sinusoids, got {width}")
    head_dim = 1 if fields.faults else width // n_heads
    return [
        TransformerXLPlan(n_heads=n_heads, head_dim=head_dim, d_model=width, layout="interleaved", table=layer)
        for layer in range(n_layers)
    ]
