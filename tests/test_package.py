"""What the package promises as a whole: imports, names, docstrings, and schemes that can be written down and read back."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import ordinate
from cases import CASES, Case
from contract_tools import SHUFFLED, acts, identical
from ordinate import testing
from ordinate.schemes import AXES_SCHEMES, LARGE_SCHEMES

ROOT = Path(ordinate.__file__).parent
# Each imports only from what stands before it (or from its own folder).
ORDER = (
    "faults",
    "reference",
    "scaling",
    "sections",
    "turning",
    "checks",
    "watching",
    "resampling",
    "autocast",
    "positions",
    "multimodal",
    "arguments",
    "fitting",
    "sites",
    "phases",
    "formula",
    "kernels",
    "rotation",
    "visibility",
    "weighing",
    "schemes",
    "attention",
    "cache",
    "modules",
    "catalogue",
    "checkpoints",
    "attaching",
    "plots",
    "testing",
    "doctor",
    "lab",
    "stretching",
    "claims",
    "notes",
    "cli",
)
ALWAYS_THERE = {*sys.stdlib_module_names, "torch", "numpy", "ordinate"}
OPTIONAL = ("matplotlib", "marimo", "transformers", "rich", "jinja2", "hypothesis", "mpmath", "pytest")
FILES = sorted(ROOT.rglob("*.py"))
INNER = [
    path
    for path in FILES
    if path.relative_to(ROOT).parts[0] not in ("lab", "stretching", "doctor", "notes", "cli", "plots.py", "__init__.py")
]


def _place(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def _imports(tree: ast.AST) -> Iterator[str]:
    """Full names of all that is imported anywhere in a file; names taken from the package stand for their homes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer"
            if node.module == "ordinate":
                homes = (ordinate._HOMES.get(alias.name, alias.name) for alias in node.names)
                yield from (f"ordinate.{home}" for home in homes)
            else:
                yield node.module or ""


def _upward(place: str, inside_folder: bool, tree: ast.AST) -> list[str]:
    """Imports of the package from above or beside."""
    found = []
    for name in _imports(tree):
        parts = name.split(".")
        if parts[0] != "ordinate" or len(parts) == 1 or parts[1] == "__version__":
            continue
        lower = parts[1] in ORDER and ORDER.index(parts[1]) < ORDER.index(place)
        if not lower and not (inside_folder and parts[1] == place):
            found.append(name)
    return found


def _foreign_at_the_top(tree: ast.Module) -> set[str]:
    """Packages beyond torch and numpy that importing the file would import."""
    found, left = set(), list(tree.body)
    while left:
        node = left.pop()
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if typing_only or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {name.split(".")[0] for name in _imports(node)}
        left += ast.iter_child_nodes(node)
    return found - ALWAYS_THERE


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    tree = ast.parse(path.read_text())
    # pytest itself loads the one, marimo the other
    allowed = {ROOT / "testing" / "plugin.py": {"pytest"}, ROOT / "notes" / "app.py": {"marimo"}}.get(path, set())
    assert _foreign_at_the_top(tree) <= allowed, "optional packages are imported inside functions"
    if path != ROOT / "__init__.py":
        assert _place(path) in ORDER, f"{_place(path)} has no place in the order of imports"
        assert _upward(_place(path), path.parent != ROOT, tree) == []


def test_a_wrong_import_is_seen() -> None:
    for text in ("from ordinate import attend", "import ordinate.attention", "def f():\n from ordinate.modules import x"):
        assert _upward("attention", False, ast.parse(text)) != []
    assert _upward("modules", False, ast.parse("from ordinate import attend, __version__\nimport ordinate.sites")) == []
    assert _upward("schemes", True, ast.parse("from ordinate.schemes.alibi import ALiBi")) == []
    for text in ("import rich.table", "if x:\n import jinja2", "class A:\n import rich", "try:\n import rich\nexcept E: pass"):
        assert _foreign_at_the_top(ast.parse(text)) != set()
    for text in ("import torch.nn, numpy", "def f():\n import rich", "class A:\n def f(self):\n  import rich"):
        assert _foreign_at_the_top(ast.parse(text)) == set()


def _loaded_after(code: str) -> set[str]:
    """Which of the heavy packages a fresh process has loaded."""
    asked = ("torch", *OPTIONAL)
    program = f"import sys\n{code}\nprint(' '.join(name for name in {asked} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light() -> None:
    assert _loaded_after("import ordinate; dir(ordinate); ordinate.__version__") == set()
    assert _loaded_after("import ordinate; ordinate.reference") == set()
    assert _loaded_after("from ordinate import checkpoints; checkpoints.read; dir(checkpoints)") == set()


def test_a_scheme_needs_torch_only() -> None:
    code = "import ordinate; ordinate.Rope(head_dim=8, layout='half').at(range(3)); ordinate.MultiheadAttention; ordinate.attend"
    assert _loaded_after(code) == {"torch"}


def test_exported_names_agree() -> None:
    tree = ast.parse((ROOT / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    typed = {alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    modules = {name: f"ordinate.{name}" for name in ordinate._MODULES}
    lazy = {name: f"ordinate.{home}" for name, home in ordinate._HOMES.items()}
    assert set(lazy) | set(modules) | {"__version__"} == set(ordinate.__all__) == set(dir(ordinate))
    assert len(ordinate.__all__) == len(set(ordinate.__all__))
    assert typed == {name: lazy.get(name, "ordinate") for name in (*lazy, *modules)}
    for name, home in {**lazy, **modules}.items():
        value = getattr(ordinate, name)
        assert value is getattr(sys.modules[home], name, sys.modules[home]), name
    with pytest.raises(AttributeError, match="no attribute 'Rop'"):
        ordinate.Rop  # noqa: B018


@pytest.mark.parametrize("folder", [ROOT, ROOT / "checkpoints"])
def test_type_checkers_see_no_name_that_is_not_there(folder: Path) -> None:
    """A module's __getattr__ would let every slip pass."""
    tree = ast.parse((folder / "__init__.py").read_text())
    hidden = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "not TYPE_CHECKING"]
    inside = [part.name for node in hidden for part in node.body if isinstance(part, ast.FunctionDef)]
    assert inside == ["__getattr__"]
    assert "__getattr__" not in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_names_of_checkpoints_agree() -> None:
    tree = ast.parse((ROOT / "checkpoints" / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    typed = {alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    homes = {name: f"ordinate.checkpoints.{home}" for name, home in ordinate.checkpoints._HOMES.items()}
    assert typed == homes
    assert set(homes) == set(ordinate.checkpoints.__all__) == set(dir(ordinate.checkpoints))
    for name, home in homes.items():
        assert getattr(ordinate.checkpoints, name) is getattr(sys.modules[home], name)
    with pytest.raises(AttributeError, match="no attribute 'reed'"):
        ordinate.checkpoints.reed  # noqa: B018


def test_schemes_table_is_what_is_exported() -> None:
    sites = (ordinate.InputScheme, ordinate.QueryKeyScheme, ordinate.ScoreScheme)
    exported = [getattr(ordinate, name) for name in ordinate.__all__]
    classes = {value for value in exported if inspect.isclass(value) and issubclass(value, sites) and not inspect.isabstract(value)}
    in_a_row = {value for value in ordinate.SCHEMES.values() if value is not None}
    assert classes == in_a_row | set(AXES_SCHEMES.values()) | set(LARGE_SCHEMES.values())
    assert {ordinate.SCHEMES[case.scheme] for case in CASES.values()} == {*in_a_row, None}
    assert ordinate.SCHEMES["nope"] is None
    for scheme in classes:
        bases = [base for base in scheme.__mro__[1:] if issubclass(base, sites)]
        assert all(inspect.isabstract(base) for base in bases), f"{scheme.__name__} derives from a concrete scheme"
        assert sum(base in sites for base in bases) == 1, f"{scheme.__name__} must act at one site"


# Docstrings

# What is never called by a reader alone: an abstract class, or a record that a function makes.
NO_EXAMPLE = {
    "Packed": "made by packed(), which has one",
    **dict.fromkeys(("Verdict", "Note"), "a choice of names"),
    "Text": "a pair of texts; its method has one",
    "Measured": "made by judged()",
    "Claim": "written down in the ledger",
    "Settled": "made by settle()",
    "UnmeasuredError": "raised by loss() and the like",
    "MultimodalPositions": "made by each builder",
    "TokenRows": "made by token_rows()",
    "Blocks": "made by find_blocks()",
    "Sounding": "made by find_sound()",
    "Pictures": "made by find_pictures()",
    "ScoreAt": "made by scheme.at",
    "InputScheme": "abstract",
    "QueryKeyScheme": "abstract",
    "ScoreScheme": "abstract",
    "DistanceScheme": "abstract",
    "Frequencies": "made by from_base()",
    "Rotation": "made by Rope.at",
    "Rule": "abstract",
    "PairTheory": "made by theory()",
    "Theory": "made by theory()",
    "Scaled": "made by a rule's apply",
    "Sight": "made by sight_of()",
    "Facts": "written down by each scheme",
    "Parts": "made by build()",
    "SchemeRow": "a row of the table of schemes",
    **dict.fromkeys(
        ("LearnedPlan", "SinusoidalPlan", "RopePlan", "AlibiPlan", "T5Plan", "ShawPlan", "TransformerXLPlan", "DebertaPlan"),
        "made by read()",
    ),
    **dict.fromkeys(
        ("DebertaTablePlan", "QueryScale", "PowerScale", "LayerPlan", "PositionIds", "StackPlan", "PositionPlan"), "made by read()"
    ),
    **dict.fromkeys(("MultimodalRopePlan", "AxialRopePlan", "EntrywiseRopePlan", "GridPlan", "Entry"), "made by read()"),
    "AxialType": "a row of the table of model types",
    "RopeKeys": "a part of the table of model types",
    "RopeSettings": "made by read_rope()",
    "SectionKeys": "a part of the table of model types",
    "RotaryType": "a row of the table of model types",
    "LayerKind": "made by a policy",
    "Architecture": "a row of the table of GGUF architectures",
    "Source": "made by find_source()",
    "Other": "made by find_source()",
    "Attached": "made by attach()",
    "CachedTurning": "put in by attach()",
    "Pass": "made by Lengths",
    "Record": "made by Lengths",
    "AttachedModule": "marks classes",
    "Found": "made by find()",
    "Turn": "called by what stand_in() makes",
    "Wheel": "made by wheel_of()",
}
# Public names through which tensors go.
TENSORS = {"attend", "rotate", "MultiheadAttention", "TokenAndPositionEmbedding", "DebertaTable", "exact", "float32", "arrange"}
TENSORS |= {"with_swapped"}
TENSORS |= {"as_rows", "distances", "four_dims", "relative_rows", "convert_layout", "detect_layout", "resize_table"}
TENSORS |= {"resize_bias_table", "resample_rows", "compare_frequencies", "query_factors"}
TENSORS |= {builder.__name__ for builder in ordinate.multimodal.BUILDERS.values()} | {"continued", "patch_positions", "lay_out"}


def _definitions() -> list[Any]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = []
    for path in INNER:
        nodes = [node for node in ast.parse(path.read_text()).body if isinstance(node, kinds)]
        if path.is_relative_to(ROOT / "testing"):  # what the package offers, and not the parts that it is made of
            nodes = [node for node in nodes if node.name in testing.__all__]
        found += [pytest.param(node, id=f"{path.relative_to(ROOT)}:{node.name}") for node in nodes if node.name[0] != "_"]
    return found


def _sections(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    lines = (ast.get_docstring(node) or "").splitlines()
    return {line.removesuffix(":") for line in lines if line and not line.startswith(" ") and line.endswith(":")}


@pytest.mark.parametrize("node", _definitions())
def test_docstrings_say_what_a_reader_needs(node: ast.FunctionDef | ast.ClassDef) -> None:
    sections = _sections(node)
    needed = set() if node.name in NO_EXAMPLE else {"Example"}
    if isinstance(node, ast.FunctionDef):
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        needed |= {"Args"} if any(arguments) else set()
        returns = "" if node.returns is None else ast.unparse(node.returns)
        needed |= {"Returns"} if returns != "None" else set()
    schemes = (*ordinate.SCHEMES.values(), *AXES_SCHEMES.values(), *LARGE_SCHEMES.values())
    if any(node.name == getattr(scheme, "__name__", "") for scheme in schemes):
        needed |= {"Args", "Raises", "Shape", "Reference", "Differs from"}
    if node.name in TENSORS:
        needed |= {"Args", "Shape"}
    assert needed <= sections, f"{node.name} lacks {sorted(needed - sections)}"


@pytest.mark.parametrize("node", _definitions())
def test_public_methods_have_docstrings(node: ast.FunctionDef | ast.ClassDef) -> None:
    for part in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
            assert ast.get_docstring(part), f"{node.name}.{part.name}"


def test_names_without_example_exist() -> None:
    assert {param.values[0].name for param in _definitions()} >= set(NO_EXAMPLE) | TENSORS


# Schemes as text

WITH_MODULE = [case for case in CASES.values() if case.make() is not None]


@pytest.mark.parametrize("case", WITH_MODULE, ids=lambda case: case.name.replace(" ", "_"))
def test_constructor_arguments_are_keywords_and_attributes(case: Case) -> None:
    scheme = case.make()
    parameters = inspect.signature(type(scheme)).parameters
    assert {parameter.kind for parameter in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    for name in parameters:
        assert hasattr(scheme, name), f"{name} cannot be read back"


@pytest.mark.parametrize("case", WITH_MODULE, ids=lambda case: case.name.replace(" ", "_"))
def test_repr_is_the_call(case: Case) -> None:
    scheme = case.make()
    again = eval(repr(scheme), {name: getattr(ordinate, name) for name in ordinate.__all__} | vars(ordinate.scaling))
    assert repr(again) == repr(scheme)
    assert repr(case.other()) != repr(scheme)
    again.load_state_dict(scheme.state_dict())
    for positions in (torch.tensor(SHUFFLED), range(5)):
        identical(acts(case, again, positions), acts(case, scheme, positions))
    for name in inspect.signature(type(scheme)).parameters:
        assert getattr(again, name) == getattr(scheme, name), name
