"""Bayesian Plackett-Luce mixtures: chains of Gibbs sweeps, and what they say.

The draws are supports, not orders of a partial-order model. ``draws.latent[c, s, i, g]`` is
log(omega_g p_gi), and the closure of a draw is its product order: i before j where every component
gives i the greater support. With one component that is the total order by support; with more it is
what the components agree on, whatever their labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from posetta.baselines import gibbs
from posetta.baselines.remainders import Remainders, remainders_of
from posetta.baselines.settings import PlackettLuce
from posetta.data import Traces
from posetta.errors import SettingError
from posetta.model.latent import product_order
from posetta.model.model import Model
from posetta.posterior import Draws, Posterior
from posetta.posterior.diagnostics import gate_diagnostics, length_warning, mixing_status
from posetta.posterior.support_pairs import support_pairs
from posetta.rng import child
from posetta.side_by_side import run_side_by_side

# A portion of sweeps between two looks at the clock.
_PORTION_SECONDS = 0.1


class ChainRun:
    """One chain: its state, its stream of random numbers and the draws it kept."""

    def __init__(self, forest: Remainders, settings: PlackettLuce, seed: int, number: int) -> None:
        self.forest, self.settings = forest, settings
        self.generator = child(seed, "plackett-luce", number)
        n_components, n_rows = settings.components, len(forest.counts)
        # A start from the prior: chains that begin apart and end together have found the same.
        shape = (n_components, forest.n_items)
        self.supports = self.generator.gamma(settings.shape, 1.0 / settings.rate, shape)
        self.weights = np.empty(n_components)
        nothing = np.zeros((0, n_components), dtype=np.int64)
        gibbs.draw_weights(self.weights, nothing, float(settings.weight), self.generator)
        self.values = np.empty((n_rows, n_components))
        gibbs.row_log_likelihoods(forest, self.supports, self.values)
        self.done = 0
        self.log_support: list[NDArray[np.float64]] = []
        self.log_likelihood: list[NDArray[np.float64]] = []

    @property
    def total(self) -> int:
        """Sweeps of the whole run."""
        return self.settings.warmup + self.settings.draws * self.settings.thin

    def advance(self) -> None:
        """Go on to the next draw that is kept, or by as many sweeps of the warm-up."""
        settings = self.settings
        warming = self.done < settings.warmup
        count = min(settings.thin, settings.warmup - self.done) if warming else settings.thin
        gibbs.sweeps(
            self.forest,
            self.supports,
            self.weights,
            self.values,
            float(settings.shape),
            float(settings.rate),
            float(settings.weight),
            count,
            self.generator,
        )
        self.done += count
        if not warming:
            self._keep()

    def _keep(self) -> None:
        log_weight = np.log(self.weights)
        share = self.supports / self.supports.sum(axis=1, keepdims=True)
        self.log_support.append((np.log(share) + log_weight[:, None]).T)
        joint = self.values + log_weight
        top = joint.max(axis=1)
        self.log_likelihood.append(top + np.log(np.exp(joint - top[:, None]).sum(axis=1)))


def run(
    traces: Traces,
    model: Model,
    settings: PlackettLuce,
    seed: int,
    report: Callable[[float, str], None],
) -> Posterior:
    """Fit by Gibbs sampling: several chains in threads, each with its own stream.

    Ctrl-C and ``max_seconds`` end the run with what was drawn; the status says so.
    """
    started = time.perf_counter()
    forest = remainders_of(traces)
    ChainRun(forest, settings, 0, settings.chains).advance()  # compiles, or loads what was compiled
    compiled = time.perf_counter()
    chains = [ChainRun(forest, settings, seed, number) for number in range(settings.chains)]
    deadline = np.inf if settings.max_seconds is None else compiled + settings.max_seconds
    interrupted = _advance_all(chains, deadline, report)
    stopped = interrupted or any(chain.done < chain.total for chain in chains)
    seconds = {"compile": compiled - started, "run": time.perf_counter() - compiled}
    return _posterior(traces, model, settings, seed, chains, stopped, seconds)


def _advance_all(
    chains: list[ChainRun], deadline: float, report: Callable[[float, str], None]
) -> bool:
    """Run all chains to the end or the deadline; return whether the user interrupted them."""

    def work(chain: ChainRun, stop: Event) -> None:
        while chain.done < chain.total and not stop.is_set() and time.perf_counter() < deadline:
            pause = time.perf_counter() + _PORTION_SECONDS
            while chain.done < chain.total and time.perf_counter() < pause:
                chain.advance()

    def look() -> None:
        kept = min(len(chain.log_support) for chain in chains)
        words = f"{kept} draws a chain" if kept else "warming up"
        report(sum(chain.done / chain.total for chain in chains) / len(chains), words)

    return run_side_by_side([partial(work, chain) for chain in chains], look)


def _posterior(
    traces: Traces,
    model: Model,
    settings: PlackettLuce,
    seed: int,
    chains: list[ChainRun],
    stopped: bool,
    seconds: dict[str, float],
) -> Posterior:
    lengths = [len(chain.log_support) for chain in chains]
    n_draws = min(lengths)
    if n_draws == 0:
        raise SettingError(
            "the run was stopped before any draw was kept. Let it run on, raise max_seconds if "
            "that ended it, or lower warmup."
        )
    log_likelihood = np.stack([chain.log_likelihood[:n_draws] for chain in chains])
    log_posterior = log_likelihood @ traces.counts
    drawn = np.stack([chain.log_support[:n_draws] for chain in chains])
    log_posterior += _log_prior(drawn, settings)
    log_support = relabelled(drawn, log_posterior)
    draws = Draws(
        closure_bits=Draws.pack(product_order(log_support)),
        scalars={},
        log_likelihood=log_likelihood,
        latent=log_support,
    )
    quantities = _quantities(log_support, log_posterior, traces.items)
    pairs = support_pairs(log_support)
    diagnostics = gate_diagnostics(quantities) | pairs.diagnostics
    diagnostics["components"] = _components(log_support)
    status, warnings = mixing_status(
        diagnostics,
        stopped=stopped,
        remedy="Raise warmup and thin, or lower components.",
    )
    return Posterior(
        items=traces.items,
        method="plackett-luce",
        likelihood="plackett-luce",
        model=model,
        settings=asdict(settings),
        seed=seed,
        traces=traces,
        draws=draws,
        precedence=pairs.precedence,
        status=status,
        warnings=warnings + length_warning(lengths),
        diagnostics=diagnostics,
        seconds=seconds,
    )


def _log_prior(log_support: NDArray[np.float64], settings: PlackettLuce) -> NDArray[np.float64]:
    """Return the log density of the normalised supports and the weights, up to a constant."""
    log_weight = np.logaddexp.reduce(log_support, axis=2)
    log_share = log_support - log_weight[:, :, None]
    of_supports = (settings.shape - 1.0) * log_share.sum(axis=(2, 3))
    return np.asarray(of_supports + (settings.weight - 1.0) * log_weight.sum(axis=2))


def _quantities(
    log_support: NDArray[np.float64], log_posterior: NDArray[np.float64], items: tuple[str, ...]
) -> dict[str, NDArray[np.float64]]:
    """Return what the chains must agree on, (chain, draw) each; no label enters any of them."""
    quantities = {"log_posterior": log_posterior}
    if len(items) > 1:  # a single item has all the support
        overall = np.logaddexp.reduce(log_support, axis=3)
        for i, label in enumerate(items):
            quantities[f"support of {label}"] = overall[:, :, i]
    if log_support.shape[3] > 1:
        quantities["largest weight"] = np.exp(log_support).sum(axis=2).max(axis=2)
    return quantities


def relabelled(
    log_support: NDArray[np.float64], log_posterior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give the components of every draw the labels that fit those of the most probable draw.

    Labels of a mixture are arbitrary and change along a chain. Each draw takes the permutation that
    makes the sum of the scalar products of its columns (omega_g p_g) with those of the most
    probable draw largest; there the components are sorted by weight. Nothing that is computed from
    all components together depends on it.
    """
    flat = log_support.reshape(-1, *log_support.shape[2:])
    if flat.shape[2] == 1 or flat.shape[1] == 0:
        return log_support
    columns = np.exp(flat)
    pivot = columns[int(np.argmax(log_posterior))]
    pivot = pivot[:, np.argsort(-pivot.sum(axis=0), kind="stable")]
    likeness = np.einsum("ih,sig->shg", pivot, columns)
    order = np.stack([linear_sum_assignment(alike, maximize=True)[1] for alike in likeness])
    return np.take_along_axis(flat, order[:, None, :], axis=2).reshape(log_support.shape)


def _components(log_support: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return mean weight and mean normalised supports of every component, after relabelling."""
    joint = np.exp(log_support)
    weight = joint.sum(axis=2, keepdims=True)
    share = (joint / weight).mean(axis=(0, 1))
    return [
        {"weight": float(w), "support": share[:, g].tolist()}
        for g, w in enumerate(weight.mean(axis=(0, 1, 2)))
    ]
