"""Faults in angles and in turning by them."""

from __future__ import annotations

from planted_source import planted

ANGLES = (
    planted(
        "low-precision-phase",
        "positions in float16",
        "warning",
        "float16",
        """
        def forward(self, x):
            t = torch.arange(x.shape[1], dtype=torch.float16)
            freqs = torch.outer(t, self.inv_freq)
            return freqs.cos(), freqs.sin()
        """,
        """
        def forward(self, x):
            t = torch.arange(x.shape[1], dtype=torch.float32)
            freqs = torch.outer(t, self.inv_freq)
            return freqs.cos().to(torch.float16), freqs.sin().to(torch.float16)
        """,
    ),
    planted(
        "low-precision-phase",
        "frequencies in the dtype of activations",
        "warning",
        "dtype of x",
        """
        def forward(self, x, position_ids):
            inv_freq = self.inv_freq.to(x.dtype)
            angles = position_ids[..., None] * inv_freq
            return torch.cos(angles), torch.sin(angles)
        """,
        """
        def forward(self, x, position_ids):
            inv_freq = self.inv_freq.to(x.device)
            angles = position_ids[..., None] * inv_freq
            return torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
        """,
    ),
    planted(
        "low-precision-phase",
        "positions in the dtype of the buffer",
        "warning",
        "self.inv_freq",
        """
        def build(self, length):
            t = torch.arange(length, dtype=self.inv_freq.dtype)
            freqs = t[:, None] * self.inv_freq
            self.cos, self.sin = freqs.cos(), freqs.sin()
        """,
        """
        def build(self, length):
            t = torch.arange(length, device=self.inv_freq.device)
            freqs = t[:, None] * self.inv_freq.float()
            self.cos, self.sin = freqs.cos(), freqs.sin()
        """,
    ),
    planted(
        "low-precision-phase",
        "position ids cast by name",
        "warning",
        "bfloat16",
        """
        def scores(self, position_ids):
            return self.rotary(position_ids.bfloat16())
        """,
        """
        def scores(self, position_ids):
            return self.rotary(position_ids.float()).bfloat16()
        """,
    ),
    planted(
        "low-precision-phase",
        "angles rounded just before",
        "warning",
        "rounded to bfloat16",
        """
        def freqs_cis(self, positions):
            angles = (positions[:, None] * self.inv_freq).to(dtype=torch.bfloat16)
            return torch.polar(torch.ones_like(angles), angles)
        """,
        """
        def freqs_cis(self, positions):
            angles = positions[:, None] * self.inv_freq
            return torch.polar(torch.ones_like(angles), angles)
        """,
    ),
    planted(
        "low-precision-phase",
        "a product under autocast",
        "note",
        "autocast",
        """
        def forward(self, positions):
            freqs = torch.einsum("i,j->ij", positions.float(), self.inv_freq)
            return freqs.cos(), freqs.sin()
        """,
        """
        def forward(self, positions):
            with torch.autocast("cuda", enabled=False):
                freqs = torch.einsum("i,j->ij", positions.float(), self.inv_freq)
                return freqs.cos(), freqs.sin()
        """,
    ),
    planted(
        "low-precision-phase",
        "frequencies made in bfloat16",
        "warning",
        "bfloat16 holds",
        """
        def make(self, dim):
            inv_freq = 1.0 / (1e4 ** (torch.arange(0, dim, 2, dtype=torch.bfloat16) / dim))
            self.inv_freq = inv_freq
        """,
        """
        def make(self, dim):
            inv_freq = 1.0 / (1e4 ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim))
            self.inv_freq = inv_freq
        """,
    ),
    planted(
        "layout-mismatch",
        "angles repeated by an inner function",
        "error",
        "repeated for half pairs",
        """
        def rotate_every_two(x):
            x1, x2 = x[..., ::2], x[..., 1::2]
            return rearrange(torch.stack((-x2, x1), dim=-1), "... d j -> ... (d j)")

        def apply(x, sincos):
            sin, cos = map(lambda t: torch.cat((t, t), dim=-1), sincos)
            return x * cos + rotate_every_two(x) * sin
        """,
        """
        def rotate_every_two(x):
            x1, x2 = x[..., ::2], x[..., 1::2]
            return rearrange(torch.stack((-x2, x1), dim=-1), "... d j -> ... (d j)")

        def apply(x, sincos):
            sin, cos = map(lambda t: torch.repeat_interleave(t, 2, dim=-1), sincos)
            return x * cos + rotate_every_two(x) * sin
        """,
    ),
    planted(
        "fused-kernel-shape",
        "both halves at once",
        "warning",
        "writes over q",
        """
        def apply_rotary(q, cos, sin):
            half = q.shape[-1] // 2
            q1, q2 = q[..., :half], q[..., half:]
            q[..., :half], q[..., half:] = q1 * cos - q2 * sin, q2 * cos + q1 * sin
            return q
        """,
        """
        def apply_rotary(q, cos, sin):
            half = q.shape[-1] // 2
            q1, q2 = q[..., :half], q[..., half:]
            out = torch.empty_like(q)
            out[..., :half], out[..., half:] = q1 * cos - q2 * sin, q2 * cos + q1 * sin
            return out
        """,
    ),
    planted(
        "backend-dtype",
        "complex rotation",
        "warning",
        "view_as_complex",
        """
        def apply_rotary_emb(xq, freqs_cis):
            xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
            return torch.view_as_real(xq_ * freqs_cis).flatten(3).type_as(xq)
        """,
        """
        def apply_rotary_emb(xq, cos, sin):
            x1, x2 = xq.float().reshape(*xq.shape[:-1], -1, 2).unbind(-1)
            return torch.stack((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1).flatten(3).type_as(xq)
        """,
    ),
    planted(
        "backend-dtype",
        "float64 in forward",
        "warning",
        "float64",
        """
        class RotaryEmbedding(nn.Module):
            def forward(self, positions):
                angles = positions.double()[:, None] * self.inv_freq
                return angles.cos().float(), angles.sin().float()
        """,
        """
        class RotaryEmbedding(nn.Module):
            def __init__(self, dim):
                self.inv_freq = (1e4 ** -(torch.arange(0, dim, 2, dtype=torch.float64) / dim)).float()

            def forward(self, positions):
                angles = positions.float()[:, None] * self.inv_freq
                return angles.cos(), angles.sin()
        """,
    ),
    planted(
        "layout-mismatch",
        "interleaved angles, halves turned",
        "error",
        "repeated for interleaved pairs",
        """
        def rotate_half(x):
            x1, x2 = x.chunk(2, dim=-1)
            return torch.cat((-x2, x1), dim=-1)

        def apply(q, angles):
            angles = angles.repeat_interleave(2, dim=-1)
            return q * angles.cos() + rotate_half(q) * angles.sin()
        """,
        """
        def rotate_half(x):
            x1, x2 = x.chunk(2, dim=-1)
            return torch.cat((-x2, x1), dim=-1)

        def apply(q, angles):
            angles = torch.cat((angles, angles), dim=-1)
            return q * angles.cos() + rotate_half(q) * angles.sin()
        """,
    ),
    planted(
        "layout-mismatch",
        "halved angles, every second entry turned",
        "error",
        "repeated for half pairs",
        """
        def rotate_every_two(x):
            x = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1)
            return x.flatten(-2)

        def forward(q, t, inv_freq):
            freqs = t[:, None] * inv_freq
            emb = torch.cat((freqs, freqs), dim=-1)
            return q * emb.cos() + rotate_every_two(q) * emb.sin()
        """,
        """
        def rotate_every_two(x):
            x = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1)
            return x.flatten(-2)

        def forward(q, t, inv_freq):
            freqs = t[:, None] * inv_freq
            emb = torch.stack((freqs, freqs), dim=-1).flatten(-2)
            return q * emb.cos() + rotate_every_two(q) * emb.sin()
        """,
    ),
    planted(
        "layout-mismatch",
        "an einops pattern for the other layout",
        "error",
        "repeated for interleaved pairs",
        """
        def rotate_half(x):
            x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
            return torch.cat((-x2, x1), dim=-1)

        def forward(t, freqs):
            freqs = repeat(t[:, None] * freqs, "... n -> ... (n r)", r=2)
            return freqs.cos(), freqs.sin()
        """,
        """
        def rotate_half(x):
            x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
            return torch.cat((-x2, x1), dim=-1)

        def forward(t, freqs):
            freqs = repeat(t[:, None] * freqs, "... n -> ... (r n)", r=2)
            return freqs.cos(), freqs.sin()
        """,
    ),
    planted(
        "layout-mismatch",
        "every second entry into two halves",
        "error",
        "writes two halves",
        """
        def rotate_half(x):
            x1, x2 = x[..., ::2], x[..., 1::2]
            return torch.cat((-x2, x1), dim=-1)
        """,
        """
        def rotate_half(x):
            x1, x2 = x[..., ::2], x[..., 1::2]
            return torch.stack((-x2, x1), dim=-1).flatten(-2)
        """,
    ),
    planted(
        "fused-kernel-shape",
        "a part of the query is overwritten",
        "warning",
        "writes over q",
        """
        def apply_rotary_pos_emb(q, cos, sin):
            d = cos.shape[-1]
            q[..., :d] = q[..., :d] * cos + rotate_half(q[..., :d]) * sin
            return q
        """,
        """
        def apply_rotary_pos_emb(q, cos, sin):
            q = q.clone()
            d = cos.shape[-1]
            q[..., :d] = q[..., :d] * cos + rotate_half(q[..., :d]) * sin
            return q
        """,
    ),
    planted(
        "fused-kernel-shape",
        "keys multiplied in place",
        "warning",
        "writes over k",
        """
        def apply_rope(q, k, cos, sin):
            turned = rotate_half(k) * sin
            k.mul_(cos).add_(turned)
            return q * cos + rotate_half(q) * sin, k
        """,
        """
        def apply_rope(q, k, cos, sin):
            turned = torch.empty_like(k)
            turned.copy_(k * cos + rotate_half(k) * sin)
            return q * cos + rotate_half(q) * sin, turned
        """,
    ),
)
