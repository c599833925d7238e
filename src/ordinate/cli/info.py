"""``ordinate info``: which ways of computing are in use here, and why the others are not."""

from __future__ import annotations

import argparse
import platform
from typing import Any

import ordinate


def add_parser(commands: Any) -> None:
    """Register the subcommand.

    Args:
        commands: the parsers of subcommands.
    """
    parser = commands.add_parser(
        "info",
        help="which kernels are in use here, and why",
        description="Say which ways of computing are in use on this machine, and why the others are not.",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:  # noqa: ARG001
    """Print what is found.

    Args:
        options: none.

    Returns:
        The exit status; 2 if the environment asks for a kernel that is not there.
    """
    import torch

    try:
        from ordinate.kernels import cpu, gpu
    except ValueError as fault:
        print(f"ordinate: {fault}")
        return 2
    from ordinate.attention import learned

    missing = gpu.why_not(torch.device("cuda"))
    rows = {
        "versions": f"ordinate {ordinate.__version__}, torch {torch.__version__}, Python {platform.python_version()}",
        "rotation, CPU": f"compiled kernel ({cpu.REASON})" if cpu.CALL else f"PyTorch's operators: {cpu.REASON}",
        "rotation, GPU": "Triton kernel" if missing is None else f"PyTorch's operators: {missing}",
        "learned biases, CPU": "fused kernel" if learned.operators() else "whole: this PyTorch has no fused kernel with a bias",
        "threads": str(torch.get_num_threads()),
    }
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:<{width}}  {value}")
    return 0
