"""Posterior-predictive probabilities of traces and steps: average over draws, then take logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import InputError, choice
from posetta.model.hard import hard_step_log_probabilities, sum_steps
from posetta.model.plackett_luce import plackett_luce_step_log_probabilities
from posetta.model.relaxed import relaxed_step_log_probabilities
from posetta.posterior.posterior import Draws, Posterior


class Predictive(NamedTuple):
    """Log of the draw-averaged probabilities, for one copy of each unique row."""

    trace: NDArray[np.float64]
    """(unique row,)"""
    step: NDArray[np.float64]
    """(listed step,), rows one after another."""


def predictive(posterior: Posterior, traces: Traces, likelihood: str = "own") -> Predictive:
    """Score traces under the draws: log of the mean over draws of p(trace) and of p(step).

    ``likelihood="own"`` uses the model that the draws come from, ``"hard"`` the hard frontier
    model, the common yardstick of all methods.
    """
    traces = traces.with_items(posterior.items)
    trace_total = np.full(traces.n_unique, -np.inf)
    step_total = np.full(traces.n_steps, -np.inf)
    n_draws = 0
    for steps in step_log_probabilities(posterior, traces, likelihood):
        np.logaddexp(step_total, steps, out=step_total)
        np.logaddexp(trace_total, sum_steps(steps, traces), out=trace_total)
        n_draws += 1
    return Predictive(trace_total - np.log(n_draws), step_total - np.log(n_draws))


def step_log_probabilities(
    posterior: Posterior, traces: Traces, likelihood: str = "own"
) -> Iterator[NDArray[np.float64]]:
    """Yield, draw by draw, log p of every listed step. ``traces`` must share the universe."""
    choice(likelihood, ("own", "hard"), "likelihood")
    draws = posterior.draws
    if posterior.likelihood == "plackett-luce":
        yield from _plackett_luce_steps(draws, traces, likelihood)
        return
    beta, noise = draws.scalar("beta"), draws.scalar("noise")
    if likelihood == "hard" or posterior.likelihood == "hard":
        for s, closure in enumerate(draws.closures(len(posterior.items))):
            yield hard_step_log_probabilities(closure, beta[s], traces, noise[s])
        return
    if draws.latent is None:
        raise InputError("these draws hold no latents, so only likelihood='hard' can score traces.")
    latent = draws.latent.reshape(-1, *draws.latent.shape[2:])
    gamma = draws.scalar("gamma")
    for s, u in enumerate(latent):
        yield relaxed_step_log_probabilities(
            u, beta[s], gamma[s], posterior.model.tau, traces, noise[s]
        )


def _plackett_luce_steps(
    draws: Draws, traces: Traces, likelihood: str
) -> Iterator[NDArray[np.float64]]:
    if likelihood == "hard" or draws.latent is None:
        raise InputError(
            "Plackett-Luce draws are supports, not orders with a beta: score them with "
            "likelihood='own'."
        )
    for log_support in draws.latent.reshape(-1, *draws.latent.shape[2:]):
        yield plackett_luce_step_log_probabilities(log_support, traces)
