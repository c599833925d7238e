"""A model made without memory, given memory and then its weights, is the model."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ordinate.testing.attempts import Failed, attempt
from ordinate.testing.findings import Finding, broken, holds, not_asked
from ordinate.testing.models.subject import Subject, same, shown

PROPERTY = "meta device, to_empty, weights"
KIND = "derived-buffer-uninit"
LARGEST = 200 * 2**20  # bytes of a model that is saved and loaded
REMEDY = "work buffers out in forward, or give their module a reset_parameters that does, as FSDP calls it after to_empty"


def survives_meta(subject: Subject) -> Finding:
    """Make the model on the meta device, fill its memory with NaN, load the weights, and ask.

    Modules that hold derived buffers and have ``reset_parameters`` are told to, as FSDP does. Models of transformers go the way
    that they support: ``save_pretrained`` and ``from_pretrained``.

    Args:
        subject: the model.

    Returns:
        The finding.
    """
    if subject.of_transformers:
        return _saved_and_loaded(subject)
    if subject.make is None or subject.module is None:
        return not_asked(PROPERTY, "give make=, a function that makes a model of the same settings")
    model = attempt(lambda: _without_memory(subject.make, subject.module.state_dict()))  # type: ignore[arg-type, union-attr]
    if isinstance(model, Failed):
        return _broken(subject, "the model cannot be made on the meta device and filled with its weights", str(model), [])
    ids = subject.rows(1, subject.length)
    expected = subject.fresh().logits(ids)
    actual = attempt(lambda: dataclasses.replace(subject, model=model).logits(ids))
    if not isinstance(actual, Failed) and same(actual, expected):
        return holds(PROPERTY, "the same logits")
    names = _unfilled(model, subject.module)
    said = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} never filled" if names else "logits differ"
    return _broken(subject, said, str(actual) if isinstance(actual, Failed) else shown(actual), names)


def _without_memory(make: Callable[[], nn.Module], weights: dict[str, Any]) -> nn.Module:
    with torch.device("meta"):
        model = make()
    model.to_empty(device="cpu")
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.fill_(float("nan") if tensor.is_floating_point() or tensor.is_complex() else 1 << 30)
        for module in model.modules():
            reset = getattr(module, "reset_parameters", None)
            if callable(reset) and next(module.buffers(recurse=False), None) is not None:
                reset()
    model.load_state_dict(weights)
    return model.eval()


def _unfilled(model: nn.Module, original: nn.Module) -> list[str]:
    own = dict(original.named_buffers())
    left = [name for name, buffer in model.named_buffers() if name in own and not torch.equal(buffer.cpu(), own[name].cpu())]
    for name, module in model.named_modules():
        tensors = [(key, value) for key, value in vars(module).items() if isinstance(value, torch.Tensor) and value.is_meta]
        left += [f"{name}.{key}".lstrip(".") for key, _ in tensors]
    return left


def _saved_and_loaded(subject: Subject) -> Finding:
    model: Any = subject.module
    size = sum(parameter.nbytes for parameter in model.parameters())
    if size > LARGEST:
        return not_asked(PROPERTY, f"save_pretrained and from_pretrained would write {size / 2**20:.0f} MiB")
    ids = subject.rows(1, subject.length)
    with tempfile.TemporaryDirectory() as folder:

        def loaded() -> torch.Tensor:
            model.save_pretrained(folder)
            again = type(model).from_pretrained(folder, dtype=torch.float32).eval()
            return dataclasses.replace(subject, model=again).logits(ids)

        actual = attempt(loaded)
    if not isinstance(actual, Failed) and same(actual, subject.fresh().logits(ids)):
        return holds(PROPERTY, "by save_pretrained and from_pretrained, the way that transformers supports")
    return _broken(subject, "the saved and loaded model differs", str(actual) if isinstance(actual, Failed) else shown(actual), [])


def _broken(subject: Subject, said: str, actual: str, names: list[str]) -> Finding:
    ids = subject.rows(1, subject.length)
    own = dict(subject.module.named_buffers()) if subject.module is not None else {}
    values = "".join(f"; {name} = {own[name].flatten()[:4].tolist()}" for name in names[:1] if name in own)
    return broken(
        PROPERTY,
        KIND,
        said,
        smallest="made on the meta device, to_empty('cpu'), memory filled with NaN, load_state_dict",
        expected=f"{shown(subject.fresh().logits(ids))}{values}",
        actual=actual,
        remedy=REMEDY,
    )
