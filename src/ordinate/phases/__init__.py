"""Position x frequency -> cos and sin: exact, or in float32 as checkpoints were trained.

    cos(p w), sin(p w)      p = position, w = inverse frequency in radians a position

Exact recipe. A frequency is one Python int, round(w / (2 pi) 2^128): turns a position, in units of 2^-128 turn. It is cut into two
pieces of 26 bits and a float64 rest; a position into p = 2^26 high + low (26 bits each). Every product that matters then fits in
the 53 bits of a float64, so whole turns drop out without rounding:

    s = low a1 + low a2 + high b1 + high b2   (mod 1 turn, exact, a multiple of 2^-52)
    x = s - quadrant / 4 + (low a3 + high b3)

with a = pieces of the frequency, b = pieces of 2^26 times the frequency. The error of x is below 2^-78 turn for |p| < 2^53. The
cos and sin of |2 pi x| <= pi / 4 are taken in float64 and rounded once: 0.51 ulp of float32 for |p| < 2^48, also next to the zeros
of cos and sin. There is no integer overflow (undefined in compiled C++) and no product that a fused multiply-add could change.
Fractional positions lose nothing but next to a zero, where values below 1e-12 are within 2e-20.
"""

from __future__ import annotations

from ordinate.phases.frequencies import Frequencies as Frequencies
from ordinate.phases.frequencies import Phases as Phases
from ordinate.phases.frequencies import float32_from_base as float32_from_base
from ordinate.phases.frequencies import from_base as from_base
from ordinate.phases.frequencies import from_values as from_values
from ordinate.phases.frequencies import gathered as gathered
from ordinate.phases.frequencies import negated as negated
from ordinate.phases.recipe import exact as exact
from ordinate.phases.recipe import float32 as float32
