"""Whether plain eager PyTorch runs, or something watches its operators: then only operators, no raw memory, may be used."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

_compiling = torch.compiler.is_compiling
_trace = torch._C._get_tracing_state
_transform = torch._C._functorch.peek_interpreter_stack
_modes = torch._C._len_torch_dispatch_stack


def watched() -> bool:
    """Whether a compiler, tracer, function transform, forward-mode gradient or dispatch mode is at work.

    Returns:
        True if operators are watched now.

    Example:
        >>> watched(), torch.func.vmap(lambda x: x + watched())(torch.zeros(1)).item()
        (False, 1.0)
    """
    return _compiling() or _modes() > 0 or _trace() is not None or _transform() is not None or forward_ad._current_level >= 0


def transformed() -> bool:
    """Whether something that knows PyTorch's own operators only is at work; dispatch modes know others as well.

    Returns:
        True under a compiler, tracer, function transform or forward-mode gradient.

    Example:
        >>> transformed()
        False
    """
    return _compiling() or _trace() is not None or _transform() is not None or forward_ad._current_level >= 0


def is_plain(x: torch.Tensor) -> bool:
    """Whether a tensor's memory is what PyTorch says it is: no subclass that holds its entries elsewhere, strided, not nested.

    Args:
        x: any tensor.

    Returns:
        Whether addresses and strides tell all.

    Example:
        >>> is_plain(torch.zeros(2)), is_plain(torch.zeros(2).to_sparse())
        (True, False)
    """
    return type(x) in (torch.Tensor, torch.nn.Parameter) and x.layout == torch.strided and not x.is_nested
