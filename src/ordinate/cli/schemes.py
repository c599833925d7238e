"""``ordinate schemes``: where each scheme is applied, what it costs, how far it reaches and what it encodes."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import TYPE_CHECKING, Any

from ordinate.cli.columns import aligned

if TYPE_CHECKING:
    from ordinate.catalogue import SchemeRow


HEADINGS = {
    "en": ("name", "applied at", "parameters", "number", "maximum length", "encodes"),
    "ru": ("имя", "где применяется", "параметры", "число", "максимальная длина", "что кодирует"),
}
RUSSIAN = {
    "nowhere": "нигде",
    "input": "прибавляется ко входу",
    "queries and keys": "запросы и ключи",
    "scores": "оценки внимания",
    "none": "нет",
    "none in principle": "в принципе нет",
    "none; reaches beyond training": "нет; действует и за пределами обучения",
    "none; far distances share a bucket": "нет; дальние расстояния делят корзину",
    "none; far distances share a vector": "нет; дальние расстояния делят вектор",
    "the training grid, extendable": "обучающая сетка, расширяемая",
    "the training length, extendable": "обучающая длина, расширяемая",
    "nothing": "ничего",
    "absolute position": "абсолютную позицию",
    "absolute position, with shift structure": "абсолютную позицию со структурой сдвига",
    "each coordinate, in the dot product; not the distance alone": (
        "каждую координату в скалярном произведении, а не одно расстояние"
    ),
    "relative shift": "относительный сдвиг",
    "relative shift, as a penalty": "относительный сдвиг, как штраф",
    "relative shift along each axis, in the dot product": "относительный сдвиг по каждой оси в скалярном произведении",
    "relative shift in time, rows and columns, in the dot product": (
        "относительный сдвиг во времени, по строкам и столбцам в скалярном произведении"
    ),
    "relative shift, by content": "относительный сдвиг, в зависимости от содержимого",
    "relative shift, in the dot product": "относительный сдвиг в скалярном произведении",
}
NOTE = {
    "en": "number: learned numbers of one table, for d_model {d_model}, {n_heads} heads, max_length {max_length}",
    "ru": "число: выученные числа одной таблицы при d_model {d_model}, {n_heads} головах, max_length {max_length}",
}


def add_parser(commands: Any) -> None:
    """Add the subcommand.

    Args:
        commands: what ``add_subparsers`` gave.
    """
    parser = commands.add_parser(
        "schemes",
        help="list every scheme: where it is applied, parameters, maximum length, what it encodes",
        description="Compare all schemes, from their classes.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, sources included")
    parser.add_argument("--language", "--lang", choices=tuple(HEADINGS), default="en", help="of the table (default: en)")
    parser.add_argument("--d-model", type=int, default=768, help="width that numbers are counted for (default: 768)")
    parser.add_argument("--n-heads", type=int, default=12, help="heads that numbers are counted for (default: 12)")
    parser.add_argument("--max-length", type=int, default=512, help="length that numbers are counted for (default: 512)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table.

    Args:
        options: from the parser.

    Returns:
        0, or 2 for bad input.
    """
    from ordinate.catalogue import schemes_table

    sizes = {"d_model": options.d_model, "n_heads": options.n_heads, "max_length": options.max_length}
    try:
        rows = schemes_table(**sizes)
    except ValueError as fault:
        print(f"ordinate schemes: {fault}", file=sys.stderr)
        return 2
    if options.json:
        if options.language != "en":
            print("ordinate schemes: warning: --language has no effect on --json", file=sys.stderr)
        print(json.dumps([dataclasses.asdict(row) for row in rows], indent=1))
        return 0
    said = RUSSIAN if options.language == "ru" else {}
    cells = [_cells(row, said) for row in rows]
    print("\n".join(aligned([HEADINGS[options.language], *cells])))
    print("\n" + NOTE[options.language].format(**sizes))
    return 0


def _cells(row: SchemeRow, said: dict[str, str]) -> tuple[str, ...]:
    applied, longest, encodes = (said.get(text, text) for text in (row.applied, row.max_length, row.encodes))
    return row.name, applied, row.parameters, f"{row.count:,}".replace(",", " "), longest, encodes
