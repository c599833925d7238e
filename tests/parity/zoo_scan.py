"""Model directories of the installed transformers that have rotary code of their own, found in their sources."""

import ast
import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

MODELS = Path(importlib.util.find_spec("transformers").origin).parent / "models"


class RotaryCode(NamedTuple):
    """Names in a directory's modelling files."""

    classes: tuple[str, ...]
    functions: tuple[str, ...]


def rotary_code(folder):
    """Give the classes named after a rotation and the functions that apply one."""
    classes, functions = [], []
    for path in sorted(folder.glob("modeling_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and re.search("Rotary|RoPE|Rope", node.name):
                classes.append(node.name)
            elif isinstance(node, ast.FunctionDef) and re.search(
                r"^apply_\w*rot|^rotate_|^stack_freqs$|^apply_\w+_rope$", node.name
            ):
                functions.append(node.name)
    return RotaryCode(tuple(classes), tuple(functions))


def directories():
    """Give every directory with such code."""
    found = {folder.name: rotary_code(folder) for folder in sorted(MODELS.iterdir()) if folder.is_dir()}
    return {name: code for name, code in found.items() if code.classes or code.functions}
