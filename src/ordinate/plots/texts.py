"""All that the figures say, in English and in Russian."""

from __future__ import annotations

from ordinate.checks import one_of

TEXTS: dict[str, dict[str, str]] = {
    "en": {
        "position": "position (tokens)",
        "dimension": "dimension of the vector",
        "value": "value",
        "query": "query position (tokens)",
        "key": "key position (tokens)",
        "distance": "distance = key position − query position (tokens)",
        "past": "← past",
        "future": "future →",
        "past_side": "past",
        "future_side": "future",
        "vectors_of_sinusoidal": "Sinusoidal position vectors",
        "vectors_of_learned": "Learned position vectors",
        "vectors_of_any": "Position vectors",
        "heatmap": "{vectors}: {rows} positions, {columns} of {width} dimensions",
        "waves": "{vectors}: dimensions {columns} of {width}",
        "waves_legend": "wavelength in positions",
        "wave": "dimension {dimension}, {kind}: {length}",
        "no_wave": "dimension {dimension}",
        "sin": "sine",
        "cos": "cosine",
        "bias_title": "{name}: bias by distance",
        "bias": "bias added to the score before softmax",
        "head": "head {head}",
        "head_slope": "head {head}, slope {slope}",
        "head_matrix": "Head {head}: one row a query, one column a key",
        "rows_title": "{name}: the table's row that each distance reads",
        "row": "row of the table",
        "row_matrix": "The row for every query and key",
        "scores_title": "{name}: score by distance",
        "rotated": "q · k for q = k = (1, …, 1) / √{width}",
        "added": "added to the score",
        "added_content": "added to the score for q = (1, …, 1) / √{width}",
        "vectors_title": "{name}: dot product of position vectors by distance",
        "vectors": "P[pos] · P[pos + distance]",
        "mean": "mean over\nall positions",
        "spread": "from smallest\nto largest",
        "precision_title": "{name}: error of cosine and sine by position",
        "precision": "largest absolute error up to the position",
        "exact_angles": "exact",
        "float32_angles": "angles in float32",
        "bfloat16_positions": "positions in bfloat16",
        "float16_positions": "positions in float16",
        "bfloat16_frequencies": "frequencies in bfloat16",
        "float16_frequencies": "frequencies in float16",
        "wavelengths_title": "{name}: wavelengths against the trained length",
        "wavelength": "wavelength",
        "wavelength_ruled": "wavelength under the rule",
        "wavelength_plain": "without the rule",
        "wavelength_axis": "tokens for a full turn",
        "trained_length": "trained length, {length} tokens",
        "pair": "pair of entries, fast to slow",
        "clock_title": "{name}: pairs as clock hands, fast to slow",
        "hand": "the token at {position}",
        "query_hand": "query at {position}",
        "key_hand": "key at {position}",
        "dial": "pair {pair}: entries {first}, {second}",
        "dial_turn": "a turn in {length} tokens",
        "dial_still": "stands still",
        "dial_between": "between the hands {degrees}°",
        "untrained": "random initial weights, before any training",
    },
    "ru": {
        "position": "позиция (токены)",
        "dimension": "измерение вектора",
        "value": "значение",
        "query": "позиция запроса (токены)",
        "key": "позиция ключа (токены)",
        "distance": "расстояние = позиция ключа − позиция запроса (токены)",
        "past": "← прошлое",
        "future": "будущее →",
        "past_side": "прошлое",
        "future_side": "будущее",
        "vectors_of_sinusoidal": "Синусоидальные позиционные векторы",
        "vectors_of_learned": "Выученные позиционные векторы",
        "vectors_of_any": "Позиционные векторы",
        "heatmap": "{vectors}: позиций — {rows}, измерений — {columns} из {width}",
        "waves": "{vectors}: измерения {columns} из {width}",
        "waves_legend": "длина волны в позициях",
        "wave": "измерение {dimension}, {kind}: {length}",
        "no_wave": "измерение {dimension}",
        "sin": "синус",
        "cos": "косинус",
        "bias_title": "{name}: смещение в зависимости от расстояния",
        "bias": "смещение, прибавляемое к оценке до softmax",
        "head": "голова {head}",
        "head_slope": "голова {head}, наклон {slope}",
        "head_matrix": "Голова {head}: строка — запрос, столбец — ключ",
        "rows_title": "{name}: строка таблицы, которую читает каждое расстояние",
        "row": "строка таблицы",
        "row_matrix": "Строка для каждого запроса и ключа",
        "scores_title": "{name}: оценка в зависимости от расстояния",
        "rotated": "q · k при q = k = (1, …, 1) / √{width}",
        "added": "прибавка к оценке",
        "added_content": "прибавка к оценке при q = (1, …, 1) / √{width}",
        "vectors_title": "{name}: скалярное произведение позиционных векторов",
        "vectors": "P[pos] · P[pos + расстояние]",
        "mean": "среднее по\nвсем позициям",
        "spread": "от наименьшего\nдо наибольшего",
        "precision_title": "{name}: ошибка косинуса и синуса в зависимости от позиции",
        "precision": "наибольшая абсолютная ошибка до этой позиции",
        "exact_angles": "точно",
        "float32_angles": "углы в float32",
        "bfloat16_positions": "позиции в bfloat16",
        "float16_positions": "позиции в float16",
        "bfloat16_frequencies": "частоты в bfloat16",
        "float16_frequencies": "частоты в float16",
        "wavelengths_title": "{name}: длины волн и длина обучения",
        "wavelength": "длина волны",
        "wavelength_ruled": "длина волны с правилом",
        "wavelength_plain": "без правила",
        "wavelength_axis": "токенов на полный оборот",
        "trained_length": "длина обучения, {length} токенов",
        "pair": "пара измерений, от быстрых к медленным",
        "clock_title": "{name}: пары как стрелки часов, от быстрых к медленным",
        "hand": "токен в позиции {position}",
        "query_hand": "запрос в позиции {position}",
        "key_hand": "ключ в позиции {position}",
        "dial": "пара {pair}: измерения {first}, {second}",
        "dial_turn": "оборот за {length} токенов",
        "dial_still": "стоит на месте",
        "dial_between": "между стрелками {degrees}°",
        "untrained": "случайные начальные веса, до обучения",
    },
}


# From here on a number is written by its power of ten.
LONGEST = 1e9
# As the papers write them, where the classes are named otherwise.
NAMES = {"Rope": "RoPE", "T5Bias": "T5", "Deberta": "DeBERTa"}


def texts(language: str) -> dict[str, str]:
    """Give the figures' texts.

    Args:
        language: "en" or "ru".

    Returns:
        A text for every name.

    Raises:
        ValueError: for any other language.

    Example:
        >>> texts("ru")["past_side"]
        'прошлое'
    """
    one_of("language", language, tuple(TEXTS))
    return TEXTS[language]


def number(value: float, language: str) -> str:
    """Write a number with three significant digits, whole from 1000 to 10^9, the thousands apart as the language has them.

    Args:
        value: at least 0.
        language: "en" or "ru"; both keep the decimal point, as the course notes do.

    Returns:
        A short text.

    Example:
        >>> number(6.2832, "en"), number(19869.1, "en"), number(0.00390625, "ru"), number(6.2832e300, "en")
        ('6.28', '19,869', '0.00391', '6.28e+300')
    """
    if not 999.5 <= value < LONGEST:
        return f"{value:.3g}"
    return _grouped(f"{value:,.0f}", language)


def place(position: float, language: str) -> str:
    """Write a position in full, so that two of them never look alike.

    Args:
        position: whole or fractional, of either sign.
        language: "en" or "ru".

    Returns:
        All its digits, the thousands apart.

    Example:
        >>> place(1234567, "en"), place(-2.5, "en")
        ('1,234,567', '−2.5')
    """
    sign, written = "−" if position < 0 else "", repr(abs(float(position)))
    if "e" in written:  # further than any text, or nearer to 0 than to any token
        return sign + written
    whole, _, rest = written.partition(".")
    return sign + _grouped(f"{int(whole):,}", language) + ("" if rest == "0" else f".{rest}")


def _grouped(text: str, language: str) -> str:
    return text if language == "en" else text.replace(",", "\u00a0")


def name_of(scheme: object) -> str:
    """Name a scheme in a title, as its paper does.

    Args:
        scheme: any.

    Returns:
        A name, the same in all languages.

    Example:
        >>> from ordinate import Rope
        >>> name_of(Rope(head_dim=2, layout="half"))
        'RoPE'
    """
    name = type(scheme).__name__
    return NAMES.get(name, name)
