"""``ordinate plot``: one figure of one scheme, as a picture file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The figures that fit a scheme, the natural one first.
DRAWN = {
    "sinusoidal": ("heatmap", "waves", "scores", "precision"),
    "learned": ("heatmap", "waves", "scores"),
    "shaw": ("bias", "scores"),
    "t5": ("bias", "scores"),
    "deberta": ("bias",),
    "alibi": ("bias", "scores"),
    "rope": ("scores", "wavelengths", "precision", "hands"),
}
# Eight heads of 64; three for T5, whose steps would hide each other.
HEAD_DIM, MAX_LENGTH, TRAINED = 64, 512, 4096
N_HEADS = {"t5": 3}
FIGURES = ("heatmap", "waves", "bias", "scores", "wavelengths", "precision", "hands")
# Sixteen dimensions, as the first course note draws them.
WAVES_WIDTH = 16
# Where the query's hands stand, and how far before them the key's.
HANDS_AT, HANDS_APART = 20, 7
# These draw some of the positions, on a logarithmic axis, or one.
MOST_POSITIONS, MOST_FOR_PRECISION = 2048, 2**24
FAR = ("precision", "wavelengths", "hands")
EPILOG = """\
examples:
  ordinate plot sinusoidal --out heatmap.png                   50 positions, 100 of 512 dimensions
  ordinate plot sinusoidal --figure waves --out waves.svg      four of sixteen dimensions, fast to slow
  ordinate plot alibi --out bias.svg --language ru             bias against distance, one line a head
  ordinate plot rope --out scores.png --positions 512          how a score falls with the distance
  ordinate plot rope --figure wavelengths --out waves.png --positions 8192    which pairs never turn in 8192 tokens
  ordinate plot rope --figure hands --out hands.svg --positions 100        a query at 100 and a key 7 before it, as clock hands
  ordinate plot rope --figure precision --out precision.png    how wrong rounded angles get, up to position 2^20
"""


def add_parser(commands: Any) -> None:
    """Add the subcommand.

    Args:
        commands: what ``add_subparsers`` gave.
    """
    parser = commands.add_parser(
        "plot",
        help="draw a scheme: position vectors, waves, bias, scores by distance, or precision by position",
        description="Draw one figure of a scheme with usual settings; the figure says which.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help=f"the scheme: {', '.join(DRAWN)}")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .png or .svg file; an earlier one is replaced")
    parser.add_argument("--figure", choices=FIGURES, default=None, help="which figure (default: the one that suits the scheme)")
    parser.add_argument("--language", "--lang", choices=("en", "ru"), default="en", help="of the labels (default: en)")
    parser.add_argument(
        "--positions",
        type=_positions,
        default=None,
        metavar="N",
        help="the first N positions (scores: distances below N; wavelengths: trained length; hands: the query's position)",
    )
    parser.add_argument(
        "--dimensions",
        type=_dimensions,
        default=None,
        metavar="N",
        help="the first N dimensions, or a list such as 0,4,8 (heatmap and waves)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check everything, then draw and write.

    Args:
        options: from the parser.

    Returns:
        0, or 2 for bad input.
    """
    try:
        figure = _prepare(options)
        if options.dimensions is not None and figure not in ("heatmap", "waves"):
            print(f"ordinate plot: warning: --dimensions has no effect on {figure}", file=sys.stderr)
        from ordinate import plots

        plots.save(_draw(options, figure), options.out)
    except (ImportError, ValueError) as fault:
        return _refuse(str(fault))
    except OSError as error:
        return _refuse(f"--out: needed a file that can be written, got {options.out} ({error.strerror or error})")
    print(f"written: {options.out}")
    return 0


def _prepare(options: argparse.Namespace) -> str:
    """Refuse what cannot be drawn or written before anything is computed.

    Args:
        options: from the parser.

    Returns:
        The figure's name.

    Raises:
        ValueError: if the scheme has no picture, the figure does not fit it, or the file has no place.
    """
    from ordinate.plots.canvas import kind_of
    from ordinate.schemes import require_name

    name = require_name(options.name)
    if name not in DRAWN:
        raise ValueError(f"{name}: needed a scheme that adds positions, so that there is something to draw; {', '.join(DRAWN)} do")
    fitting = DRAWN[name]
    if options.figure is not None and options.figure not in fitting:
        raise ValueError(f"--figure: needed one that fits {name} ({', '.join(fitting)}), got {options.figure}")
    kind_of(options.out, name="--out")
    if not options.out.parent.is_dir():
        raise ValueError(f"--out: needed a folder that exists, got {options.out.parent}; make it first")
    figure: str = options.figure or fitting[0]
    if options.positions is not None and figure not in FAR and options.positions > MOST_POSITIONS:
        raise ValueError(f"--positions: needed at most {MOST_POSITIONS} for {figure}, got {options.positions}")
    return figure


def _draw(options: argparse.Namespace, figure: str) -> Figure:
    import torch

    from ordinate import plots
    from ordinate.catalogue import build
    from ordinate.plots.texts import texts

    n_heads = N_HEADS.get(options.name, 8)
    d_model = WAVES_WIDTH if figure == "waves" else HEAD_DIM * n_heads
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        parts = build(options.name, d_model=d_model, n_heads=n_heads, max_length=MAX_LENGTH, causal=False)
    scheme: Any = parts.input_scheme or parts.attention_scheme
    asked: dict[str, Any] = {"language": options.language}
    if figure == "wavelengths":
        asked["trained"] = options.positions or TRAINED
    elif figure == "hands":
        asked["position"] = options.positions or HANDS_AT
        asked["key"] = max(asked["position"] - HANDS_APART, 0)
    elif options.positions is not None and figure == "scores":
        asked["distances"] = options.positions - 1
    elif options.positions is not None:
        asked["positions"] = options.positions
    if options.dimensions is not None and figure in ("heatmap", "waves"):
        asked["dimensions"] = options.dimensions
    draws: dict[str, Any] = {
        "heatmap": plots.heatmap,
        "waves": plots.waves,
        "bias": plots.bias,
        "scores": plots.scores_by_distance,
        "precision": plots.precision,
        "wavelengths": plots.wavelengths,
        "hands": plots.clock_hands,
    }
    drawn: Figure = draws[figure](scheme, **asked)
    if next(scheme.parameters(), None) is not None and not (options.name == "shaw" and figure == "bias"):
        drawn.supxlabel(f"{drawn.get_supxlabel()}: {texts(options.language)['untrained']}", fontsize=7.5, color="#606060")
    return drawn


def _refuse(reason: str) -> int:
    print(f"ordinate plot: {reason}", file=sys.stderr)
    return 2


def _positions(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 2 <= int(text) <= MOST_FOR_PRECISION):
        raise argparse.ArgumentTypeError(f"needed a whole number from 2 to {MOST_FOR_PRECISION}, got {text[:40]!r}")
    return int(text)


def _dimensions(text: str) -> int | list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts) or parts == ["0"]:
        raise argparse.ArgumentTypeError(f"needed a whole number >= 1, or a list such as 0,4,8, got {text[:40]!r}")
    return int(parts[0]) if len(parts) == 1 else [int(part) for part in parts]
