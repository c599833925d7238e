"""Wrong changes to angles, frequencies, and turns of queries and keys."""

from __future__ import annotations

from typing import Any

import torch

from mutant_tools import Patch, wrap
from ordinate import fitting, phases, positions, rotation
from ordinate.phases import recipe
from ordinate.schemes import learned, rope, rotary

# Angles, frequencies, positions


def pair_layout_swapped(patch: Patch) -> None:
    swapped = {"half": "interleaved", "interleaved": "half"}
    _rotation(patch, lambda original, xs, cos, sin, layout, *how: original(xs, cos, sin, swapped[layout], *how))


def sine_sign_flipped(patch: Patch) -> None:
    def flipped(original: Any, *args: Any, **kwargs: Any) -> Any:
        cos, sin = original(*args, **kwargs)
        return cos, -sin

    wrap(patch, phases, "exact", flipped)


def frequencies_from_head_dim(patch: Patch) -> None:
    patch.setattr(rope, "frequencies_of", lambda base, width, *_: phases.from_base(base, [(2 * i, 11) for i in range(width // 2)]))


def frequencies_off_by_one(patch: Patch) -> None:
    patch.setattr(
        rope, "frequencies_of", lambda base, width, *_: phases.from_base(base, [(2 * i + 2, width) for i in range(width // 2)])
    )


def base_ignored(patch: Patch) -> None:
    wrap(patch, phases, "from_base", lambda original, _, exponents: original(10000.0, exponents))


def positions_are_row_numbers(patch: Patch) -> None:
    def rows(original: Any, places: Any, device: Any = None) -> torch.Tensor:
        place = original(places, device)
        return torch.arange(place.shape[-1], device=place.device).expand(place.shape)

    patch.setattr(recipe, "FEW", 0)  # the way of a few positions reads a range by itself
    for module in (recipe, fitting, learned):
        wrap(patch, module, "as_tensor", rows)


def first_row_for_all(patch: Patch) -> None:
    def first(original: Any, places: Any, device: Any = None) -> torch.Tensor:
        place = original(places, device)
        return place[:1].expand(place.shape) if place.ndim == 2 else place

    for module in (recipe, fitting, learned):
        wrap(patch, module, "as_tensor", first)


def positions_in_bfloat16(patch: Patch) -> None:
    wrap(patch, recipe, "as_tensor", lambda original, *args: original(*args).bfloat16().double())


def positions_in_float16(patch: Patch) -> None:
    wrap(patch, recipe, "as_tensor", lambda original, *args: original(*args).half().double())


def phase_in_float16(patch: Patch) -> None:
    def rounded(_: Any, places: Any, frequencies: Any, *, device: Any = None, dtype: Any = torch.float32, **_named: Any) -> Any:
        angles = (positions.as_tensor(places, device).half()[..., None] * torch.tensor(frequencies.radians).half()).to(dtype)
        return angles.cos(), angles.sin()

    wrap(patch, phases, "exact", rounded)


def first_position_read(patch: Patch) -> None:
    """Offsets taken from the first position, which an empty sequence has not."""

    def based(original: Any, *args: Any) -> Any:
        place = original(*args)
        return place - place[..., 0, None] + place[..., 0, None]

    for module in (recipe, fitting, learned):
        wrap(patch, module, "as_tensor", based)


def fractions_dropped(patch: Patch) -> None:
    for module in (recipe, fitting):
        wrap(patch, module, "as_tensor", lambda original, *args: original(*args).long())


def angles_in_float32(patch: Patch) -> None:
    def rounded(_: Any, places: Any, frequencies: Any, *, device: Any = None, dtype: Any = torch.float32, **_named: Any) -> Any:
        return tuple(table.to(dtype) for table in phases.float32(places, frequencies.radians, device=device))

    wrap(patch, phases, "exact", rounded)


def angles_by_matmul(patch: Patch) -> None:
    """An outer product, which autocast takes for its own."""

    def outer(_: Any, places: Any, frequencies: Any, *, device: Any = None, dtype: Any = torch.float32, **_named: Any) -> Any:
        place = positions.as_tensor(places, device).float()[..., None]
        angles = place @ torch.tensor([frequencies.radians], dtype=torch.float32)
        return angles.cos().to(dtype), angles.sin().to(dtype)

    wrap(patch, phases, "exact", outer)


def frequencies_in_a_buffer(patch: Patch) -> None:
    """Frequencies that a module cast, a meta device and a checkpoint reach."""

    def built(original: Any, self: Any, **settings: Any) -> None:
        original(self, **settings)
        self.register_buffer("inv_freq", torch.tensor(self.inverse_frequencies, dtype=torch.float32), persistent=False)

    def from_buffer(self: Any, places: Any, device: Any, dtype: Any) -> Any:
        angles = positions.as_tensor(places, device).to(self.inv_freq.dtype)[..., None] * self.inv_freq
        return angles.cos().to(dtype), angles.sin().to(dtype)

    original = rope.Rope.__init__
    patch.setattr(rope.Rope, "__init__", lambda self, **settings: built(original, self, **settings))
    patch.setattr(rope.Rope, "_cos_sin", from_buffer)


def memo_without_base(patch: Patch) -> None:
    """A table shared by all instances, found again by the positions alone."""
    memo: dict[Any, Any] = {}

    def remembered(original: Any, places: Any, frequencies: Any, **kwargs: Any) -> Any:
        key = str(places), kwargs.get("dtype"), len(frequencies.turns)
        return memo.setdefault(key, original(places, frequencies, **kwargs))

    wrap(patch, phases, "exact", remembered)


def memo_by_length(patch: Patch) -> None:
    """A table found again by length, whatever the offset."""
    memo: dict[Any, Any] = {}

    def remembered(original: Any, places: Any, frequencies: Any, **kwargs: Any) -> Any:
        key = getattr(places, "shape", len(places)), kwargs.get("dtype"), frequencies.turns
        return memo.setdefault(key, original(places, frequencies, **kwargs))

    wrap(patch, phases, "exact", remembered)


def base_grows_with_length(patch: Patch) -> None:
    """A frequency that is rescaled by the longest input so far and never reset."""
    longest = [8]

    def grown(original: Any, places: Any, frequencies: Any, **kwargs: Any) -> Any:
        longest[0] = max(longest[0], positions.count(places))
        slower = phases.from_values([radians * 8 / longest[0] for radians in frequencies.radians])
        return original(places, slower, **kwargs)

    wrap(patch, phases, "exact", grown)


def table_grows_by_reading_positions(patch: Patch) -> None:
    """int(positions.max()): a device sync and a graph break."""

    def read(original: Any, places: Any, frequencies: Any, **kwargs: Any) -> Any:
        if isinstance(places, torch.Tensor) and int(places.max()) > 2**40:
            raise ValueError
        return original(places, frequencies, **kwargs)

    wrap(patch, phases, "exact", read)


# Rotation


def _rotation(patch: Patch, change: Any) -> None:
    """Change what turns vectors, and close the short way to the kernel."""
    patch.setattr(rotary, "by_kernel", lambda *_: None)
    patch.setattr(rotary, "one_by_kernel", lambda *_: None)
    wrap(patch, rotary, "rotated", change)


def magnitude_in_the_rotation(patch: Patch) -> None:
    _rotation(patch, lambda original, xs, cos, sin, *how: original(xs, cos * 1.05, sin * 1.05, *how))


def all_entries_turned(patch: Patch) -> None:
    """Entries outside the rotated width are written through a lower precision."""
    _rotation(patch, lambda original, xs, *how: original([x.bfloat16().to(x.dtype) for x in xs], *how))


def turned_in_place(patch: Patch) -> None:
    def written(original: Any, xs: Any, *how: Any) -> Any:
        made = original(xs, *how)
        return [x if x.requires_grad else x.copy_(turned) for x, turned in zip(xs, made, strict=True)]

    _rotation(patch, written)


def turned_without_gradient(patch: Patch) -> None:
    def detached(original: Any, xs: Any, *how: Any) -> Any:
        return [x + (turned - x).detach() for x, turned in zip(xs, original(xs, *how), strict=True)]

    _rotation(patch, detached)


def turned_in_the_input_dtype(patch: Patch) -> None:
    _rotation(patch, lambda original, *how: original(*how[:-1], "input"))


def result_left_in_float32(patch: Patch) -> None:
    _rotation(patch, lambda original, xs, *how: original([x.float() for x in xs], *how))


def shift_with_wrong_sign(patch: Patch) -> None:
    original = rope.Rope.shift

    def backwards(self: Any, keys: Any, by: Any, **kwargs: Any) -> Any:
        by = torch.tensor(list(by)) if isinstance(by, range) else by
        return original(self, keys, -by, **kwargs)

    patch.setattr(rope.Rope, "shift", backwards)


def queries_turned_backwards(patch: Patch) -> None:
    original = rope.Rope.queries

    def backwards(self: Any, q: Any, at: Any, **kwargs: Any) -> Any:
        places = at.positions if isinstance(at, rotation.Rotation) else at
        return original(self, q, -positions.as_tensor(places), **kwargs)

    patch.setattr(rope.Rope, "queries", backwards)


def heads_taken_for_tokens(patch: Patch) -> None:
    """cos and sin broadcast along the wrong axis where H = T."""

    def wrong(original: Any, xs: Any, cos: Any, *how: Any) -> Any:
        confused = cos.ndim == 2 and all(x.ndim == 4 and x.shape[1] == x.shape[2] for x in xs)
        made = original([x.transpose(1, 2) for x in xs] if confused else xs, cos, *how)
        return [x.transpose(1, 2) for x in made] if confused else made

    _rotation(patch, wrong)
