"""Reading the diffusion transformer of Qwen2.5-Omni's voice: one head turns, and tokens see blocks of tokens."""

from __future__ import annotations

from dataclasses import replace

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, row_of, whole
from ordinate.checkpoints.plan import LayerPlan
from ordinate.checkpoints.rotary_models import read_rotary
from ordinate.checkpoints.rotary_types import RotaryType
from ordinate.checkpoints.table_models import Reader, Stacks

DEFAULTS = {"num_hidden_layers": 22, "num_attention_heads": 16, "hidden_size": 1024, "head_dim": 64}
DIT = RotaryType(
    layout="interleaved",
    causal=False,
    defaults={**DEFAULTS, "max_position_embeddings": 32768},
    beside="the first head of each layer turns, the others do not",
)


def qwen_dit(fields: Fields) -> Stacks:
    """Read it; listed layers see the block after their own, or the one before it.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8, "look_ahead_layers": [1]}
        >>> layers = qwen_dit(Fields(config, source="mapping", model_type="qwen2_5_omni_dit"))[0].layers
        >>> [(layer.chunk, layer.chunks_back, layer.chunks_ahead) for layer in layers], layers[0].heads_turned
        ([(24, 1, 0), (24, 0, 1)], 1)
    """
    fields.defaults = DIT.defaults
    if "head_dim" in fields.values and fields.values["head_dim"] is None:
        fields.fault("head_dim", "needed a whole number, got None")
    stack = read_rotary(fields, DIT)
    block = fields.take(("block_size",), whole(least=1), "tokens see their own block of {}", default=24)
    back = _listed(fields, "look_backward_layers", len(stack.layers), (0, 20), "layers {} see the block before it, too")
    ahead = _listed(fields, "look_ahead_layers", len(stack.layers), (10,), "layers {} see the block after it, too")
    made: dict[tuple[bool, bool], LayerPlan] = {}
    for layer, plan in enumerate(stack.layers):
        sees = (layer in back, layer in ahead)
        made.setdefault(sees, replace(plan, heads_turned=1, chunk=block, chunks_back=int(sees[0]), chunks_ahead=int(sees[1])))
    layers = tuple(made[layer in back, layer in ahead] for layer in range(len(stack.layers)))
    return (replace(stack, layers=layers),)


def _listed(fields: Fields, key: str, n_layers: int, default: tuple[int, ...], became: str) -> frozenset[int]:
    """Numbers of layers; those that no layer has change nothing."""
    usual = [layer for layer in default if layer < n_layers]
    found = frozenset(fields.take((key,), row_of(whole(most=MOST_LAYERS)), became, default=usual))
    beyond = sorted(layer for layer in found if layer >= n_layers)
    if beyond and not fields.faults:
        fields.warn(key, f"{beyond[0]} changes nothing: there are {n_layers} layers, numbered from 0")
    return found


READERS: dict[str, Reader] = {"qwen2_5_omni_dit": qwen_dit}
