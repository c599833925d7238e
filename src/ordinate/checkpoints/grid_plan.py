"""How an encoder of images numbers its patches, as a plain frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True)
class GridPlan:
    """How an encoder of images numbers its patches: arguments of ``positions.grid``.

    Attributes:
        merge: side of the blocks of patches that are joined into one token.
        prefix: tokens before the patches of each image.
        suffix: tokens after them.
        first: number of the first row and column.
        centred: whether coordinates are the middles of patches from -1 to 1.
        times: factor of the coordinates.
        frames: whether a patch has a time as well.
        size: rows and columns of the one grid that the model has; None if images may have any size.
    """

    merge: int = 1
    prefix: int = 0
    suffix: int = 0
    first: int = 0
    centred: bool = False
    times: float = 1.0
    frames: bool = False
    size: tuple[int, int] | None = None

    def positions(
        self,
        height: int,
        width: int,
        *,
        frames: int | None = None,
        merge: int | None = None,
        prefix: int | None = None,
        suffix: int | None = None,
        device: torch.device | str | None = None,
    ) -> torch.Tensor:
        """Number the patches of one image or video.

        Args:
            height: rows of patches.
            width: columns of patches.
            frames: images one after another.
            merge: in place of the plan's, for models that are told it with each image.
            prefix: in place of the plan's, for layers that have other tokens before the patches.
            suffix: in place of the plan's, for layers that have other tokens after the patches.
            device: where the tensor lives.

        Returns:
            Coordinates in float32 where the model computes them so, whole numbers otherwise.

        Shape:
            [1, T, A]

        Raises:
            ValueError: if sizes do not fit.

        Example:
            >>> GridPlan(prefix=1, first=1).positions(1, 2)[0].tolist()
            [[0, 0], [1, 1], [1, 2]]
        """
        from ordinate.checkpoints.patches import numbered

        given = {"merge": merge, "prefix": prefix, "suffix": suffix}
        return numbered(self, height, width, frames=frames, device=device, **{k: v for k, v in given.items() if v is not None})
