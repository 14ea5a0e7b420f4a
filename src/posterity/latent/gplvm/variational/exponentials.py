"""exp of many numbers that are not positive, at the speed of vector instructions.

The exponential of the C library is called for one number at a time, and takes four times as long.
"""

from __future__ import annotations

import math

import numpy as np

from posterity import compilation
from posterity.arrays import Array

_LOG2_E = 1.4426950408889634
_LOG_2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)  # its leading bits, and the rest
_ROUNDER = 1.5 * 2.0**52  # added, the last bits of the sum hold the nearest whole number
_LEAST = -708.0  # below, exp is no normal number
_C = tuple(1.0 / math.factorial(k) for k in range(14))


@compilation.compile_at_first_call
def exponentiate(x: Array, powers: Array) -> None:
    """Replace each x <= 0 by exp(x), to one unit of the last digit; by about 1e-308 below -708.

    exp(x) = 2^k exp(r), where k is whole and r, between -log(2) / 2 and log(2) / 2, small enough
    for a Taylor polynomial. Three loops without branches, each of which compiles to vector
    instructions; ``powers`` is memory of the size of x.
    """
    for i in range(x.size):
        t = max(x[i], _LEAST)
        powers[i] = t * _LOG2_E + _ROUNDER
        k = powers[i] - _ROUNDER
        r = (t - k * _LOG_2[0]) - k * _LOG_2[1]
        p = _C[13] * r + _C[12]
        p = ((p * r + _C[11]) * r + _C[10]) * r + _C[9]
        p = ((p * r + _C[8]) * r + _C[7]) * r + _C[6]
        p = ((p * r + _C[5]) * r + _C[4]) * r + _C[3]
        x[i] = ((p * r + _C[2]) * r + 1.0) * r + 1.0
    bits = powers.view(np.int64)
    for i in range(bits.size):
        bits[i] = (bits[i] + 1023) << 52  # k as the exponent of a double: 2^k
    for i in range(x.size):
        x[i] *= powers[i]
