"""The table of model types against transformers' sources: every get_rope_index has its builder, and equal ones have one builder."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from pathlib import Path

import transformers

from ordinate.multimodal import BUILDERS

MODELS = Path(transformers.__file__).parent / "models"


@functools.cache
def bodies(name):
    """Of every method of that name: its statements as text, and the directories that have it."""
    found = defaultdict(set)
    for path in sorted(MODELS.glob("*/modeling_*.py")):
        text = path.read_text()
        if f"def {name}" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                statements = [
                    part for part in node.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
                ]
                found["\n".join(map(ast.unparse, statements))].add(path.parent.name)
    return found


def test_every_model_type_with_a_rule_has_its_builder():
    assert set().union(*bodies("get_rope_index").values()) == set(BUILDERS)


def test_models_with_one_body_have_one_builder():
    groups = bodies("get_rope_index")
    assert len(groups) == 12
    for models in groups.values():
        assert len({BUILDERS[model] for model in models}) == 1, models


def test_the_names_are_model_types():
    for model in BUILDERS:
        (path,) = (MODELS / model).glob("configuration_*.py")
        assert f'model_type = "{model}"' in path.read_text()


def test_bodies_that_place_one_block():
    """Four, of which one is shared: those that the tests of patches and rules were written against."""
    assert sorted(map(len, bodies("get_vision_position_ids").values())) == [1, 1, 1, 17]
