"""What a case of an encoder of images is, and how encoders are run on images, of which no side is as long as the other."""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

PATCH = 2
IMAGES = ((1, 4, 10), (2, 6, 8))  # frames, rows and columns of patches: an image and a video of two frames, packed
SIZES = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 48, "intermediate_size": 32, "patch_size": PATCH}
DEEP = {"depth": 2, "num_heads": 2, "hidden_size": 48, "intermediate_size": 32, "patch_size": PATCH, "out_hidden_size": 32}


class Encoder(NamedTuple):
    """One case.

    Attributes:
        folder: directory of transformers.
        config: class of its configuration.
        model: class of the encoder.
        values: a small configuration.
        rotary: class that makes cos and sin.
        apply: function that turns queries and keys.
        run: calls the encoder on images.
        sequence_dim: where the vectors that are turned have their tokens.
        x_first: whether the encoder's own ids have the column first.
        images: frames, rows and columns of patches of the images of a run.
        options: what else our positions are told.
        unchecked: whether the model asks for packages that its loss needs, and that no position reaches.
        also_apply: other functions that turn.
    """

    folder: str
    config: str
    model: str
    values: dict[str, Any]
    rotary: str
    apply: str
    run: Callable[..., Any]
    sequence_dim: int = -3
    x_first: bool = False
    images: tuple[tuple[int, int, int], ...] = IMAGES
    options: tuple[dict[str, int], ...] = ({}, {})
    unchecked: bool = False
    also_apply: tuple[str, ...] = ()

    @property
    def file(self) -> Any:
        """The module with the encoder's code."""
        return importlib.import_module(f"transformers.models.{self.folder}.modeling_{self.folder}")

    @property
    def applied(self) -> tuple[str, ...]:
        """All functions that turn."""
        return (self.apply, *self.also_apply)

    def config_with(self, **changes: Any) -> Any:
        """Transformers' configuration."""
        place = importlib.import_module(f"transformers.models.{self.folder}.configuration_{self.folder}")
        return getattr(place, self.config)(**{**self.values, **changes})


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def patches_of(images) -> int:
    return sum(frames * rows * columns for frames, rows, columns in images)


def packed(width: int, **more):
    """Flat patches of several images and videos."""
    return lambda model, images, dtype: model(drawn(patches_of(images), width).to(dtype), torch.tensor(images), **more)


def split(model, images, dtype):
    """Patches [1, N, 3, p, p]."""
    return model(drawn(1, patches_of(images), 3, PATCH, PATCH).to(dtype), grid_thw=torch.tensor(images))


def square(model, images, dtype):
    """Patches [N, 3, p, p]."""
    return model(drawn(patches_of(images), 3, PATCH, PATCH).to(dtype), torch.tensor(images))


def whole(model, images, dtype):
    """Pixels of one image, in a batch of two."""
    ((_, rows, columns),) = images
    return model(drawn(2, 3, rows * PATCH, columns * PATCH).to(dtype))


def pair(model, images, dtype):
    """Two images, whose patches of 8 x 8 pixels are gathered in blocks of 4 x 4."""
    ((_, rows, columns),) = images
    return model(drawn(1, 2, 3, 32 * rows, 32 * columns).to(dtype))


def whole_of_several(model, images, dtype):
    """Pixels of images of several sizes, on one canvas."""
    sizes = torch.tensor([(rows * PATCH, columns * PATCH) for _, rows, columns in images])
    height, width = sizes.amax(0).tolist()
    return model(drawn(len(images), 3, height, width).to(dtype), image_sizes=sizes)


def with_ids(model, images, dtype):
    """Flat patches with the ids that the image processor makes."""
    ((_, rows, columns),) = images
    places = torch.stack(torch.meshgrid(torch.arange(columns), torch.arange(rows), indexing="xy"), dim=-1).reshape(1, -1, 2)
    return model(drawn(1, rows * columns, 3 * PATCH**2).to(dtype), pixel_position_ids=places)


def merged_blocks(model, images, dtype):
    """Blocks [N, side, side, 3] of merged patches; every image counts its blocks."""
    blocks = torch.tensor([(frames, rows // 2, columns // 2) for frames, rows, columns in images])
    return model(drawn(patches_of(images) // 4, 2 * PATCH, 2 * PATCH, 3).to(dtype), blocks)


VIDEO_PATCH = packed(3 * 2 * PATCH**2)  # two frames a patch
IMAGE_PATCH = packed(3 * PATCH**2)
ONE = ((1, 5, 7),)
TWO_IMAGES = ((1, 4, 10), (1, 6, 8))
NO_OPTIONS = ({},)


def qwen(folder: str, prefix: str, model: str, config: str = "", **values: Any) -> Encoder:
    rotary = f"{prefix}VisionRotaryEmbedding"
    return Encoder(
        folder, config or f"{prefix}VisionConfig", model, {**DEEP, **values}, rotary, "apply_rotary_pos_emb_vision", VIDEO_PATCH
    )
