"""Layers that look at something else than what came before: pictures, or a prompt that stays in sight."""

from __future__ import annotations

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import row_of, whole
from ordinate.checkpoints.layer_kinds import FULL, Kinds, LayerKind, types_of

CROSS, REFERENCE = "cross_attention", "reference_sliding_attention"
USUAL = (3, 8, 13, 18, 23, 28, 33, 38)


def mllama(fields: Fields, n_layers: int) -> Kinds:
    """Give the layers of Llama 3.2's text model: some attend to pictures alone, without a rotation.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> [layer.attends for layer in mllama(Fields({}, source="mapping", model_type="mllama_text_model"), 5)]
        [True, True, True, False, True]
    """
    key = "cross_attention_layers"
    listed = fields.take((key,), row_of(whole()), "layers that attend to pictures, not to text, and do not turn", default=USUAL)
    places, crossing = set(listed), LayerKind(kind=CROSS, attends=False, turns=False)
    return [crossing if layer in places else LayerKind() for layer in range(n_layers)]


def reference(fields: Fields, n_layers: int) -> Kinds:
    """Give the layers of Unlimited-OCR's text model: a prompt sees all before it; what follows, the prompt and the last tokens.

    Args:
        fields: the configuration.
        n_layers: how many.

    Returns:
        One a layer.

    Example:
        >>> reference(Fields({}, source="mapping", model_type="unlimited_ocr_text"), 1)[0].kind
        'reference_sliding_attention'
    """
    kinds = types_of(fields, n_layers, (REFERENCE, FULL), default=[REFERENCE] * n_layers)
    became = "tokens after the prompt see all of it, and of what follows it the last {}: the plan is of the prompt"
    fields.take(("sliding_window",), whole(least=1), became, default=128)
    return [LayerKind(kind=kind) for kind in kinds]
