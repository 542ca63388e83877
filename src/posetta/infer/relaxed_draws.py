"""From points on the unconstrained coordinates to draws: what all relaxed methods share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.infer.methods import FlowVI, FullRankVI, RelaxedNUTS
from posetta.model.latent import product_order
from posetta.model.relaxed import relaxed_trace_log_likelihood
from posetta.model.target import SCALARS, Target
from posetta.posterior import Draws, Posterior
from posetta.posterior.posterior import Status

_BLOCK = 64


def draws_of(target: Target, points: NDArray[np.float64]) -> Draws:
    """Return points (chain, draw, coordinate) as draws: orders, latents, scalars, likelihoods."""
    n_chains, n_draws = points.shape[:2]
    traces, tau = target.traces, float(target.model.tau)
    n, total = traces.n_items, n_chains * n_draws
    flat = points.reshape(total, -1)
    latent = np.empty((total, n, target.dim))
    scalars = {name: np.empty(total) for name in SCALARS}
    log_likelihood = np.empty((total, traces.n_unique))
    bits = np.empty((total, n, (n + 7) // 8), dtype=np.uint8)

    def fill(start: int) -> None:
        for s in range(start, min(start + _BLOCK, total)):
            u, rho, beta, gamma, noise = target.constrain(flat[s])
            latent[s] = u
            for name, value in zip(SCALARS, (rho, beta, gamma, noise), strict=True):
                scalars[name][s] = value
            bits[s] = Draws.pack(product_order(u))
            log_likelihood[s] = relaxed_trace_log_likelihood(u, beta, gamma, tau, traces, noise)

    # The likelihood releases the interpreter lock: on 500 items it is most of the work.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(fill, start) for start in range(0, total, _BLOCK)]:
            done.result()
    at_draw = (n_chains, n_draws)
    return Draws(
        closure_bits=bits.reshape(*at_draw, *bits.shape[1:]),
        scalars={name: values.reshape(at_draw) for name, values in scalars.items()}
        | {"dim": np.full(at_draw, float(target.dim))},
        log_likelihood=log_likelihood.reshape(*at_draw, traces.n_unique),
        latent=latent.reshape(*at_draw, n, target.dim),
    )


def posterior_of(
    target: Target,
    draws: Draws,
    *,
    method: str,
    settings: RelaxedNUTS | FullRankVI | FlowVI,
    seed: int,
    status: Status,
    warnings: tuple[str, ...],
    diagnostics: Mapping[str, Any],
    seconds: Mapping[str, float],
) -> Posterior:
    """Return the `Posterior` of a relaxed method."""
    traces = target.traces
    return Posterior(
        items=traces.items,
        method=method,
        likelihood="relaxed",
        model=target.model,
        settings=asdict(settings),
        seed=seed,
        traces=traces,
        draws=draws,
        precedence=draws.mean_closure(traces.n_items),
        status=status,
        warnings=warnings,
        diagnostics=diagnostics,
        seconds=seconds,
    )
