"""The clock hands stand where plain mathematics says, and the entries of a dial are those that the scheme turns."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
import torch
from matplotlib.patches import Arc, Wedge

from ordinate import ALiBi, Rope, plots
from ordinate.scaling import Linear


def hands_of(dial: Any) -> list[tuple[float, float]]:
    """Angle clockwise from twelve and length of every hand, as drawn."""
    found = []
    for line in dial.lines:
        if not line.get_label().startswith("_"):
            (x0, x), (y0, y) = line.get_data()
            assert (x0, y0) == (0, 0)
            found.append((math.atan2(x, y), math.hypot(x, y)))
    return found


def apart(first: float, second: float) -> float:
    return abs(math.remainder(first - second, 2 * math.pi))


def exact(position: float, pair: int, width: int, base: float) -> float:
    """The angle of a pair, from mpmath."""
    with mpmath.workdps(40):
        return float(mpmath.fmod(mpmath.mpf(position) * mpmath.power(base, -mpmath.mpf(2 * pair) / width), 2 * mpmath.pi))


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(("query", "key"), [(20, 13), (0, 5), (131071, 131000), (2.5, -3)])
def test_hands_stand_at_position_times_frequency(layout: Any, query: float, key: float) -> None:
    figure = plots.clock_hands(Rope(head_dim=16, layout=layout, base=500.0), position=query, key=key, pairs=8)
    assert len(figure.axes) == 8
    for pair, dial in enumerate(figure.axes):
        (angle, length), (other, same) = hands_of(dial)
        assert apart(angle, exact(query, pair, 16, 500.0)) < 2e-7
        assert apart(other, exact(key, pair, 16, 500.0)) < 2e-7
        assert length == pytest.approx(same)


def test_one_token_has_one_hand_and_four_dials() -> None:
    figure = plots.clock_hands(Rope(head_dim=16, layout="half"), position=3)
    assert [dial.get_title() for dial in figure.axes] == [
        "pair 0: entries 0, 8",
        "pair 2: entries 2, 10",
        "pair 4: entries 4, 12",
        "pair 6: entries 6, 14",
    ]
    assert [len(hands_of(dial)) for dial in figure.axes] == [1, 1, 1, 1]
    assert [dial.texts[0].get_text() for dial in figure.axes] == [f"a turn in {n} tokens" for n in ("6.28", "62.8", "628", "6,283")]


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_named_entries_are_those_that_turn_together(layout: Any) -> None:
    rope = Rope(head_dim=12, layout=layout, rotary_dim=8, rotary_start=2)
    figure = plots.clock_hands(rope, position=1, pairs=4)
    for pair, dial in enumerate(figure.axes):
        first, second = map(int, dial.get_title().partition("entries ")[2].split(", "))
        x = torch.zeros(1, 1, 1, 12)
        x[..., first] = 1.0
        turned = rope.queries(x, rope.at(range(1, 2)))[0, 0, 0].double()
        assert turned[second].item() == pytest.approx(math.sin(10000.0 ** (-2 * pair / 8)), abs=1e-7)
        assert turned.abs().sum().item() == pytest.approx(turned[first].abs().item() + turned[second].abs().item())


def test_equal_shifts_leave_what_is_between() -> None:
    rope = Rope(head_dim=8, layout="half")
    drawn = [plots.clock_hands(rope, position=20 + shift, key=13 + shift, pairs=4) for shift in (0, 31, 1000)]
    below = [[dial.texts[0].get_text().splitlines()[1] for dial in figure.axes] for figure in drawn]
    assert below[0] == below[1] == below[2]
    degrees = [math.degrees(math.remainder(7 * 10000.0 ** (-pair / 4), 2 * math.pi)) for pair in range(4)]
    assert below[0] == [f"between the hands {value:+.1f}°" for value in degrees]
    assert drawn[0].axes[0].lines[0].get_xdata()[1] != drawn[1].axes[0].lines[0].get_xdata()[1]


def test_the_sector_lies_between_the_hands_the_short_way() -> None:
    (dial,) = plots.clock_hands(Rope(head_dim=2, layout="half"), position=0, key=6).axes
    (sector,) = [patch for patch in dial.patches if isinstance(patch, Wedge)]
    assert sector.theta2 - sector.theta1 == pytest.approx(math.degrees(2 * math.pi - 6), abs=1e-4)
    middle = math.radians((sector.theta1 + sector.theta2) / 2)
    assert math.sin(middle) > 0.9, "both hands are near twelve"
    (back,) = plots.clock_hands(Rope(head_dim=2, layout="half"), position=0, key=1).axes
    assert back.texts[0].get_text().endswith("−57.3°")
    (across,) = plots.clock_hands(Rope(head_dim=2, layout="half"), position=3, key=-3).axes
    assert across.texts[0].get_text().endswith("−16.2°"), "6 radians are a turn less 16.2 degrees"


@pytest.mark.parametrize(("position", "ends"), [(1, (90 - math.degrees(1), 90)), (7, (-270, 90)), (-1, (90, 90 + math.degrees(1)))])
def test_the_rim_shows_the_first_turn(position: float, ends: tuple[float, float]) -> None:
    (dial,) = plots.clock_hands(Rope(head_dim=2, layout="half"), position=position).axes
    (rim,) = [patch for patch in dial.patches if isinstance(patch, Arc)]
    assert (rim.theta1, rim.theta2) == pytest.approx(ends)


def test_a_rule_slows_the_hands_and_a_sign_turns_them_round() -> None:
    (slow,) = plots.clock_hands(Rope(head_dim=2, layout="half", scaling=Linear(factor=4.0)), position=2).axes
    assert hands_of(slow)[0][0] == pytest.approx(0.5, abs=1e-6)
    assert slow.texts[0].get_text() == "a turn in 25.1 tokens"
    (back,) = plots.clock_hands(Rope(head_dim=2, layout="half", sign=-1), position=1).axes
    assert hands_of(back)[0][0] == pytest.approx(-1.0, abs=1e-6)


def test_a_pair_that_stands_still_says_so() -> None:
    figure = plots.clock_hands(Rope(head_dim=4, layout="half", inverse_frequencies=(1.0, 0.0)), position=5)
    assert figure.axes[1].texts[0].get_text() == "stands still"
    assert hands_of(figure.axes[1])[0][0] == 0.0


def test_fast_hands_are_long_and_thin_like_second_hands() -> None:
    dials = plots.clock_hands(Rope(head_dim=16, layout="half"), position=3, pairs=[0, 3, 7]).axes
    lengths, widths = zip(*[(hands_of(dial)[0][1], dial.lines[0].get_linewidth()) for dial in dials], strict=True)
    assert lengths[0] > lengths[1] > lengths[2]
    assert widths[0] < widths[1] < widths[2]


def test_words_are_in_the_language() -> None:
    figure = plots.clock_hands(Rope(head_dim=4, layout="half"), position=3, key=1, language="ru")
    assert figure.get_suptitle() == "RoPE: пары как стрелки часов, от быстрых к медленным"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["запрос в позиции 3", "ключ в позиции 1"]
    assert figure.axes[1].get_title() == "пара 1: измерения 1, 3"


@pytest.mark.parametrize(
    ("position", "english", "russian"),
    [
        (1234567, "1,234,567", "1\u00a0234\u00a0567"),
        (1234560, "1,234,560", "1\u00a0234\u00a0560"),
        (-0.5, "\u22120.5", "\u22120.5"),
        (-1234567.25, "\u22121,234,567.25", "\u22121\u00a0234\u00a0567.25"),
        (Fraction(1, 4), "0.25", "0.25"),
        (Fraction(1, 3), "0.3333333333333333", "0.3333333333333333"),
    ],
)
def test_positions_are_written_in_full(position: Any, english: str, russian: str) -> None:
    rope = Rope(head_dim=2, layout="half")
    for language, said in (("en", f"query at {english}"), ("ru", f"запрос в позиции {russian}")):
        figure = plots.clock_hands(rope, position=position, key=position, language=language)
        query, key = (text.get_text() for text in figure.legends[0].get_texts())
        assert query == said
        assert key.endswith(said.rpartition(" ")[2])


def test_the_default_device_has_no_say() -> None:
    rope = Rope(head_dim=2, layout="half")
    with torch.device("meta"):
        (dial,) = plots.clock_hands(rope, position=1).axes
    assert hands_of(dial)[0][0] == pytest.approx(1.0, abs=1e-6)


def test_the_slowest_pairs_fit_their_dials() -> None:
    rope = Rope(head_dim=6, layout="half", inverse_frequencies=(1.0, 1e-9, 1e-300))
    below = [dial.texts[0].get_text() for dial in plots.clock_hands(rope, position=1).axes]
    assert below == ["a turn in 6.28 tokens", "a turn in 6.28e+09 tokens", "a turn in 6.28e+300 tokens"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"position": math.nan}, "position: needed a finite number, got"),
        ({"position": "3"}, "position: needed a finite number, got"),
        ({"position": 1, "key": math.inf}, "key: needed a finite number, got"),
        ({"position": 1, "pairs": 9}, "pairs: needed 1 to 8"),
        ({"position": 1, "pairs": [32]}, "pairs: needed numbers 0..31, got 32"),
        ({"position": 1, "language": "de"}, "language"),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plots.clock_hands(Rope(head_dim=64, layout="half"), **arguments)


def test_only_a_rope_has_hands() -> None:
    scheme: Any = ALiBi(n_heads=2, slopes="paper")
    with pytest.raises(TypeError, match=r"clock_hands: needed a Rope, got .*ALiBi"):
        plots.clock_hands(scheme, position=1)
