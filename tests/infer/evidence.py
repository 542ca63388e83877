"""The log evidence of one small data set by draws from the prior, on file.

``evidence.json`` holds the value of 10^7 draws with its standard error. To make it again:
``python -m tests.infer.evidence``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from posetta import Model, Traces, simulate
from posetta.model.latent import root_coefficients
from posetta.model.relaxed_kernel import value_and_gradient

FILE = Path(__file__).with_suffix(".json")
MODEL = Model(dim=2)


class Evidence(NamedTuple):
    log_evidence: float
    standard_error: float


def traces() -> Traces:
    return simulate(3, dim=2, rho=0.5, seed=3, ip_cov=None, n_traces=6).train


def by_prior_draws(n_draws: int, seed: int) -> Evidence:
    """Average the likelihood over the default priors of `Model`, in blocks."""
    sums = np.zeros(2)
    for block in range(-(-n_draws // 100_000)):
        size = min(100_000, n_draws - block * 100_000)
        generator = np.random.default_rng([seed, block])
        z = generator.standard_normal((size, 3, 2))
        rho = generator.beta(*MODEL.rho_prior, size)
        beta = generator.gamma(MODEL.beta_prior[0], 1.0 / MODEL.beta_prior[1], size)
        gamma = generator.gamma(MODEL.gamma_prior[0], 1.0 / MODEL.gamma_prior[1], size)
        sums += _sums(z, rho, beta, gamma, MODEL.tau, *traces().arrays)
    mean = sums[0] / n_draws
    variance = sums[1] / n_draws - mean**2
    return Evidence(float(np.log(mean)), float(np.sqrt(variance / n_draws) / mean))


def recorded() -> Evidence:
    return Evidence(**json.loads(FILE.read_text()))


@njit(nogil=True)
def _sums(z, rho, beta, gamma, tau, members, offsets, n_listed, counts):
    total, squares = 0.0, 0.0
    unused = np.empty((3, 2))
    for s in range(len(rho)):
        a, c = root_coefficients(rho[s], 1.0 - rho[s], 2)
        latent = a * z[s] + c * (z[s, :, :1] + z[s, :, 1:])
        value = value_and_gradient(
            latent, beta[s], gamma[s], tau, 0.0, members, offsets, n_listed, counts, unused
        )[0]
        total += np.exp(value)
        squares += np.exp(2.0 * value)
    return np.array([total, squares])


if __name__ == "__main__":
    found = by_prior_draws(10_000_000, seed=1)
    FILE.write_text(json.dumps(found._asdict(), indent=1) + "\n")
