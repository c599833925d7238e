"""A probe's numbers for people and for programs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinate.doctor.probe.measuring import Change, ProbeResult

PASSAGE = """
The harbour master wrote down every boat that came in before noon: its name, the weather it had met, and who had seen it first. On
the third of May there were eleven. The smallest of them carried salt, and nobody could say where it had come from, for the man at
the helm spoke to no one and left again with the tide. A week later the same boat was back, with the same salt, and this time the
harbour master asked him to sit down, gave him tea, and waited until he began to talk.
"""
TOKENS = 96


def probed(target: str) -> ProbeResult:
    """Load a model and probe it on a short text.

    Args:
        target: a folder, a GGUF file or a name on a hub.

    Returns:
        What was found.

    Raises:
        ValueError: if it cannot be loaded.
    """
    import torch

    from ordinate.doctor.probe.loading import load
    from ordinate.doctor.probe.measuring import probe

    model, tokenizer = load(target)
    given = (
        [] if tokenizer is None else tokenizer(PASSAGE.strip().replace("\n", " "), add_special_tokens=False)["input_ids"][:TOKENS]
    )
    if len(given) < TOKENS // 2:  # no tokenizer, or one of another model
        ids = torch.randint(0, model.config.get_text_config().vocab_size, (1, TOKENS), generator=torch.Generator().manual_seed(0))
    else:
        ids = torch.tensor([given])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a text beyond a tokenizer's length, and the like: nothing that is measured
        return probe(model, ids)


def lines_of(result: ProbeResult, target: str) -> list[str]:
    r"""Say what a probe found.

    Args:
        result: of a probe.
        target: name of the model.

    Returns:
        Lines of a small table.

    Example:
        >>> from ordinate.doctor.probe.measuring import Change, ProbeResult
        >>> change = Change(rms=1e-6, largest=2e-5)
        >>> found = ProbeResult(model="A", tokens=9, trained=None, shifts={}, cached=change, padded="no mask", layers="none turn")
        >>> print("\n".join(lines_of(found, "a")))
        a: A, 9 tokens, no declared length
        change of log-probabilities (nats)        rms    largest
          cached against uncached             1.0e-06    2.0e-05
          left-padded against not             not asked: no mask
        layers                                not asked: none turn
    """
    declared = "no declared length" if result.trained is None else f"declared length {result.trained}"
    lines = [f"{target}: {result.model}, {result.tokens} tokens, {declared}"]
    lines.append(f"{'change of log-probabilities (nats)':<38}{'rms':>7}{'largest':>11}")
    rows = {f"positions moved by {offset}": change for offset, change in result.shifts.items()}
    rows |= {"cached against uncached": result.cached, "left-padded against not": result.padded}
    lines += [f"  {name:<36}{_change(change)}" for name, change in rows.items()]
    if isinstance(result.layers, str):
        return [*lines, f"{'layers':<38}not asked: {result.layers}"]
    lines.append("layer  positional sensitivity  semantic stability  type")
    return [
        *lines,
        *(f"{layer.index:>5}  {layer.sensitivity:>22.3f}  {layer.stability:>18.3f}  {layer.kind}" for layer in result.layers),
    ]


def _change(change: Change | str) -> str:
    return f"not asked: {change}" if isinstance(change, str) else f"{change.rms:>7.1e}{change.largest:>11.1e}"
