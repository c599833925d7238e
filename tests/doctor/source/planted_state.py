"""Faults in what is kept: buffers, caches, and values that are read while a graph is traced."""

from __future__ import annotations

from planted_source import planted

STATE = (
    planted(
        "derived-keys-in-checkpoint",
        "a persistent buffer",
        "warning",
        "stored with the weights",
        """
        class Rotary(nn.Module):
            def __init__(self, dim):
                inv_freq = 1.0 / (1e4 ** (torch.arange(0, dim, 2) / dim))
                self.register_buffer("inv_freq", inv_freq)
        """,
        """
        class Rotary(nn.Module):
            def __init__(self, dim):
                self.reset_parameters(dim)

            def reset_parameters(self, dim):
                inv_freq = 1.0 / (1e4 ** (torch.arange(0, dim, 2) / dim))
                self.register_buffer("inv_freq", inv_freq, persistent=False)
        """,
    ),
    planted(
        "derived-keys-in-checkpoint",
        "a parameter that is not trained",
        "warning",
        "never trained",
        """
        class Rotary(nn.Module):
            def __init__(self, inv_freq):
                self.inv_freq = nn.Parameter(inv_freq, requires_grad=False)
        """,
        """
        class Rotary(nn.Module):
            def __init__(self, inv_freq):
                self.inv_freq = nn.Parameter(inv_freq, requires_grad=True)
        """,
    ),
    planted(
        "derived-keys-in-checkpoint",
        "a table of cosines",
        "warning",
        "cos_cached",
        """
        class Rotary(nn.Module):
            def __init__(self, angles):
                self.cos_cached = nn.Buffer(angles.cos())
        """,
        """
        class Rotary(nn.Module):
            def __init__(self, angles):
                self.angles = angles

            def forward(self):
                return self.angles.cos()
        """,
    ),
    planted(
        "derived-keys-in-checkpoint",
        "position ids",
        "note",
        "position_ids",
        """
        class Embeddings(nn.Module):
            def __init__(self, config):
                self.register_buffer("position_ids", torch.arange(config.max_position_embeddings).expand((1, -1)))
        """,
        """
        class Embeddings(nn.Module):
            def __init__(self, config):
                self.register_buffer("position_ids", torch.arange(config.max_position_embeddings).expand((1, -1)), persistent=False)
        """,
    ),
    planted(
        "derived-buffer-uninit",
        "nothing fills it again",
        "note",
        "to_empty",
        """
        class Rotary(nn.Module):
            def __init__(self, dim):
                inv_freq = 1.0 / (1e4 ** (torch.arange(0, dim, 2) / dim))
                self.register_buffer("inv_freq", inv_freq, persistent=False)
        """,
        """
        class Rotary(nn.Module):
            def __init__(self, dim):
                inv_freq = 1.0 / (1e4 ** (torch.arange(0, dim, 2) / dim))
                self.register_buffer("inv_freq", inv_freq, persistent=False)

            def refresh(self, dim):
                self.inv_freq = 1.0 / (1e4 ** (torch.arange(0, dim, 2) / dim))
        """,
    ),
    planted(
        "derived-buffer-uninit",
        "a table of both",
        "note",
        "cos_sin_cache",
        """
        class Rotary(nn.Module):
            def __init__(self, angles):
                self.cos_sin_cache = nn.Buffer(torch.cat((angles.cos(), angles.sin()), -1), persistent=False)
        """,
        """
        class Rotary(nn.Module):
            def __init__(self, angles):
                self.cos_sin_cache = nn.Buffer(torch.cat((angles.cos(), angles.sin()), -1), persistent=False)

        class Model(nn.Module):
            def reset_parameters(self):
                self.rotary.__init__(self.angles)
        """,
    ),
    planted(
        "cache-key-and-sharing",
        "a module's dictionary",
        "warning",
        "without base, dim",
        """
        TABLES = {}

        def table(n, dim, base):
            if n not in TABLES:
                inv = base ** -(torch.arange(0, dim, 2) / dim)
                TABLES[n] = (torch.arange(n)[:, None] * inv).cos()
            return TABLES[n]
        """,
        """
        TABLES = {}

        def table(n, dim, base):
            key = (n, dim, base)
            if key not in TABLES:
                inv = base ** -(torch.arange(0, dim, 2) / dim)
                TABLES[key] = (torch.arange(n)[:, None] * inv).cos()
            return TABLES[key]
        """,
    ),
    planted(
        "cache-key-and-sharing",
        "a class's dictionary",
        "warning",
        "without self.inv_freq",
        """
        class Rotary(nn.Module):
            tables = {}

            def forward(self, n):
                if n not in self.tables:
                    self.tables[n] = torch.outer(torch.arange(n), self.inv_freq).cos()
                return self.tables[n]
        """,
        """
        class Rotary(nn.Module):
            def __init__(self):
                self.tables = {}

            def forward(self, n):
                if n not in self.tables:
                    self.tables[n] = torch.outer(torch.arange(n), self.inv_freq).cos()
                return self.tables[n]
        """,
    ),
    planted(
        "cache-key-and-sharing",
        "a dictionary as a default",
        "warning",
        "without base",
        """
        def table(n, base, kept={}):
            if n not in kept:
                kept[n] = torch.cos(torch.arange(n) / base)
            return kept[n]
        """,
        """
        def table(n, base, kept={}):
            if (n, base) not in kept:
                kept[n, base] = torch.cos(torch.arange(n) / base)
            return kept[n, base]
        """,
    ),
    planted(
        "cache-key-and-sharing",
        "no device in the key",
        "warning",
        "without device",
        """
        class Rotary(nn.Module):
            def __init__(self):
                self.kept = {}

            def table(self, n, device):
                if n not in self.kept:
                    self.kept[n] = torch.outer(torch.arange(n, device=device), self.inv_freq).cos()
                return self.kept[n]
        """,
        """
        class Rotary(nn.Module):
            def __init__(self):
                self.kept = {}

            def table(self, n, device):
                if (n, device) not in self.kept:
                    self.kept[n, device] = torch.outer(torch.arange(n, device=device), self.inv_freq).cos()
                return self.kept[n, device]
        """,
    ),
    planted(
        "cache-key-and-sharing",
        "a memoised method",
        "warning",
        "also reads self.inv_freq",
        """
        class Rotary(nn.Module):
            @functools.lru_cache(maxsize=8)
            def table(self, n):
                return (torch.arange(n)[:, None] * self.inv_freq).cos()
        """,
        """
        @functools.lru_cache(maxsize=8)
        def table(n, inv_freq):
            return (torch.arange(n)[:, None] * torch.tensor(inv_freq)).cos()
        """,
    ),
    planted(
        "cache-key-and-sharing",
        "the first call's dtype",
        "warning",
        "first call's dtype stays",
        """
        class Rotary(nn.Module):
            def forward(self, x, seq_len):
                if seq_len > self.max_seq_len_cached:
                    self._set_cos_sin_cache(seq_len=seq_len, device=x.device, dtype=x.dtype)
                return self.cos_cached[:seq_len], self.sin_cached[:seq_len]
        """,
        """
        class Rotary(nn.Module):
            def forward(self, x, seq_len):
                if seq_len > self.max_seq_len_cached:
                    self._set_cos_sin_cache(seq_len=seq_len, device=x.device)
                return self.cos_cached[:seq_len].to(x.dtype), self.sin_cached[:seq_len].to(x.dtype)
        """,
    ),
    planted(
        "cache-key-and-sharing",
        "a memoised function and a variable",
        "warning",
        "also reads config",
        """
        config = load()

        @lru_cache(None)
        def table(n):
            inv = config.theta ** -(torch.arange(0, config.dim, 2) / config.dim)
            return torch.outer(torch.arange(n), inv).cos()
        """,
        """
        THETA, DIM = 1e4, 64

        @lru_cache(None)
        def table(n):
            inv = THETA ** -(torch.arange(0, DIM, 2) / DIM)
            return torch.outer(torch.arange(n), inv).cos()
        """,
    ),
    planted(
        "cache-key-and-sharing",
        "the last table of a module",
        "warning",
        "whatever base, dim",
        """
        _table = None

        def table(n, base, dim):
            global _table
            if _table is None or _table.shape[0] < n:
                inv = base ** -(torch.arange(0, dim, 2) / dim)
                _table = torch.outer(torch.arange(n), inv).cos()
            return _table[:n]
        """,
        """
        def table(n, base, dim):
            inv = base ** -(torch.arange(0, dim, 2) / dim)
            return torch.outer(torch.arange(n), inv).cos()
        """,
    ),
    planted(
        "compile-unfriendly",
        "an item",
        "warning",
        ".item()",
        """
        class RotaryEmbedding(nn.Module):
            def forward(self, x, positions):
                n = positions.max().item() + 1
                return self.table(n)[positions]
        """,
        """
        class RotaryEmbedding(nn.Module):
            def forward(self, x, positions):
                n = x.shape[1]
                return self.table(n)[positions]
        """,
    ),
    planted(
        "compile-unfriendly",
        "an int of a tensor",
        "warning",
        "int() of a tensor",
        """
        class RotaryEmbedding(nn.Module):
            def forward(self, x, position_ids):
                self.grow(int(position_ids.max()) + 1)
                return self.angles(position_ids)
        """,
        """
        class RotaryEmbedding(nn.Module):
            def forward(self, x, position_ids):
                self.grow(int(x.shape[1]))
                return self.angles(position_ids)
        """,
    ),
    planted(
        "compile-unfriendly",
        "a branch",
        "warning",
        "a branch in apply_rotary",
        """
        def apply_rotary(x, cos, sin, positions):
            if torch.max(positions) >= cos.shape[0]:
                raise ValueError("too long")
            return x * cos + rotate_half(x) * sin
        """,
        """
        def apply_rotary(x, cos, sin, positions):
            if x.shape[1] >= cos.shape[0]:
                raise ValueError("too long")
            return x * cos + rotate_half(x) * sin
        """,
    ),
)
