#!/usr/bin/env python3
"""Fits the polynomials of simd_math-inl.h: prints coefficients and the worst error of each.

Minimax fits by Lawson's method: least squares on a dense grid, each point weighted again and again
by its error until the largest errors are equal. Needs numpy only.
"""

import math

import numpy as np

UNIT = 2.0**-24  # half a unit in the last place of a float just above a power of two


def grid(low, high, count=2001):
    k = np.arange(count)
    points = (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (2 * k + 1) / (2 * count))
    return np.sort(points.astype(np.longdouble))


def fit(basis, target, scale, rounds=500, rate=1.0):
    """Coefficients c that minimise max |basis @ c - target| / scale, and that maximum."""
    weight = np.ones(len(target))
    best = (np.inf, None)
    columns = np.abs(basis).max(axis=0)
    for _ in range(rounds):
        row = np.sqrt(weight) / scale
        a = (basis / columns * row[:, None]).astype(float)
        c = np.linalg.lstsq(a, (target * row).astype(float), rcond=1e-17)[0] / columns.astype(float)
        error = np.abs(basis @ c - target) / scale
        if error.max() < best[0]:
            best = (error.max(), c)
        weight = weight * (error / error.max()).astype(float) ** rate
        weight /= weight.sum()
    return best


def powers(x, exponents):
    return np.stack([x**k for k in exponents], axis=1)


def show(name, result):
    error, c = result
    print(f"{name}: relative error {float(error) / UNIT:.3f} * 2^-24")
    print("   ", ", ".join(f"{np.float32(v):.9g}F" for v in c))


def fit_tanh(numerator, denominator, high):
    """x * P(x^2) / Q(x^2), both starting with 1, by fitting P - tanh(x)/x * (Q - 1) = tanh(x)/x."""
    x = np.concatenate([grid(0, high, 3000), grid(0, 2, 1500)])
    x = np.sort(x[x > 1e-4])
    u, y = x * x, np.tanh(x) / x
    basis = np.concatenate(
        [powers(u, range(1, numerator + 1)), -y[:, None] * powers(u, range(1, denominator + 1))],
        axis=1,
    )
    columns = np.abs(basis).max(axis=0)
    q, weight, best = np.ones_like(x), np.ones(len(x)), (np.inf, None)
    for _ in range(1500):
        row = np.sqrt(weight) / (y * q)
        a = (basis / columns * row[:, None]).astype(float)
        c = np.linalg.lstsq(a, ((y - 1) * row).astype(float), rcond=1e-17)[0] / columns.astype(
            float
        )
        p = 1 + powers(u, range(1, numerator + 1)) @ c[:numerator]
        q = 1 + powers(u, range(1, denominator + 1)) @ c[numerator:]
        error = np.abs(p / q - y) / y
        if error.max() < best[0]:
            best = (error.max(), c)
        weight = weight * (error / error.max()).astype(float) ** 0.7
        weight /= weight.sum()
    return best


def main():
    r = grid(-0.3470, 0.3470)
    show("exp(r) = 1 + r + r^2 P(r)", fit(powers(r, range(2, 7)), np.exp(r) - 1 - r, np.exp(r)))
    show("expm1(r) = r + r^2 P(r)", fit(powers(r, range(2, 7)), np.expm1(r) - r, np.abs(r)))
    f = grid(np.sqrt(0.5) - 1, np.sqrt(2) - 1, 2000)
    target = np.log1p(f) - f + f * f / 2
    show(
        "log(1 + f) = f - f^2/2 + f^3 P(f)",
        fit(powers(f, range(3, 11)), target, np.abs(np.log1p(f))),
    )
    show("tanh(x) = x P(x^2) / Q(x^2)", fit_tanh(5, 4, 8.5))
    erf, erfc = (np.vectorize(f, otypes=[np.longdouble]) for f in (math.erf, math.erfc))
    x = grid(0, 1, 500)
    x = x[x > 1e-3].astype(float)
    show("erf(x) = x P(x^2)", fit(powers(x, range(1, 15, 2)), erf(x), erf(x), rounds=200))
    x = grid(1, 4, 600).astype(float)
    show(
        "erfc(x) = exp(-Q(x))",
        fit(powers(x, range(8)), -np.log(erfc(x)), 1 / erfc(x), rounds=200),
    )
    t = grid(0, 0.5, 1000)
    t = t[t > 0]
    angle = np.longdouble(np.pi) / 2 * t
    show("sin(pi/2 t) = t P(t^2)", fit(powers(t, range(1, 9, 2)), np.sin(angle), np.sin(angle)))
    show(
        "cos(pi/2 t) = 1 + t^2 P(t^2)",
        fit(powers(t, range(2, 10, 2)), np.cos(angle) - 1, np.cos(angle)),
    )
    functions()


def functions():
    """simd_functions-inl.h. (The series of pow, lgamma and digamma need no fit.)"""
    r = grid(0, 0.7855, 1200)
    r = r[r > 1e-3]
    show("sin(r) = r + r^3 P(r^2)", fit(powers(r, range(3, 9, 2)), np.sin(r) - r, np.sin(r)))
    show(
        "cos(r) = 1 - r^2/2 + r^4 P(r^2)",
        fit(powers(r, range(4, 10, 2)), np.cos(r) - 1 + r * r / 2, np.cos(r)),
    )
    x = grid(0, 0.5, 1200)
    x = x[x > 1e-3]
    show(
        "asin(x) = x + x^3 P(x^2)",
        fit(powers(x, range(3, 13, 2)), np.arcsin(x) - x, np.arcsin(x)),
    )
    x = grid(0, 1, 1500)
    x = x[x > 1e-3]
    show(
        "atan(x) = x + x^3 P(x^2)",
        fit(powers(x, range(3, 19, 2)), np.arctan(x) - x, np.arctan(x)),
    )
    t = grid(1, 2.5, 500).astype(float)
    y = np.array([math.lgamma(v) / (v - 2) for v in t])
    show(
        "lgamma(t) = (t - 2) P(t - 1.75)",
        fit(powers(t - 1.75, range(12)), y, np.maximum(np.abs(y), 0.3), rounds=200),
    )


if __name__ == "__main__":
    main()
