"""Cells on a Ray cluster: a worker with its own copy of the model on every node, or on every GPU."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from ordinate.checkpoints.located import Checkpoint
from ordinate.stretching.settings import Cell, Settings, Text
from ordinate.stretching.stretch import Run
from ordinate.stretching.work import Worker


def remote_runs(address: str, checkpoint: Checkpoint, trained: int | None, settings: Settings, text: Text) -> list[Run]:
    """Start workers on a cluster.

    Args:
        address: of its head, or "auto".
        checkpoint: where the model lies, on every node.
        trained: trained length in place of the declared one, or None.
        settings: what is measured.
        text: what is read.

    Returns:
        What runs a cell, one a worker.

    Raises:
        ValueError: if ray is not installed, or no cluster answers.
    """
    try:
        import ray
    except ImportError:
        raise ValueError("--ray: needed the package ray; install it with: pip install 'ordinate[cluster]'") from None
    try:
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as fault:
        raise ValueError(f"--ray: no cluster answers at {address} ({str(fault).strip().splitlines()[0]:.120})") from None
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    gpus = sum(int(node.get("GPU", 0)) for node in nodes)
    processors = max(int(min(node.get("CPU", 1) for node in nodes)), 1)
    needs = {"num_gpus": 1, "num_cpus": 1} if gpus else {"num_cpus": processors}
    maker = ray.remote(Worker).options(**needs, scheduling_strategy="SPREAD")
    return [_run_on(maker.remote(checkpoint, trained, settings, text)) for _ in range(gpus or len(nodes))]


def _run_on(actor: Any) -> Run:
    def run(cell: Cell, done: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        import ray

        for reference in actor.run.options(num_returns="streaming").remote(cell, done):
            yield ray.get(reference)

    return run
