"""exp and log that the compiler can vectorise.

numba's own ``math.exp`` and ``math.log`` call the C library one number at a time, which makes them
the whole cost of the relaxed likelihood. These are short polynomials on bit casts: no branches and
no calls, so a loop over an array becomes SIMD code. Both are accurate to about 2e-16 relative
(`tests/model/test_vector_math.py`). Their own fast-math flags allow fused multiply-add and no
more (numba would otherwise hand down the caller's flags): reassociation cancels the rounding
constants. LLVM keeps the flags per instruction when it inlines them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# Adding 1.5 * 2^52 leaves the nearest whole number in the low bits of the sum.
_ROUND = 6755399441055744.0
_ROUND_BITS = 0x4338000000000000
_LOG2_E = 1.4426950408889634
# ln 2 in two parts: k * _LN2_HIGH is exact for |k| < 2^20, so the reduced argument is too.
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10
# Clamp: above, the result would overflow; below (1e-300), products with it would become denormal
# numbers, which cost a hundred cycles each.
_EXP_LOWEST = -690.0
_EXP_HIGHEST = 709.0

_TWO_52 = 4503599627370496.0
_TWO_52_BITS = 0x4330000000000000
_ONE_BITS = 0x3FF0000000000000
_MANTISSA = 0x000FFFFFFFFFFFFF
# Bits of sqrt(1/2): subtracting them splits x = 2^k m with m in [sqrt(1/2), sqrt(2)).
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


def _to_bits_in_llvm(typing_context: Any, x: Any) -> Any:  # noqa: ARG001
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


def _from_bits_in_llvm(typing_context: Any, bits: Any) -> Any:  # noqa: ARG001
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


def _exponent_in_llvm(typing_context: Any, bits: Any) -> Any:  # noqa: ARG001
    # A logical shift: AVX2 has no arithmetic one for 64-bit lanes, which would stop vectorisation.
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.lshr(args[0], ir.Constant(ir.IntType(64), 52))

    return types.int64(types.int64), codegen


_to_bits: Any = intrinsic(_to_bits_in_llvm)
_from_bits: Any = intrinsic(_from_bits_in_llvm)
_exponent: Any = intrinsic(_exponent_in_llvm)


@njit(fastmath={"contract"}, error_model="numpy")
def exp(x: float) -> float:
    """Return e**x; x below -690 or above 709 is clamped to that bound."""
    x = min(max(x, _EXP_LOWEST), _EXP_HIGHEST)
    shifted = x * _LOG2_E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    # 1 + r + r^2 e(r); e interpolated at Chebyshev nodes of |r| <= ln(2)/2, error below 2e-17.
    p = 2.5100346984799912e-08
    p = p * r + 2.7620138026591136e-07
    p = p * r + 2.7557268603118955e-06
    p = p * r + 2.4801521192375694e-05
    p = p * r + 0.00019841269862888047
    p = p * r + 0.0013888888917279836
    p = p * r + 0.008333333333330131
    p = p * r + 0.041666666666624
    p = p * r + 0.16666666666666669
    p = p * r + 0.5000000000000001
    p = p * r + 1.0
    p = p * r + 1.0
    return _from_bits(_to_bits(p) + ((_to_bits(shifted) - _ROUND_BITS) << 52))


@njit(fastmath={"contract"}, error_model="numpy")
def log(x: float) -> float:
    """Return the natural logarithm of a positive normal number."""
    # The bias of 1023 keeps the exponent positive, so that it can be cast through a mantissa.
    bits = _to_bits(x) + (_ONE_BITS - _SQRT_HALF_BITS)
    k = _from_bits(_exponent(bits) | _TWO_52_BITS) - (_TWO_52 + 1023.0)
    m = _from_bits((bits & _MANTISSA) + _SQRT_HALF_BITS)
    f = m - 1.0
    s = f / (2.0 + f)
    s2 = s * s
    # 2 atanh(s) = 2 s (1 + s^2 p(s^2)); p interpolated at Chebyshev nodes, error below 5e-18.
    p = 0.07308906554736151
    p = p * s2 + 0.07665805624739126
    p = p * s2 + 0.09091446223136075
    p = p * s2 + 0.11111105544601692
    p = p * s2 + 0.1428571431312739
    p = p * s2 + 0.19999999999949444
    p = p * s2 + 0.3333333333333335
    # f - s * (f - 2 s^2 p) keeps the leading term exact near m = 1.
    return k * _LN2_HIGH + (f - (s * (f - 2.0 * s2 * p) - k * _LN2_LOW))
