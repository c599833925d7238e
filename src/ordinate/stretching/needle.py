"""Keys planted in a long text, one at each depth and each with a name of its own, and asked for at its end.

All stand in one haystack, which goes through the model once; every question is asked of the same cache.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch

from ordinate.stretching.running import cut, fed, keeps_all, losses_of, new_cache
from ordinate.stretching.settings import Settings

PLANTED = "\n\nRemember this: the secret number of the {name} is {key}.\n\n"
ASKED = "\n\nQuestion: what is the secret number of the {name}?\nAnswer: the secret number of the {name} is"
SECRETS = (
    ("blue house", "71395"),
    ("red barn", "48216"),
    ("old mill", "90537"),
    ("white tower", "26841"),
    ("stone bridge", "53079"),
)


class Needle:
    """The tokens of one key.

    Args:
        tokenizer: of the model.
        number: of the depth, which chooses name and key.
    """

    def __init__(self, tokenizer: Any, number: int) -> None:
        def of(text: str) -> torch.Tensor:
            return torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"])

        name, key = SECRETS[number]
        self.planted, self.asked, self.answer = of(PLANTED.format(name=name, key=key)), of(ASKED.format(name=name)), of(" " + key)


def needles_of(tokenizer: Any, settings: Settings) -> list[Needle]:
    """Give a needle for every depth.

    Args:
        tokenizer: of the model.
        settings: depths.

    Returns:
        Needles, the shallowest first.
    """
    return [Needle(tokenizer, number) for number in range(len(settings.depths))]


def room_for_text(needles: list[Needle], length: int) -> int:
    """Say how many tokens of text a length has room for, beside needles, the longest question and its answer.

    Args:
        needles: that are planted.
        length: of all together.

    Returns:
        Tokens; not positive where there is no room.
    """
    asked = max(len(needle.asked) + len(needle.answer) for needle in needles)
    return length - sum(len(needle.planted) for needle in needles) - asked


def depths_found(
    model: Any, tokenizer: Any, tokens: torch.Tensor, settings: Settings, length: int, done: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Ask for every key.

    Args:
        model: under its rule.
        tokenizer: of the model.
        tokens: of the whole text, the haystack.
        settings: start, chunk and depths.
        length: of text, needles, question and answer together.
        done: depths that an earlier run has found.

    Yields:
        One record a depth: whether every token of the key had the largest logit, and its mean loss.
    """
    finished = {line["depth"] for line in done if "depth" in line}
    depths, needles = sorted(settings.depths), needles_of(tokenizer, settings)
    if finished >= set(depths):
        return
    room = room_for_text(needles, length)
    hay, parts, last = tokens[settings.start : settings.start + room], [], 0
    for depth, needle in zip(depths, needles, strict=True):
        place = round(depth * room)
        parts += [hay[last:place], needle.planted]
        last = place
    haystack, cache = torch.cat((*parts, hay[last:])), new_cache(model)
    for first in range(0, len(haystack), settings.chunk):
        fed(model, haystack[first : first + settings.chunk], cache, keep=1)
    for depth, needle in zip(depths, needles, strict=True):
        if depth in finished:
            continue
        asked_of = cache if keeps_all(cache) else copy.deepcopy(cache)
        cut(cache, len(haystack))
        logits = fed(model, torch.cat((needle.asked, needle.answer)), asked_of)[-len(needle.answer) - 1 : -1]
        yield {
            "depth": depth,
            "found": bool((logits.argmax(-1).cpu() == needle.answer).all()),
            "loss": losses_of(logits, needle.answer).double().mean().item(),
        }
