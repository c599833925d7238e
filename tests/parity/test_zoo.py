"""Every directory of transformers with rotary code of its own: its modules and functions against what ``read`` makes of its types.

A directory counts as reproduced when each of its rotary classes was made and each of its functions called while the checks of its
types ran, and all of them passed, bit for bit in float32 and bfloat16 (complex products within two roundings, counted apart).
Where nothing ever calls them, nothing turns: that is checked, and two whose attention has sinusoids of the distance are counted
apart as well.
"""

import functools
import importlib
import json
import os
import re
from pathlib import Path
from unittest import mock

import encoder_spy
import pytest
import transformers
from zoo_cases import BY_DISTANCE, LEFT_OUT_AS, STILL, WITHIN_AN_ULP, cases
from zoo_scan import directories

from ordinate.checkpoints import read
from ordinate.checkpoints.left_out import LEFT_OUT

ROOT = Path(__file__).parents[2]
ROTARY, CASES = directories(), cases()
KEPT = ROOT / "benchmarks" / "results" / "zoo_transformers_5_24.json"
REPRODUCED: dict[str, str] = {}
NOTHING_TURNS = "nothing turns, outputs within 1e-5"


def of_angles(code):
    """The classes that make angles: attention classes only use them."""
    return {name for name in code.classes if not name.endswith("Attention")}


def that_turn(code):
    """The functions that turn; those that only exchange the entries of pairs are called by them."""
    return {name for name in code.functions if not name.startswith("rotate_")} or set(code.functions)


def watched(file, code, made, called):
    """Note which classes are made and which functions called."""
    kinds = [
        mock.patch.object(getattr(file, name), "__init__", _noting(getattr(file, name).__init__, made, name))
        for name in of_angles(code)
    ]
    return kinds + [mock.patch.object(file, name, _noting(getattr(file, name), called, name)) for name in that_turn(code)]


def _noting(original, seen, name):
    @functools.wraps(original)
    def note(*given, **named):
        seen.add(name)
        return original(*given, **named)

    return note


def test_there_are_211():
    assert transformers.__version__.startswith("5.24.")
    assert len(ROTARY) == 211
    assert set(CASES) <= set(ROTARY)
    assert set(LEFT_OUT_AS) == set(ROTARY) - set(CASES)


@pytest.mark.parametrize("directory", CASES)
def test_directory(directory):
    code, made, called = ROTARY[directory], set(), set()
    file = importlib.import_module(f"transformers.models.{directory}.modeling_{directory}")
    encoder_spy.heard.cache_clear()
    patches = watched(file, code, made, called)
    for patch in patches:
        patch.start()
    try:
        for check in CASES[directory]:
            check()
    finally:
        for patch in patches:
            patch.stop()
    if directory in STILL:
        assert not made | called
    else:
        assert made == of_angles(code)
        assert called == that_turn(code)
    REPRODUCED[directory] = how_well(directory)


def how_well(directory):
    if directory in BY_DISTANCE:
        return NOTHING_TURNS
    return "within an ulp" if directory in WITHIN_AN_ULP else "bit for bit"


@pytest.mark.parametrize("directory", LEFT_OUT_AS)
def test_what_is_left_out_is_refused_with_the_reason(directory):
    reason = LEFT_OUT[LEFT_OUT_AS[directory]]
    assert "\n" not in reason
    with pytest.raises(ValueError, match=re.escape(reason)):
        read({"model_type": LEFT_OUT_AS[directory]})


def test_count(capsys):
    """What the pages say is what was just seen."""
    if set(REPRODUCED) != set(CASES):
        pytest.skip("needs the checks of all directories before it: some failed, or were not selected")
    found = {
        "transformers": transformers.__version__,
        "command": "ORDINATE_KEEP=1 make zoo",
        "directories": len(ROTARY),
        "reproduced": dict(sorted(REPRODUCED.items())),
        "left_out": {name: LEFT_OUT[model_type] for name, model_type in sorted(LEFT_OUT_AS.items())},
    }
    with capsys.disabled():
        print(f"\nreproduced: {len(REPRODUCED)} of {len(ROTARY)} directories of transformers with rotary code")
        for how in sorted(set(REPRODUCED.values())):
            names = sorted(name for name, found_so in REPRODUCED.items() if found_so == how)
            print(f"{how}: {len(names)}" + (f" ({', '.join(names)})" if len(names) < 10 else ""))
        for name, reason in found["left_out"].items():
            print(f"left out: {name}: {reason}")
    if os.environ.get("ORDINATE_KEEP"):
        KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert len(REPRODUCED) >= 190
    assert json.loads(KEPT.read_text(encoding="utf-8")) == found
    for page in ("README.md", "README.ru.md"):
        assert f"{len(REPRODUCED)} / {len(ROTARY)}" in (ROOT / page).read_text(encoding="utf-8"), page
