"""Posterior-predictive probabilities of traces and steps: average over draws, then take logs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.data.traces import frozen
from posetta.errors import InputError, choice
from posetta.model.hard import hard_step_log_probabilities
from posetta.model.plackett_luce import plackett_luce_step_log_probabilities
from posetta.model.relaxed import relaxed_step_log_probabilities
from posetta.posterior.posterior import Posterior
from posetta.posterior.score_kernel import (
    add_hard_draws,
    add_plackett_luce_draws,
    add_relaxed_draws,
    merge_sums,
    start_sums,
)

# Draws are summed in at most so many blocks, side by side in threads. The number does not follow
# the machine's cores: sums in another order would round otherwise.
_BLOCKS = 16
# Rows are scored in portions of about so many steps: every block keeps five numbers a step.
_PORTION_STEPS = 2**16

Rows = tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class Predictive(NamedTuple):
    """Log of the draw-averaged probabilities, for one copy of each unique row."""

    trace: NDArray[np.float64]
    """(unique row,): log mean_s p_s(trace)."""
    step: NDArray[np.float64]
    """(listed step,), rows one after another: log mean_s p_s(step | prefix), the paper's way."""
    coherent: NDArray[np.float64]
    """(listed step,): log p(step | prefix, data), the draws reweighted by the probability that
    they give to the prefix. A row's sum is its ``trace``; NaN after an impossible step."""


def predictive(posterior: Posterior, traces: Traces, likelihood: str = "own") -> Predictive:
    """Score traces under the draws: log of the mean over draws of p(trace) and of p(step).

    ``likelihood="own"`` uses the model that the draws come from, ``"hard"`` the hard frontier
    model, the common yardstick of all methods. The result for a part of the traces is that part of
    the result, so that large files may be scored in parts.
    """
    choice(likelihood, ("own", "hard"), "likelihood")
    _check_latents(posterior, likelihood)
    traces = traces.with_items(posterior.items)
    n_draws = posterior.draws.n_chains * posterior.draws.n_draws
    step, prefix = np.empty(traces.n_steps), np.empty(traces.n_steps)
    ends = np.cumsum(traces.n_listed)
    with ThreadPoolExecutor(min(_BLOCKS, os.cpu_count() or 1)) as pool:
        for first, last in _portions(ends):
            start = ends[first] - traces.n_listed[first]
            sums = _sums(posterior, _rows(traces, first, last), likelihood, pool)
            with np.errstate(divide="ignore"):
                step[start : ends[last - 1]] = sums[0] + np.log(sums[1]) - np.log(n_draws)
                prefix[start : ends[last - 1]] = sums[2] + np.log(sums[3]) - np.log(n_draws)
    starts = ends - traces.n_listed
    earlier = np.concatenate([[0.0], prefix[:-1]])[: len(prefix)]
    earlier[starts] = 0.0
    with np.errstate(invalid="ignore"):  # after an impossible prefix: not a number
        coherent = prefix - earlier
    return Predictive(prefix[ends - 1], step, coherent)


def step_log_probabilities(
    posterior: Posterior, traces: Traces, likelihood: str = "own"
) -> Iterator[NDArray[np.float64]]:
    """Yield, draw by draw, log p of every listed step. ``traces`` must share the universe."""
    choice(likelihood, ("own", "hard"), "likelihood")
    _check_latents(posterior, likelihood)
    draws = posterior.draws
    if draws.latent is None or _is_hard(posterior, likelihood):
        beta, noise = draws.scalar("beta"), draws.scalar("noise")
        for s, closure in enumerate(draws.closures(len(posterior.items))):
            yield hard_step_log_probabilities(closure, beta[s], traces, noise[s])
        return
    latent = draws.latent.reshape(-1, *draws.latent.shape[2:])
    if posterior.likelihood == "plackett-luce":
        for log_support in latent:
            yield plackett_luce_step_log_probabilities(log_support, traces)
        return
    beta, noise = draws.scalar("beta"), draws.scalar("noise")
    gamma = draws.scalar("gamma")
    for s, u in enumerate(latent):
        yield relaxed_step_log_probabilities(
            u, beta[s], gamma[s], posterior.model.tau, traces, noise[s]
        )


@dataclass(frozen=True, eq=False)
class NextItem:
    """What may come next after a prefix, most probable first."""

    items: tuple[str, ...]
    """The candidates: the choice set without the prefix."""
    probability: NDArray[np.float64]
    """Mean over draws of p(item | prefix, draw), the paper's way."""
    coherent: NDArray[np.float64]
    """p(item | prefix, data): draws count as much as they find the prefix probable. NaN if every
    draw finds it impossible."""
    prefix_log_probability: float
    """Log of the draw-averaged probability of the prefix."""
    effective_draws: float
    """How many equal draws the weights of ``coherent`` are worth, 1 / sum of squares."""


def next_item(
    posterior: Posterior,
    prefix: Sequence[str],
    choice_set: Collection[str] | None = None,
    likelihood: str = "own",
) -> NextItem:
    """Return the probability of every possible next item after the labels of ``prefix``.

    ``choice_set`` names the items that the process is to work through (those of the prefix may be
    left out); None means all items of the posterior.
    """
    if isinstance(prefix, str) or isinstance(choice_set, str):
        raise InputError("prefix and choice_set are lists of labels, not one text.")
    for label in (*prefix, *(choice_set or ())):
        if label not in set(posterior.items):
            raise InputError(
                f'"{label}" is none of the {len(posterior.items)} items of this posterior.'
            )
    listed = list(prefix)
    universe = list(posterior.items if choice_set is None else choice_set)
    universe += [label for label in listed if label not in set(universe)]
    left = [label for label in dict.fromkeys(universe) if label not in set(listed)]
    if not left:
        raise InputError("the prefix lists the whole choice set: nothing is left to come next.")
    candidates = Traces.from_lists(
        [[*listed, label] for label in left],
        items=posterior.items,
        choice_sets=[universe] * len(left),
    )
    found = predictive(posterior, candidates, likelihood)
    last = np.cumsum(candidates.n_listed) - 1
    probability, coherent = np.exp(found.step[last]), np.exp(found.coherent[last])
    log_prefix, effective = _prefix_weights(posterior, candidates, likelihood)
    order = np.argsort(-probability, kind="stable")
    return NextItem(
        items=tuple(left[k] for k in order),
        probability=probability[order],
        coherent=coherent[order],
        prefix_log_probability=log_prefix,
        effective_draws=effective,
    )


def _prefix_weights(
    posterior: Posterior, candidates: Traces, likelihood: str
) -> tuple[float, float]:
    """Return the prefix's log probability, and the effective number of draws given the prefix."""
    one = candidates.take([0])
    length = int(one.n_listed[0]) - 1
    draws = step_log_probabilities(posterior, one, likelihood)
    log_weight = np.array([steps[:length].sum() for steps in draws])
    top = log_weight.max()
    if top == -np.inf:
        return -np.inf, 0.0
    weight = np.exp(log_weight - top)
    return float(top + np.log(weight.mean())), float(weight.sum() ** 2 / (weight**2).sum())


def _is_hard(posterior: Posterior, likelihood: str) -> bool:
    return likelihood == "hard" or posterior.likelihood == "hard"


def _check_latents(posterior: Posterior, likelihood: str) -> None:
    if likelihood == "hard" and posterior.likelihood == "plackett-luce":
        raise InputError(
            "Plackett-Luce draws are supports, not orders with a beta: score them with "
            "likelihood='own'."
        )
    if _is_hard(posterior, likelihood):
        return
    if posterior.draws.latent is None:
        raise InputError("these draws hold no latents, so only likelihood='hard' can score traces.")
    if not np.isfinite(posterior.draws.latent).all():
        raise InputError("the draws hold latents that are not finite.")


def _portions(ends: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with at most `_PORTION_STEPS` steps, or of one row."""
    first = 0
    while first < len(ends):
        before = ends[first - 1] if first else 0
        last = int(np.searchsorted(ends, before + _PORTION_STEPS, side="right"))
        last = max(last, first + 1)
        yield first, last
        first = last


def _rows(traces: Traces, first: int, last: int) -> Rows:
    """Return the arrays of a range of rows, read-only like those of all rows."""
    members, offsets, n_listed, counts = traces.arrays
    start, stop = offsets[first], offsets[last]
    return (
        members[start:stop],
        frozen(offsets[first : last + 1] - start),
        n_listed[first:last],
        counts[first:last],
    )


def _sums(
    posterior: Posterior, rows: Rows, likelihood: str, pool: ThreadPoolExecutor
) -> NDArray[np.float64]:
    """Return the sums over all draws, blocks of draws side by side."""
    draws = posterior.draws
    bits = draws.closure_bits.reshape(-1, *draws.closure_bits.shape[2:])
    n_steps = int(rows[2].sum())

    def work(block: slice) -> NDArray[np.float64]:
        sums = start_sums(n_steps)
        if draws.latent is None or _is_hard(posterior, likelihood):
            beta, noise = (draws.scalar(name)[block] for name in ("beta", "noise"))
            add_hard_draws(bits[block], beta, noise, *rows[:3], sums)
            return sums
        latent = draws.latent.reshape(-1, *draws.latent.shape[2:])[block]
        if posterior.likelihood == "plackett-luce":
            add_plackett_luce_draws(latent, *rows[:3], sums)
            return sums
        beta, gamma, noise = (draws.scalar(name)[block] for name in ("beta", "gamma", "noise"))
        add_relaxed_draws(latent, beta, gamma, noise, float(posterior.model.tau), *rows, sums)
        return sums

    n_draws = len(bits)
    edges = np.linspace(0, n_draws, min(_BLOCKS, n_draws) + 1).astype(int)
    blocks = [slice(a, b) for a, b in pairwise(edges)]
    total = start_sums(n_steps)
    for sums in pool.map(work, blocks):
        merge_sums(total, sums)
    return total
