"""Posteriors put together by hand."""

from __future__ import annotations

import numpy as np

from posetta.data import Traces
from posetta.model import Model
from posetta.model.hard import hard_trace_log_likelihood
from posetta.model.latent import product_order
from posetta.model.relaxed import relaxed_trace_log_likelihood
from posetta.posterior import Draws, Posterior


def hard_posterior(closures, beta, noise, traces, *, n_chains=1, **changes):
    """Build a posterior of the hard model from closures (draw, item, item) and scalars."""
    closures = np.asarray(closures, dtype=bool)
    beta, noise = np.asarray(beta, dtype=float), np.asarray(noise, dtype=float)
    log_likelihood = np.array(
        [
            hard_trace_log_likelihood(c, b, traces, e)
            for c, b, e in zip(closures, beta, noise, strict=True)
        ]
    )
    draws = Draws(
        closure_bits=_chained(Draws.pack(closures), n_chains),
        scalars={"beta": _chained(beta, n_chains), "noise": _chained(noise, n_chains)},
        log_likelihood=_chained(log_likelihood, n_chains),
    )
    return _posterior(traces, draws, closures.mean(axis=0), likelihood="hard", **changes)


def relaxed_posterior(latent, beta, gamma, noise, traces, tau=0.3, *, n_chains=1, **changes):
    """Build a posterior of the relaxed model from latents (draw, item, column) and scalars."""
    latent = np.asarray(latent, dtype=float)
    scalars = {"beta": beta, "gamma": gamma, "noise": noise}
    scalars = {name: np.asarray(values, dtype=float) for name, values in scalars.items()}
    log_likelihood = np.array(
        [
            relaxed_trace_log_likelihood(
                u, scalars["beta"][s], scalars["gamma"][s], tau, traces, scalars["noise"][s]
            )
            for s, u in enumerate(latent)
        ]
    )
    closures = product_order(latent)
    draws = Draws(
        closure_bits=_chained(Draws.pack(closures), n_chains),
        scalars={name: _chained(values, n_chains) for name, values in scalars.items()},
        log_likelihood=_chained(log_likelihood, n_chains),
        latent=_chained(latent, n_chains),
    )
    changes = {"model": Model(dim=latent.shape[2], tau=tau), **changes}
    return _posterior(traces, draws, closures.mean(axis=0), likelihood="relaxed", **changes)


def _posterior(traces, draws, precedence, **changes):
    given = {
        "items": traces.items,
        "method": "by hand",
        "model": Model(),
        "settings": {},
        "seed": 0,
        "traces": traces,
        "draws": draws,
        "precedence": precedence,
    }
    return Posterior(**{**given, **changes})


def _chained(values, n_chains):
    return values.reshape(n_chains, len(values) // n_chains, *values.shape[1:])


# Three draws on three items: a before b and c; a before b before c; nothing.
FORK = [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
CHAIN = [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
FREE = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]

TRAIN = Traces.from_lists(
    [["a", "b", "c"], ["a", "c"]],
    items=list("abc"),
    counts=[2, 1],
    ids=["first", "second"],
)


def three_draws(**changes):
    return hard_posterior([FORK, CHAIN, FREE], [0.5, 1.0, 2.0], [0.0, 0.0, 0.0], TRAIN, **changes)
