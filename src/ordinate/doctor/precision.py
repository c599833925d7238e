"""What a dtype has left of positions and angles at the declared maximum."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ordinate.doctor.finding import Diagnosis, diagnosis
from ordinate.doctor.rotations import Rotation

# Bits of the significand, the hidden one counted, and the largest number.
DTYPES = {"bfloat16": (8, 3.3e38), "float16": (11, 65504.0), "float32": (24, 3.4e38)}


def angle_error(dtype: str, length: int, frequency: float = 1.0) -> float | None:
    """Give the largest error of an angle at the last position, if positions, frequency and product are kept in a dtype.

    angle = (length - 1) frequency, of exponent e = floor(log2 angle): half a unit in the last place is 2^(e - bits), with the
    8, 11 or 24 bits of the significand; beyond pi nothing is left of the angle.

    Args:
        dtype: "bfloat16", "float16" or "float32".
        length: of the sequence.
        frequency: radians a position.

    Returns:
        Radians, at most pi; None if the dtype does not reach the angle.

    Example:
        >>> angle_error("float32", 131073), angle_error("float16", 131072)
        (0.0078125, None)
    """
    bits, largest = DTYPES[dtype]
    angle = (length - 1) * frequency
    if angle > largest:
        return None
    return 0.0 if angle == 0 else min(2.0 ** (math.frexp(angle)[1] - 1 - bits), math.pi)


def merged(dtype: str, length: int) -> int | None:
    """Give how many neighbouring positions are one number of a dtype at the end of a sequence.

    Whole numbers from 2^k to 2^(k + 1) have a spacing of 2^(k + 1 - bits) where that is above 1.

    Args:
        dtype: "bfloat16", "float16" or "float32".
        length: of the sequence.

    Returns:
        1 if all differ; None if the dtype does not reach the last position.

    Example:
        >>> [merged("bfloat16", length) for length in (256, 4096, 131072)]
        [1, 16, 512]
    """
    bits, largest = DTYPES[dtype]
    return None if length - 1 > largest else 1 << max((length - 1).bit_length() - bits, 0)


def at_maximum(found: Rotation, dtype: object) -> Iterator[Diagnosis]:
    """Say what the declared dtype loses at the declared maximum.

    Args:
        found: a rotation.
        dtype: that the file declares, if it does.

    Yields:
        A note.

    Example:
        >>> found = Rotation(where="", base=1e4, head_dim=64, rotary_dim=64, rule=None, max_length=4096, layout=None, layers=())
        >>> next(at_maximum(found, "bfloat16")).evidence
        'angles off by up to 3.14 rad; 16 neighbouring positions are one number'
    """
    name = str(dtype).removeprefix("torch.") if isinstance(dtype, str) else "float32"
    length = found.max_length
    if name not in DTYPES or length is None or length < 2:
        return
    error, same = angle_error(name, length, max(found.frequencies())), merged(name, length)
    off = "angles overflow" if error is None else f"angles off by up to {error:.3g} rad"
    told = (
        "positions overflow"
        if same is None
        else f"{same} neighbouring positions are one number"
        if same > 1
        else "no positions merge"
    )
    if error is None or error > 1e-4:
        yield diagnosis(
            "ORD203",
            f"at position {length - 1}, positions and angles kept in {name} would lose bits",
            where=found.where,
            evidence=f"{off}; {told}",
        )
