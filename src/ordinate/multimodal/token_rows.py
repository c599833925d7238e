"""Which token is of which kind, with the padding moved out of the way. Tensors are never read on the host here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from ordinate.checks import described
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.positions import INTEGER_DTYPES

TEXT, IMAGE, VIDEO, AUDIO = range(4)
PADDING = -1
KINDS = ("text", "image", "video", "audio")
TYPE_DTYPES = (torch.uint8, torch.int8, torch.int16, *INTEGER_DTYPES)


@dataclass(frozen=True, eq=False)
class TokenRows:
    """The real tokens of every row moved to its front.

    Attributes:
        types: int64 [B, T]: 0 text, 1 image, 2 video, 3 audio, -1 behind the row's last real token.
        mask: bool [B, T], true for a real token of the input; None if all are.
        places: int64 [B, T]: where each token of the input stands in ``types``; None if it stands where it stood.
        order: int64 [B, T]: where each token of ``types`` stood in the input; None if it stands where it stood.
    """

    types: torch.Tensor
    mask: torch.Tensor | None
    places: torch.Tensor | None
    order: torch.Tensor | None

    @property
    def real(self) -> torch.Tensor:
        """True for a real token, in the order of ``types``."""
        return self.types != PADDING

    def reordered(self, values: torch.Tensor) -> torch.Tensor:
        """Put numbers of the input's tokens into the order of ``types``.

        Args:
            values: one a token.

        Returns:
            The same numbers.

        Shape:
            [B, T]

        Example:
            >>> rows = token_rows(torch.zeros(1, 3, dtype=torch.int64), torch.tensor([[0, 1, 1]]))
            >>> rows.reordered(torch.tensor([[7, 8, 9]]))
            tensor([[8, 9, 7]])
        """
        return values if self.order is None else values.gather(1, self.order)

    def finished(self, positions: torch.Tensor, *, padding: int = 0) -> MultimodalPositions:
        """Take the deltas and put the padding back.

        Args:
            positions: [B, T, A], in the order of ``types``.
            padding: what a pad slot is given.

        Returns:
            Positions in the order of the input, and deltas: the largest position + 1 - the number of real tokens.

        Example:
            >>> rows = token_rows(torch.zeros(1, 3, dtype=torch.int64), torch.tensor([[0, 1, 1]]))
            >>> rows.finished(torch.arange(3)[None, :, None]).positions[0, :, 0]
            tensor([0, 0, 1])
        """
        # A row without any token goes on at 0.
        top = positions.masked_fill(~self.real[..., None], -1).flatten(1)
        last = top.amax(1) if top.shape[1] else top.new_full(top.shape[:1], -1)
        deltas = last + 1 - self.real.sum(1)
        if self.mask is None or self.places is None:
            return MultimodalPositions(positions, deltas)
        spread = positions.gather(1, self.places[..., None].expand(-1, -1, positions.shape[-1]))
        return MultimodalPositions(spread.masked_fill(~self.mask[..., None], padding), deltas)


def token_rows(token_types: torch.Tensor, mask: torch.Tensor | None, kinds: int = VIDEO) -> TokenRows:
    """Take token types and a padding mask, refuse what is neither, and move the real tokens to the front.

    Args:
        token_types: 0 text, 1 image, 2 video, 3 audio.
        mask: true for a real token, false for padding, wherever it stands; None if there is none.
        kinds: the largest type that the model knows.

    Returns:
        The rows.

    Shape:
        token_types [B, T], mask [B, T]

    Raises:
        ValueError: for a wrong shape or dtype, or (on the CPU) a type that the model does not know.

    Example:
        >>> token_rows(torch.tensor([[0, 1, 0]]), torch.tensor([[False, True, True]])).types
        tensor([[ 1,  0, -1]])
    """
    if not isinstance(token_types, torch.Tensor) or token_types.ndim != 2 or token_types.dtype not in TYPE_DTYPES:
        known = ", ".join(f"{number} {name}" for number, name in enumerate(KINDS[: kinds + 1]))
        raise ValueError(f"token_types: needed an integer tensor [B, T] ({known}), got {described(token_types)}")
    types = token_types.long()
    require(
        ((types >= 0) & (types <= kinds)).all(),
        lambda: f"token_types: needed 0 to {kinds} ({', '.join(KINDS[: kinds + 1])}), got {int(types.min())} to {int(types.max())}",
    )
    if mask is None:
        return TokenRows(types, None, None, None)
    if not isinstance(mask, torch.Tensor) or mask.dtype not in (torch.bool, *INTEGER_DTYPES) or mask.shape != types.shape:
        raise ValueError(f"mask: needed a bool or integer tensor {list(types.shape)} (true = a real token), got {described(mask)}")
    if mask.device != types.device:
        raise ValueError(f"mask: needed a tensor on {types.device}, where token_types is, got one on {mask.device}")
    real = mask != 0
    order = torch.argsort((~real).to(torch.uint8), dim=1, stable=True)
    beyond = torch.arange(types.shape[1], device=types.device) >= real.sum(1, keepdim=True)
    places = (real.long().cumsum(1) - 1).clamp(min=0)
    return TokenRows(types.gather(1, order).masked_fill(beyond, PADDING), real, places, order)


def require(holds: torch.Tensor, explain: Callable[[], str]) -> None:
    """Refuse wrong values of a tensor that is on the CPU; one on an accelerator is left alone, so that nothing waits for it.

    Args:
        holds: one bool.
        explain: the message; may read tensors, for it is asked only after the fault.

    Raises:
        ValueError: if it is false.

    Example:
        >>> require(torch.tensor(False), lambda: "grid: needed sizes >= 1, got 0")
        Traceback (most recent call last):
        ValueError: grid: needed sizes >= 1, got 0
    """
    if holds.device.type != "cpu" or torch.compiler.is_compiling():
        return
    try:
        torch._assert_async(holds)  # what holds is never read into Python: under FakeTensorMode there is nothing to read
    except RuntimeError:
        raise ValueError(explain()) from None
