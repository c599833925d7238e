"""What a configuration says of rotations, one record for all layers that turn alike: what most rules look at."""

from __future__ import annotations

from dataclasses import dataclass

from ordinate.checkpoints.plan import PositionPlan, StackPlan
from ordinate.checkpoints.scheme_plans import MultimodalRopePlan, RopePlan
from ordinate.scaling import DynamicNTK, Llama3, LongRoPE, Rule, YaRN


@dataclass(frozen=True, kw_only=True)
class Rotation:
    """How some layers turn queries and keys.

    Attributes:
        where: their name, "decoder full_attention" say.
        base: also called theta.
        head_dim: width of a head; None if it is not known.
        rotary_dim: entries that turn.
        rule: of ``ordinate.scaling``, or None.
        max_length: longest sequence declared, or None.
        layout: of the pairs, or None if it is not known.
        layers: their numbers.
    """

    where: str
    base: float
    head_dim: int | None
    rotary_dim: int
    rule: Rule | None
    max_length: int | None
    layout: str | None
    layers: tuple[int, ...]

    @property
    def trained(self) -> int | None:
        """The trained length: the rule's, else the longest declared."""
        if isinstance(self.rule, (YaRN, Llama3, LongRoPE, DynamicNTK)):
            return min(self.rule.original_length, self.max_length or self.rule.original_length)
        return self.max_length

    def frequencies(self, *, width: int | None = None, ruled: bool = True, length: int | None = None) -> tuple[float, ...]:
        """Give base^(-2 i / width) for each pair, by the rule.

        Args:
            width: that the exponents are taken over; rotary_dim if None.
            ruled: whether the rule is applied.
            length: of the sequence, where the rule asks for it.

        Returns:
            Radians a position.
        """
        plain = tuple(self.base ** (-2 * pair / (width or self.rotary_dim)) for pair in range(self.rotary_dim // 2))
        if self.rule is None or not ruled:
            return plain
        return self.rule.apply(plain, base=self.base, length=length).inverse_frequencies


def rotations(plan: PositionPlan) -> list[Rotation]:
    """Give a plan's rotations, each once.

    Args:
        plan: from ``checkpoints.read``.

    Returns:
        One for all layers of a stack that turn alike.

    Example:
        >>> from ordinate.checkpoints import read
        >>> config = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 2}
        >>> [(found.where, found.layers) for found in rotations(read(config))]
        [('decoder', (0, 1))]
    """
    return [found for stack in plan.stacks for found in _of_stack(stack)]


def _of_stack(stack: StackPlan) -> list[Rotation]:
    alike: dict[tuple[str, RopePlan | MultimodalRopePlan], list[int]] = {}
    for place, layer in enumerate(stack.layers):
        if layer.attends and isinstance(layer.scheme, (RopePlan, MultimodalRopePlan)):
            alike.setdefault((layer.kind, layer.scheme), []).append(place)
    several = len(alike) > 1
    return [
        Rotation(
            where=f"{stack.name} {kind}" if several else stack.name,
            base=scheme.base,
            head_dim=scheme.head_dim,
            rotary_dim=scheme.rotary_dim,
            rule=scheme.scaling,
            max_length=stack.max_length,
            layout=scheme.layout,
            layers=tuple(places),
        )
        for (kind, scheme), places in alike.items()
    ]
