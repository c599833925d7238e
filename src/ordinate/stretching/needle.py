"""A key planted in a long text, asked for at its end. Depths share the part of the text that lies before them, in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ordinate.stretching.running import cut, fed, losses_of, new_cache
from ordinate.stretching.settings import Settings

PLANTED = "\n\nRemember this: the secret number of the blue house is {key}.\n\n"
ASKED = "\n\nQuestion: what is the secret number of the blue house?\nAnswer: the secret number of the blue house is"
KEYS = ("71395", "48216", "90537", "26841", "53079")


class Prompt:
    """The tokens that a needle is made of.

    Args:
        tokenizer: of the model.
        number: of the depth, which chooses the key.
    """

    def __init__(self, tokenizer: Any, number: int) -> None:
        def of(text: str) -> torch.Tensor:
            return torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"])

        key = KEYS[number % len(KEYS)]
        self.planted, self.asked, self.answer = of(PLANTED.format(key=key)), of(ASKED), of(" " + key)

    @property
    def size(self) -> int:
        """Tokens of needle, question and answer."""
        return len(self.planted) + len(self.asked) + len(self.answer)


def depths_found(
    model: Any, tokenizer: Any, tokens: torch.Tensor, settings: Settings, length: int, done: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Ask for the key at every depth, the shallowest first.

    Args:
        model: under its rule.
        tokenizer: of the model.
        tokens: of the whole text, the haystack.
        settings: start, chunk and depths.
        length: of text, needle, question and answer together.
        done: depths that an earlier run has found.

    Yields:
        One record a depth: whether every token of the key had the largest logit, and its mean loss.
    """
    finished = {line["depth"] for line in done if "depth" in line}
    cache, filled = new_cache(model), 0
    for number, depth in enumerate(sorted(settings.depths)):
        if depth in finished:
            continue
        prompt = Prompt(tokenizer, number)
        room = length - prompt.size
        hay = tokens[settings.start : settings.start + room]
        place = round(depth * room)
        if filled:
            cut(cache, filled)
        else:
            cache = new_cache(model)
        _feed_all(model, hay[filled:place], cache, settings.chunk)
        filled = place
        _feed_all(model, torch.cat((prompt.planted, hay[place:])), cache, settings.chunk)
        logits = fed(model, torch.cat((prompt.asked, prompt.answer)), cache)[-len(prompt.answer) - 1 : -1]
        best = logits.argmax(-1).cpu()
        yield {
            "depth": depth,
            "found": bool((best == prompt.answer).all()),
            "loss": losses_of(logits, prompt.answer).double().mean().item(),
        }


def _feed_all(model: Any, tokens: torch.Tensor, cache: Any, chunk: int) -> None:
    for first in range(0, len(tokens), chunk):
        fed(model, tokens[first : first + chunk], cache, keep=1)
