"""Encoder-decoders: the encoder reads a stretch of text, and the decoder is asked for as long a one that follows."""

from __future__ import annotations

from typing import Any

import torch

from ordinate.stretching.running import cache_name


class Continuing:
    """A model whose encoder has read, so that its decoder takes tokens as a decoder alone does.

    The decoder begins with the model's own start token where a decoder alone would see the token before the first one.

    Args:
        model: an encoder-decoder of transformers.
        read: ids that the encoder reads, [T].
    """

    def __init__(self, model: Any, read: torch.Tensor) -> None:
        self._model, self.config, self.device = model, model.config, model.device
        with torch.inference_mode():
            self._encoded = model.get_encoder()(input_ids=read[None].to(model.device))

    def forward(self, input_ids: torch.Tensor, past_key_values: Any, use_cache: bool) -> Any:
        """Run the decoder on tokens after those in the cache.

        Args:
            input_ids: [1, T].
            past_key_values: the decoder's cache.
            use_cache: whether it grows.

        Returns:
            What the model gives.
        """
        if not past_key_values.get_seq_length():
            first = self.config.decoder_start_token_id
            input_ids = torch.cat(
                (input_ids.new_full((1, 1), self.config.pad_token_id if first is None else first), input_ids[:, 1:]), 1
            )
        cache = {cache_name(type(self._model)): past_key_values}
        return self._model(encoder_outputs=self._encoded, decoder_input_ids=input_ids, use_cache=use_cache, **cache)

    __call__ = forward
