"""Faults in what is read of a configuration, and in rules that stretch."""

from __future__ import annotations

from planted_source import planted

SETTINGS = (
    planted(
        "config-key-dropped",
        "an argument that nothing reads",
        "warning",
        "takes base and never reads it",
        """
        def frequencies(dim, base=10000.0):
            return 1.0 / (10000.0 ** (torch.arange(0, dim, 2).float() / dim))
        """,
        """
        def frequencies(dim, base=10000.0):
            return 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
        """,
    ),
    planted(
        "config-key-dropped",
        "a rule that nothing reads",
        "warning",
        "rope_scaling",
        """
        class Rotary(nn.Module):
            def __init__(self, dim, theta, rope_scaling=None):
                self.inv_freq = theta ** -(torch.arange(0, dim, 2) / dim)
        """,
        """
        class Rotary(nn.Module):
            def __init__(self, dim, theta, rope_scaling=None):
                self.inv_freq = theta ** -(torch.arange(0, dim, 2) / dim) / rope_scaling["factor"]
        """,
    ),
    planted(
        "config-key-dropped",
        "a default in place of theta",
        "note",
        "becomes 10000",
        """
        def make(config):
            return Rotary(config.head_dim, getattr(config, "rope_theta", 10000))
        """,
        """
        def make(config):
            return Rotary(config.head_dim, config.rope_theta, getattr(config, "partial_rotary_factor", 1.0))
        """,
    ),
    planted(
        "config-key-dropped",
        "the old spelling alone",
        "warning",
        "rope_type",
        """
        def rule(config):
            return RULES[config.rope_scaling["type"]](config.rope_scaling["factor"])
        """,
        """
        def rule(config):
            name = config.rope_scaling.get("rope_type", config.rope_scaling["type"])
            return RULES[name](config.rope_scaling["factor"])
        """,
    ),
    planted(
        "partial-rotary",
        "exponents over the whole head",
        "warning",
        "exponents over self.head_dim",
        """
        def __init__(self, head_dim):
            self.inv_freq = 1.0 / (1e4 ** (torch.arange(0, self.rotary_dim, 2).float() / self.head_dim))
        """,
        """
        def __init__(self, head_dim):
            self.inv_freq = 1.0 / (1e4 ** (torch.arange(0, self.rotary_dim, 2).float() / self.rotary_dim))
        """,
    ),
    planted(
        "partial-rotary",
        "pairs over the whole head",
        "warning",
        "pairs are counted over head_dim",
        """
        def frequencies(head_dim, pct):
            rotary_dim = int(head_dim * pct)
            return torch.pow(1e4, -1.0) * 1e4 ** -(torch.arange(0, head_dim, 2) / rotary_dim)
        """,
        """
        def frequencies(head_dim, pct):
            rotary_dim = int(head_dim * pct)
            return torch.pow(1e4, -1.0) * 1e4 ** -(torch.arange(0, rotary_dim, 2) / rotary_dim)
        """,
    ),
    planted(
        "yarn-magnitude",
        "sine lacks it",
        "warning",
        "the sine lacks it",
        """
        def forward(self, emb):
            cos = emb.cos() * self.attention_scaling
            sin = emb.sin()
            return cos, sin
        """,
        """
        def forward(self, emb):
            cos = emb.cos() * self.attention_scaling
            sin = emb.sin() * self.attention_scaling
            return cos, sin
        """,
    ),
    planted(
        "yarn-magnitude",
        "multiplied twice",
        "warning",
        "twice",
        """
        def forward(self, emb):
            cos, sin = emb.cos() * self.mscale, emb.sin() * self.mscale
            if self.scaled:
                cos = cos * self.mscale
                sin = sin * self.mscale
            return cos, sin
        """,
        """
        def forward(self, emb):
            if self.scaled:
                return emb.cos() * self.mscale, emb.sin() * self.mscale
            return emb.cos(), emb.sin()
        """,
    ),
    planted(
        "yarn-magnitude",
        "its square",
        "warning",
        "twice",
        """
        def tables(angles, attention_factor):
            return torch.cos(angles) * attention_factor**2, torch.sin(angles) * attention_factor**2
        """,
        """
        def tables(angles, attention_factor):
            return torch.cos(angles) * attention_factor, torch.sin(angles) * attention_factor
        """,
    ),
    planted(
        "yarn-magnitude",
        "the softmax too",
        "warning",
        "already carry",
        """
        class Attention(nn.Module):
            def __init__(self, dim, mscale):
                self.softmax_scale = dim**-0.5
                self.softmax_scale = self.softmax_scale * mscale * mscale

            def tables(self, angles, mscale):
                return angles.cos() * mscale, angles.sin() * mscale
        """,
        """
        class Attention(nn.Module):
            def __init__(self, dim, mscale, mscale_all_dim):
                self.softmax_scale = dim**-0.5
                self.softmax_scale = self.softmax_scale * mscale * mscale

            def tables(self, angles, mscale):
                return angles.cos() * mscale, angles.sin() * mscale
        """,
    ),
    planted(
        "dynamic-ntk",
        "a base that stays large",
        "warning",
        "never changes it back",
        """
        class Rotary(nn.Module):
            def forward(self, x, seq_len):
                if seq_len > self.max_position_embeddings:
                    self.base = self.base * (2 * seq_len / self.max_position_embeddings - 1) ** (self.dim / (self.dim - 2))
                return self.tables(self.base)
        """,
        """
        class Rotary(nn.Module):
            def forward(self, x, seq_len):
                base = self.base
                if seq_len > self.max_position_embeddings:
                    base = self.base * (2 * seq_len / self.max_position_embeddings - 1) ** (self.dim / (self.dim - 2))
                return self.tables(base)
        """,
    ),
    planted(
        "dynamic-ntk",
        "frequencies that stay low",
        "warning",
        "never changes it back",
        """
        class Rotary(nn.Module):
            def __init__(self, inv_freq):
                self.register_buffer("inv_freq", inv_freq, persistent=False)

            def grow(self, seq_len):
                if seq_len > self.original_max_seq_len:
                    inv_freq = stretched(seq_len)
                    self.register_buffer("inv_freq", inv_freq, persistent=False)
        """,
        """
        class Rotary(nn.Module):
            def __init__(self, inv_freq):
                self.register_buffer("inv_freq", inv_freq, persistent=False)

            def grow(self, seq_len):
                if seq_len > self.original_max_seq_len:
                    self.register_buffer("inv_freq", stretched(seq_len), persistent=False)
                else:
                    self.register_buffer("inv_freq", self.original_inv_freq, persistent=False)
        """,
    ),
    planted(
        "dynamic-ntk",
        "smaller below the trained length",
        "warning",
        "below the trained length",
        """
        def stretched(base, dim, factor, seq_len, trained):
            return base * ((factor * seq_len / trained) - (factor - 1)) ** (dim / (dim - 2))
        """,
        """
        def stretched(base, dim, factor, seq_len, trained):
            seq_len = max(seq_len, trained)
            return base * ((factor * seq_len / trained) - (factor - 1)) ** (dim / (dim - 2))
        """,
    ),
    planted(
        "longrope-switch",
        "chosen by this call's positions",
        "warning",
        "largest position of this call",
        """
        def frequencies(self, position_ids):
            seq_len = torch.max(position_ids) + 1
            if seq_len > self.original_max_position_embeddings:
                factors = self.long_factor
            else:
                factors = self.short_factor
            return self.inv / factors
        """,
        """
        def frequencies(self, sequence_length):
            if sequence_length > self.original_max_position_embeddings:
                factors = self.long_factor
            else:
                factors = self.short_factor
            return self.inv / factors
        """,
    ),
    planted(
        "longrope-switch",
        "one token early",
        "warning",
        "one token early",
        """
        def factors(self, n):
            return self.long_factor if n >= self.original_max_position_embeddings else self.short_factor
        """,
        """
        def factors(self, n):
            return self.long_factor if n > self.original_max_position_embeddings else self.short_factor
        """,
    ),
)
