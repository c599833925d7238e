"""Rotary families of the installed transformers: every distinct code of a rotary module and the function that turns with it."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers

from ordinate import checkpoints
from ordinate.checkpoints.scheme_plans import RopePlan
from ordinate.testing import Report, check_rotary, of_transformers

APPLIED = ("apply_rotary_pos_emb", "apply_rotary_emb")
# Some files have this one, too, for settings and models of interleaved pairs.
INTERLEAVED = "apply_rotary_pos_emb_interleave"


@dataclass
class Family:
    """Code that several model types share."""

    module: Any
    apply: Any
    config: Any
    plan: RopePlan
    kind: str
    scheme: Any
    types: list[str] = field(default_factory=list)


def families() -> tuple[list[Family], dict[str, str]]:
    """The distinct ones, and the reasons why others were passed over."""
    found: dict[str, Family] = {}
    left: dict[str, str] = {}
    for name, modeling in _modules():
        for cls in _rotary_classes(modeling):
            label = f"{name}.{cls.__name__}"
            try:
                family = _family(cls, modeling)
            except Exception as fault:  # each has arguments of its own
                left[label] = f"{type(fault).__name__}: {str(fault).splitlines()[0][:90] if str(fault) else ''}"
                continue
            code = _code(cls) + _code(family.apply)
            found.setdefault(code, family).types.append(label)
    return list(found.values()), left


def checked(family: Family) -> Report:
    """Hold a family to the contract, with what the checkpoint reader says of its default configuration as the expected form."""
    plan, rope = family.plan, family.scheme
    width = _width(family)
    return check_rotary(
        _turn(family),
        head_dim=width,
        base=plan.base,
        layout=plan.layout,
        rotary_dim=plan.rotary_dim,
        inverse_frequencies=list(rope.inverse_frequencies),
        magnitude=rope.magnitude,
        name=family.types[0],
    )


def _turn(family: Family) -> Any:
    module: Any = family.module
    if "layer_type" in inspect.signature(module.forward).parameters:
        module = OfLayer(module, family.kind)
    if _is_complex(family):
        return Complex(module, family.apply, tokens_first="[:, :, None, :]" in inspect.getsource(family.apply))
    return of_transformers(module, family.apply)


@dataclass(frozen=True)
class OfLayer:
    """A module with tables for several layer types."""

    module: Any
    kind: str

    def __call__(self, x: torch.Tensor, position_ids: torch.Tensor) -> Any:
        return self.module(x, position_ids, self.kind)


@dataclass(frozen=True)
class Complex:
    """A module that gives complex numbers, [B, T, pairs]; some functions take tokens before heads."""

    module: Any
    apply: Any
    tokens_first: bool

    def __call__(self, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> Any:
        rows = positions if positions.ndim == 2 else positions[None].expand(q.shape[0], -1)
        numbers = self.module(q, rows)
        if not self.tokens_first:
            return self.apply(q, k, numbers)
        turned = self.apply(q.transpose(1, 2), k.transpose(1, 2), numbers)
        return turned[0].transpose(1, 2), turned[1].transpose(1, 2)


def _is_complex(family: Family) -> bool:
    return "freqs_cis" in inspect.signature(family.apply).parameters


def _width(family: Family) -> int:
    """Entries that the function takes: of the whole head, or those that turn alone."""
    reasons = []
    for width in (family.plan.head_dim, family.plan.rotary_dim):
        x = torch.zeros(1, 1, 2, width)
        try:
            if _turn(family)(x, x, torch.arange(2))[0].shape == x.shape:
                return width
        except (RuntimeError, KeyError, AttributeError, TypeError) as fault:
            reasons.append(f"{type(fault).__name__}: {fault}")
    raise ValueError(f"its function does not take what its module gives by default: {reasons[-1] if reasons else 'another shape'}")


def _modules() -> Iterator[tuple[str, Any]]:
    folder = Path(transformers.__file__).parent / "models"
    for path in sorted(folder.glob("*/modeling_*.py")):
        if "RotaryEmbedding(" in path.read_text(encoding="utf-8"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    yield path.parent.name, importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")
                except ImportError:
                    continue


def _rotary_classes(modeling: Any) -> list[type]:
    own = (each for each in vars(modeling).values() if inspect.isclass(each) and each.__module__ == modeling.__name__)
    return [each for each in own if each.__name__.endswith("RotaryEmbedding")]


def _family(cls: type, modeling: Any) -> Family:
    apply = next((vars(modeling)[each] for each in APPLIED if each in vars(modeling)), None)
    if apply is None:
        raise ValueError("its file has no apply_rotary_pos_emb")
    if "tensor" in inspect.signature(apply).parameters:
        raise ValueError("its file turns one tensor by (sin, cos), with tokens first: another shape than the others have")
    annotation = inspect.signature(cls.__init__).parameters["config"].annotation
    config_class = getattr(inspect.getmodule(cls), annotation, None) if isinstance(annotation, str) else annotation
    config = config_class()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = checkpoints.read(config)
        turning = [
            (stack, n) for stack in plan.stacks for n, layer in enumerate(stack.layers) if isinstance(layer.scheme, RopePlan)
        ]
        module = cls(config)
    if not turning:
        raise ValueError("no layer of the default configuration turns pairs of one axis")
    stack, number = turning[0]
    layer, scheme = stack.layers[number], stack.build().layers[number]
    if layer.scheme.layout == "interleaved":
        apply = vars(modeling).get(INTERLEAVED, apply)
    return Family(module, apply, config, layer.scheme, layer.kind, scheme.at_length(config.max_position_embeddings))


def _code(thing: Any) -> str:
    lines = inspect.getsource(thing).splitlines()
    return "\n".join(line for line in lines if not line.strip().startswith(("class ", "#", '"""')) and "Config" not in line)
