"""Faults in counted positions, tables, sinusoids and slopes."""

from __future__ import annotations

from planted_source import planted

COUNTING = (
    planted(
        "decode-offset",
        "every call starts at 0",
        "warning",
        "starts at 0",
        """
        def forward(self, input_ids, past_key_values=None):
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)
            return self.layers(self.wte(input_ids) + self.wpe(position_ids), past_key_values)
        """,
        """
        def forward(self, input_ids, past_key_values=None):
            past = 0 if past_key_values is None else past_key_values[0][0].shape[-2]
            position_ids = torch.arange(past, past + input_ids.shape[1], device=input_ids.device)
            return self.layers(self.wte(input_ids) + self.wpe(position_ids), past_key_values)
        """,
    ),
    planted(
        "decode-offset",
        "an attention that turns by arange",
        "warning",
        "kv_cache",
        """
        def forward(self, q, k, v, kv_cache=None):
            T = q.shape[2]
            q, k = self.rope(q, torch.arange(T)), self.rope(k, torch.arange(T))
            if kv_cache is not None:
                k, v = kv_cache.update(k, v)
            return attention(q, k, v)
        """,
        """
        def forward(self, q, k, v, kv_cache=None):
            T = q.shape[2]
            offset = 0 if kv_cache is None else len(kv_cache)
            q, k = self.rope(q, torch.arange(T) + offset), self.rope(k, torch.arange(T) + offset)
            if kv_cache is not None:
                k, v = kv_cache.update(k, v)
            return attention(q, k, v)
        """,
    ),
    planted(
        "packed-positions",
        "a table read over borders",
        "note",
        "cu_seqlens",
        """
        def forward(self, input_ids, cu_seqlens):
            positions = torch.arange(input_ids.shape[0])
            return self.blocks(self.wte(input_ids) + self.wpe(positions), cu_seqlens)
        """,
        """
        def forward(self, input_ids, cu_seqlens):
            positions = torch.arange(input_ids.shape[0])
            positions = positions - cu_seqlens[torch.searchsorted(cu_seqlens, positions, right=True) - 1]
            return self.blocks(self.wte(input_ids) + self.wpe(positions), cu_seqlens)
        """,
    ),
    planted(
        "packed-positions",
        "sinusoids at once",
        "note",
        "document_ids",
        """
        def forward(self, x, document_ids):
            return self.blocks(x + self.pos_emb(torch.arange(x.size(1))), document_ids)
        """,
        """
        def forward(self, x, document_ids, positions):
            return self.blocks(x + self.pos_emb(positions), document_ids)
        """,
    ),
    planted(
        "mask-blind-positions",
        "a table and padding",
        "note",
        "attention_mask",
        """
        def forward(self, input_ids, attention_mask):
            pos = torch.arange(0, input_ids.size(1))
            return self.encoder(self.tokens(input_ids) + self.position_embeddings(pos), attention_mask)
        """,
        """
        def forward(self, input_ids, attention_mask):
            pos = (attention_mask.cumsum(-1) - 1).clamp(min=0)
            return self.encoder(self.tokens(input_ids) + self.position_embeddings(pos), attention_mask)
        """,
    ),
    planted(
        "mask-blind-positions",
        "a table read at once",
        "note",
        "padding_mask",
        """
        def forward(self, tokens, padding_mask):
            x = self.tokens(tokens) + self.embed_positions(torch.arange(tokens.shape[1]))
            return self.layers(x, padding_mask)
        """,
        """
        def forward(self, tokens, padding_mask):
            x = self.tokens(tokens)
            return self.layers(x, self.rotary(torch.arange(tokens.shape[1])), padding_mask)
        """,
    ),
    planted(
        "sinusoid-construction",
        "an odd width",
        "note",
        "odd width",
        """
        def table(n, d):
            pe = torch.zeros(n, d)
            position = torch.arange(n)[:, None]
            div_term = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
            pe[:, 0::2] = torch.sin(position * div_term)
            pe[:, 1::2] = torch.cos(position * div_term)
            return pe
        """,
        """
        def table(n, d):
            pe = torch.zeros(n, d)
            position = torch.arange(n)[:, None]
            div_term = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
            pe[:, 0::2] = torch.sin(position * div_term)
            pe[:, 1::2] = torch.cos(position * div_term[: d // 2])
            return pe
        """,
    ),
    planted(
        "sinusoid-construction",
        "half of the exponents",
        "warning",
        "lacks the factor 2",
        """
        def waves(positions, d_model):
            inv_freq = 1.0 / 10000 ** (torch.arange(d_model // 2).float() / d_model)
            angles = positions[:, None] * inv_freq
            return torch.cat((angles.sin(), angles.cos()), dim=-1)
        """,
        """
        def waves(positions, d_model):
            inv_freq = 1.0 / 10000 ** (2 * torch.arange(d_model // 2).float() / d_model)
            angles = positions[:, None] * inv_freq
            return torch.cat((angles.sin(), angles.cos()), dim=-1)
        """,
    ),
    planted(
        "alibi-slopes",
        "one series for any number",
        "warning",
        "one geometric series",
        """
        def alibi_slopes(n_heads):
            return [2 ** (-8 * (i + 1) / n_heads) for i in range(n_heads)]
        """,
        """
        def alibi_slopes(n_heads):
            n = 2 ** math.floor(math.log2(n_heads))
            slopes = [2 ** (-8 * (i + 1) / n) for i in range(n)]
            return slopes + [2 ** (-4 * (2 * i + 1) / n) for i in range(n_heads - n)]
        """,
    ),
    planted(
        "alibi-slopes",
        "tensors, one series",
        "warning",
        "one geometric series",
        """
        def get_slopes(n):
            return torch.pow(2, -8 * torch.arange(1, n + 1) / n)
        """,
        """
        def get_slopes(n):
            if n & (n - 1):
                raise ValueError("needed a power of two")
            return torch.pow(2, -8 * torch.arange(1, n + 1) / n)
        """,
    ),
    planted(
        "alibi-slopes",
        "off by one",
        "warning",
        "off by one",
        """
        def alibi(n_heads):
            assert math.log2(n_heads).is_integer()
            return torch.tensor([2.0 ** (-8.0 * h / n_heads) for h in range(n_heads)])
        """,
        """
        def alibi(n_heads):
            assert math.log2(n_heads).is_integer()
            return torch.tensor([2.0 ** (-8.0 * h / n_heads) for h in range(1, n_heads + 1)])
        """,
    ),
    planted(
        "alibi-slopes",
        "a root of 256",
        "warning",
        "one geometric series",
        """
        def get_alibi_slopes(n_heads):
            x = (2**8) ** (1 / n_heads)
            return torch.tensor([1 / x ** (i + 1) for i in range(n_heads)])
        """,
        """
        def get_decay(n_heads):
            x = (2**8) ** (1 / n_heads)
            return torch.tensor([1 / x ** (i + 1) for i in range(n_heads)])
        """,
    ),
    planted(
        "alibi-slopes",
        "the authors' inner function alone",
        "warning",
        "one geometric series",
        """
        def slopes_of(n):
            start = 2 ** (-(2 ** -(math.log2(n) - 3)))
            return [start * start**i for i in range(n)]
        """,
        """
        def slopes_of(n):
            start = 2 ** (-(2 ** -(math.log2(n) - 3)))
            return [start * start**i for i in range(n)]

        def alibi(n):
            closest = 2 ** int(math.log2(n))
            return slopes_of(closest) + slopes_of(2 * closest)[0::2][: n - closest]
        """,
    ),
    planted(
        "sinusoid-construction",
        "half of the exponents, by exp",
        "warning",
        "lacks the factor 2",
        """
        def waves(n, d):
            inv_freq = torch.exp(-math.log(10000) * torch.arange(0, d // 2) / d)
            angles = torch.arange(n)[:, None] * inv_freq
            return torch.cat([angles.sin(), angles.cos()], -1)
        """,
        """
        def waves(n, d):
            inv_freq = torch.exp(-math.log(10000) * torch.arange(0, d // 2) / (d // 2))
            angles = torch.arange(n)[:, None] * inv_freq
            return torch.cat([angles.sin(), angles.cos()], -1)
        """,
    ),
    planted(
        "decode-offset",
        "a table and caches by layer",
        "warning",
        "kv_caches",
        """
        def forward(self, idx, kv_caches=None):
            b, t = idx.size()
            pos = torch.arange(0, t, device=idx.device)
            return self.blocks(self.wte(idx) + self.wpe(pos), kv_caches)
        """,
        """
        def forward(self, idx, encoder_hidden_states, kv_caches=None):
            pos = torch.arange(encoder_hidden_states.shape[1], device=idx.device)
            return self.blocks(idx, encoder_hidden_states + self.wpe(pos), kv_caches)
        """,
    ),
    planted(
        "table-range-and-base",
        "no rows for the offset",
        "warning",
        "position + self.offset",
        """
        class LearnedPositionalEmbedding(nn.Embedding):
            def __init__(self, num_embeddings, embedding_dim):
                self.offset = 2
                super().__init__(num_embeddings, embedding_dim)

            def forward(self, positions):
                return super().forward(positions + self.offset)
        """,
        """
        class LearnedPositionalEmbedding(nn.Embedding):
            def __init__(self, num_embeddings, embedding_dim):
                self.offset = 2
                super().__init__(num_embeddings + self.offset, embedding_dim)

            def forward(self, positions):
                return super().forward(positions + self.offset)
        """,
    ),
    planted(
        "table-range-and-base",
        "positions that wrap",
        "note",
        "start again at 0",
        """
        def forward(self, x):
            return x + self.table(torch.arange(x.shape[1]) % self.max_len)
        """,
        """
        def forward(self, x):
            return x + self.table(torch.arange(x.shape[1]))
        """,
    ),
    planted(
        "table-range-and-base",
        "positions that stop",
        "note",
        "last row",
        """
        class PositionEmbedding(nn.Module):
            def forward(self, position_ids):
                return self.weight[position_ids.clamp(0, self.max_len - 1)]
        """,
        """
        class PositionEmbedding(nn.Module):
            def forward(self, position_ids):
                return self.weight[position_ids]
        """,
    ),
    planted(
        "cos-sin-range",
        "a table of cosines",
        "note",
        "-1 for the last row",
        """
        def apply_rotary_pos_emb(q, cos_cached, sin_cached, position_ids):
            cos, sin = cos_cached[position_ids], sin_cached[position_ids]
            return q * cos + rotate_half(q) * sin
        """,
        """
        def apply_rotary_pos_emb(q, cos, sin):
            return q * cos + rotate_half(q) * sin
        """,
    ),
    planted(
        "cos-sin-range",
        "a table of both",
        "note",
        "-1 for the last row",
        """
        class Rotary(nn.Module):
            def forward(self, positions, query):
                cos, sin = self.cos_sin_cache[positions].chunk(2, dim=-1)
                return turn(query, cos, sin)
        """,
        """
        class Rotary(nn.Module):
            def forward(self, positions, query):
                torch._assert_async((positions >= 0).all())
                cos, sin = self.cos_sin_cache[positions].chunk(2, dim=-1)
                return turn(query, cos, sin)
        """,
    ),
)
