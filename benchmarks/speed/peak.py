"""Memory of one call in this process: the peak that Linux counted, and what autograd keeps for the backward pass."""

import gc
import os
from pathlib import Path

import torch

MIB = 1 << 20
# Every block from 128 KiB on comes from the system and goes back to it at once, so that none is served from what others left.
ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072", "MALLOC_ARENA_MAX": "1"}
RESET_PEAK = "5"


def can_measure():
    return os.access("/proc/self/clear_refs", os.W_OK)


def peak_bytes(run):
    """The most that was resident during a call, its results included, above what was resident before; run has run before."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    before = _kibibytes("VmRSS")
    result = run()
    after = _kibibytes("VmHWM")
    del result
    return (after - before) * 1024


def saved_bytes(run):
    """What autograd keeps between forward and backward: each storage once."""
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        run()
    return sum(kept.values())


def _kibibytes(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))
