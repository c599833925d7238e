"""A small correct decoder, and the same with one mistake each, as they are made in the wild."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, HEADS, HEAD, ROWS = 40, 32, 4, 8, 24


class Rotary(nn.Module):
    """cos and sin of positions [B, T]: [B, 1, T, HEAD]. Frequencies are numbers, no buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.frequencies = [10000.0 ** (-2 * i / HEAD) for i in range(HEAD // 2)]

    def inverse(self, positions: torch.Tensor) -> torch.Tensor:
        return torch.tensor(self.frequencies, dtype=torch.float32, device=positions.device)

    def forward(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.autocast(positions.device.type, enabled=False):
            angles = positions[..., None].float() * self.inverse(positions)
        angles = torch.cat((angles, angles), dim=-1)[:, None]
        return angles.cos(), angles.sin()


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return (x * cos + torch.cat((-second, first), dim=-1) * sin).to(x.dtype)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.joined, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm2, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, angles: Any, bias: torch.Tensor, past: Any) -> tuple[torch.Tensor, Any]:
        batch, length, _ = x.shape
        parts = self.joined(self.norm(x)).view(batch, length, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4)
        q, k, v = parts[0], parts[1], parts[2]
        if angles is not None:
            q, k = turned(q, *angles), turned(k, *angles)
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        weights = (q @ k.mT / math.sqrt(HEAD) + bias).softmax(-1).to(v.dtype)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x)))), (k, v)


class Decoder(nn.Module):
    """Correct, with scheme "rope", "learned" or "alibi". The mask [B, all tokens] tells real tokens.

    Positions are counted from the mask, or within documents, or after those in the cache.
    """

    def __init__(self, scheme: str = "rope") -> None:
        super().__init__()
        self.scheme = scheme
        self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.rotary = Rotary() if scheme == "rope" else None
        self.table = nn.Embedding(ROWS, WIDTH) if scheme == "learned" else None
        self.slopes = [2.0 ** (-8 * (head + 1) / HEADS) for head in range(HEADS)]

    def forward(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor | None = None,
        positions: torch.Tensor | None = None,
        document_ids: torch.Tensor | None = None,
        cache: list[Any] | None = None,
    ) -> tuple[torch.Tensor, list[Any]]:
        done = 0 if cache is None else cache[0][2].shape[1]
        q_places = self.places(ids, done, mask, document_ids) if positions is None else positions
        k_places = q_places if cache is None else torch.cat((cache[0][2], q_places), dim=1)
        hidden = self.hidden(ids, done, mask, document_ids)
        bias = torch.zeros(len(ids), 1, *hidden.shape[1:], device=ids.device)
        if self.scheme == "alibi":
            bias = self.alibi(q_places, k_places)
        bias = bias.masked_fill(hidden[:, None], torch.finfo(torch.float32).min)
        angles = self.rotary(self.turned_places(ids, q_places)) if self.rotary is not None else None
        x = self.embed(ids) if self.table is None else self.embed(ids) + self.rows(q_places)
        kept = []
        for index, layer in enumerate(self.layers):
            x, pair = layer(x, angles, bias, None if cache is None else cache[index])
            kept.append((*pair, k_places))
        return self.head(x), kept

    # What the mistakes change

    def places(self, ids: torch.Tensor, done: int, mask: Any, documents: Any) -> torch.Tensor:
        if mask is not None:
            return (mask.long().cumsum(1) - 1).clamp(min=0)[:, done:]
        order = torch.arange(done, done + ids.shape[1], device=ids.device).expand(ids.shape)
        if documents is None:
            return order
        starts = torch.where(documents != documents.roll(1, dims=1), order, 0)
        starts[:, 0] = 0
        return order - starts.cummax(1).values

    def turned_places(self, ids: torch.Tensor, places: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        return places

    def hidden(self, ids: torch.Tensor, done: int, mask: Any, documents: Any) -> torch.Tensor:
        """[B, Q, K]: later tokens, padding, other documents; padding sees itself."""
        length = ids.shape[1]
        order = torch.arange(done + length, device=ids.device)
        hidden = (order > order[done:, None]).expand(len(ids), -1, -1)
        if mask is not None:
            hidden = hidden | (~mask.bool()[:, None, :] & (order != order[done:, None]))
        if documents is not None:
            hidden = hidden | (documents[:, :, None] != documents[:, None, :])
        return hidden

    def alibi(self, q_places: torch.Tensor, k_places: torch.Tensor) -> torch.Tensor:
        distance = (q_places[:, :, None] - k_places[:, None, :]).float()
        return -torch.tensor(self.slopes, device=distance.device)[:, None, None] * distance[:, None]

    def rows(self, places: torch.Tensor) -> torch.Tensor:
        assert self.table is not None
        if not torch.compiler.is_compiling() and int(places.max()) >= ROWS:
            raise ValueError(f"positions: needed at most {ROWS - 1}, got {int(places.max())}")
        return self.table(places)


def made(kind: type[Decoder], scheme: str = "rope") -> Decoder:
    torch.manual_seed(0)
    model = kind(scheme)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.normal_(std=0.35)  # attention that is not even
    return model.eval()


# decode-offset


class CountsFromZero(Decoder):
    """New tokens at 0, 1, ... whatever is in the cache."""

    def places(self, ids, done, mask, documents):  # noqa: ARG002
        return super().places(ids, 0, mask, documents)


class OneTooFew(Decoder):
    def places(self, ids, done, mask, documents):
        return super().places(ids, max(done - 1, 0), mask, documents)


class CountsPaddingInTheCache(Decoder):
    """The prompt by its mask, new tokens by the length of the cache."""

    def places(self, ids, done, mask, documents):
        return super().places(ids, done, None if done else mask, documents)


class CausalFromTheTop(Decoder):
    """With more keys than queries, the causal mask begins at the first key."""

    def hidden(self, ids, done, mask, documents):
        length = ids.shape[1]
        order = torch.arange(done + length, device=ids.device)
        wrong = (order > order[:length, None]).expand(len(ids), -1, -1)
        return wrong if done else super().hidden(ids, done, mask, documents)


# mask-blind-positions


class CountsPadding(Decoder):
    def places(self, ids, done, mask, documents):  # noqa: ARG002
        return super().places(ids, done, None, documents)


class SeesPadding(Decoder):
    def hidden(self, ids, done, mask, documents):  # noqa: ARG002
        return super().hidden(ids, done, None, documents)


# packed-positions


class RunsOn(Decoder):
    def places(self, ids, done, mask, documents):  # noqa: ARG002
        return super().places(ids, done, mask, None)


class SeesOtherDocuments(Decoder):
    def hidden(self, ids, done, mask, documents):  # noqa: ARG002
        return super().hidden(ids, done, mask, None)


# low-precision-phase


class BufferRotary(Rotary):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("inv_freq", torch.tensor(self.frequencies), persistent=False)

    def inverse(self, positions):  # noqa: ARG002
        return self.inv_freq.float()


class FrequenciesInABuffer(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = BufferRotary()


class SlopesInABuffer(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.register_buffer("decay", torch.tensor([0.77, 0.33, 0.11, 0.037]), persistent=False)

    def alibi(self, q_places, k_places):
        distance = (q_places[:, :, None] - k_places[:, None, :]).float()
        return -self.decay.float()[:, None, None] * distance[:, None]


class MatmulRotary(Rotary):
    """Autocast turns a matrix product into bfloat16, positions with it."""

    def forward(self, positions):
        angles = positions[..., None].float() @ self.inverse(positions)[None]
        angles = torch.cat((angles, angles), dim=-1)[:, None].float()
        return angles.cos(), angles.sin()


class AnglesUnderAutocast(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = MatmulRotary()


class HalfRotary(Rotary):
    def forward(self, positions):
        return super().forward(positions.bfloat16())


class PositionsInHalf(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = HalfRotary()


# derived-buffer-uninit is FrequenciesInABuffer, and:


class TableRotary(Rotary):
    """cos and sin of all positions, made in the constructor."""

    persistent = False

    def __init__(self) -> None:
        super().__init__()
        angles = torch.arange(512)[:, None].float() * torch.tensor(self.frequencies)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos_cached", angles.cos(), persistent=self.persistent)
        self.register_buffer("sin_cached", angles.sin(), persistent=self.persistent)

    def forward(self, positions):
        if not torch.compiler.is_compiling() and int(positions.max()) >= 512:
            raise ValueError(f"positions: needed at most 511, got {int(positions.max())}")
        return self.cos_cached[positions][:, None], self.sin_cached[positions][:, None]


class TablesOfAngles(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = TableRotary()


# derived-keys-in-checkpoint


class StoredTableRotary(TableRotary):
    persistent = True


class StoresTables(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = StoredTableRotary()


class StoresFrequencies(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = BufferRotary()
        self.rotary.register_buffer("inv_freq", torch.tensor(self.rotary.frequencies))


# dynamic-ntk: trained for 16 tokens


class DynamicRotary(Rotary):
    """Right: the base follows from the length of each call."""

    def stretched(self, length: int) -> torch.Tensor:
        base = 10000.0 * max(2.0 * length / 16 - 1, 1.0) ** (HEAD / (HEAD - 2))
        return torch.tensor([base ** (-2 * i / HEAD) for i in range(HEAD // 2)])

    def inverse(self, positions):
        return self.stretched(int(positions.max()) + 1)


class RememberingRotary(DynamicRotary):
    def __init__(self) -> None:
        super().__init__()
        self.longest = 0

    def inverse(self, positions):
        self.longest = max(self.longest, int(positions.max()) + 1)
        return self.stretched(self.longest)


class RemembersTheLongest(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = RememberingRotary()


class EarlyRotary(DynamicRotary):
    """Changes the base below the trained length."""

    def inverse(self, positions):
        return self.stretched(16 + int(positions.max()))


class ChangesBelowTheTrainedLength(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = EarlyRotary()


# longrope-switch: by the longest row of the batch, and for good


class SwitchingRotary(Rotary):
    def inverse(self, positions):
        factors = [1.0, 2.0, 4.0, 8.0] if int(positions.max()) >= 16 else [1.0] * 4
        return super().inverse(positions) / torch.tensor(factors)


class SwitchesForTheBatch(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = SwitchingRotary()


class StayingRotary(SwitchingRotary):
    """Each row by its own length, but once switched, it stays so."""

    def __init__(self) -> None:
        super().__init__()
        self.switched = False

    def inverse(self, positions):
        self.switched = self.switched or int(positions.max()) >= 16
        longest = positions.max(dim=1).values + (16 if self.switched else 0)
        return torch.stack([super(StayingRotary, self).inverse(row[None, None]) for row in longest])[:, None]


class StaysSwitched(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = StayingRotary()


# cache-key-and-sharing


class LengthKeyRotary(Rotary):
    """Remembers angles by the number of positions."""

    def __init__(self) -> None:
        super().__init__()
        self.memo: dict[int, Any] = {}

    def forward(self, positions):
        if positions.shape[1] not in self.memo:
            self.memo[positions.shape[1]] = super().forward(positions[:1])
        return self.memo[positions.shape[1]]


class KeyedByLength(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = LengthKeyRotary()


class ChangesWhatItKeeps(Decoder):
    """The bias of earlier calls is added to in place."""

    def __init__(self, scheme):
        super().__init__(scheme)
        self.kept: dict[int, torch.Tensor] = {}

    def alibi(self, q_places, k_places):
        bias = self.kept.setdefault(q_places.shape[1], torch.zeros(()))
        bias += 0.1
        return super().alibi(q_places, k_places) * (1 + bias)


class FirstRowForAll(Decoder):
    """The positions of a batch's first row, and the tokens of others in them."""

    def turned_places(self, ids, places):
        return places + (torch.arange(len(ids)) * torch.arange(ids.shape[1])[:, None]).T


# table-range-and-base


class Wraps(Decoder):
    def rows(self, places):
        return self.table(places % ROWS)


class Clamps(Decoder):
    def rows(self, places):
        return self.table(places.clamp(max=ROWS - 1))


class Unchecked(Decoder):
    def rows(self, places):
        return self.table(places)


# compile-unfriendly


class Branches(Decoder):
    """A number out of a tensor decides."""

    def turned_places(self, ids, places):  # noqa: ARG002
        return places if bool(places.max() < 10**6) else places * 0


class GrowsPerLength(Decoder):
    """A Python number of its own for every length, which guards then check."""

    def __init__(self, scheme):
        super().__init__(scheme)
        self.rows_made = 0

    def turned_places(self, ids, places):
        if ids.shape[1] > self.rows_made:
            self.rows_made = int(ids.shape[1])
        return places * (self.rows_made > 0)


# backend-dtype


class ComplexRotary(Rotary):
    def forward(self, positions):
        turns = torch.polar(torch.ones(()), positions[..., None].float() * self.inverse(positions))
        turns = torch.cat((turns, turns), dim=-1)[:, None]
        return turns.real, turns.imag


class ComplexNumbers(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.rotary = ComplexRotary()


class DoubleLayer(Layer):
    def forward(self, x, angles, bias, past):
        x, pair = super().forward(x.double().float(), angles, bias, past)
        return x, pair


class DoubleActivations(Decoder):
    def __init__(self, scheme):
        super().__init__(scheme)
        self.layers = nn.ModuleList([DoubleLayer(), DoubleLayer()])
