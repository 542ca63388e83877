"""Where a hard chain starts: latents whose order no trace contradicts, close to what they show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from posetta.baselines.maximal import maximal_order
from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.infer.hard.arrange import arrange
from posetta.model.latent import product_order

# Sweeps of the annealing with four columns, fewer with more: 200 an item up to 100 items (a second
# there, ten at 500).
_SWEEPS_AN_ITEM, _MOST_SWEEPS, _USUAL_DIM = 200, 20_000, 4
# With noise a pair may be seen the wrong way round now and then: so often, about.
_REVERSED = 0.05


def start_latent(
    traces: Traces,
    dim: int,
    noisy: bool,
    generator: np.random.Generator,
    effort: float = 1.0,
) -> NDArray[np.float64]:
    """Return latents (item, dim) to start from; every call gives others.

    The columns are normal scores of rankings that are arranged so that their product order holds
    the pairs that the traces show in one order only, and at noise 0 none that some trace
    contradicts. Each start is arranged on its own from random rankings, and has about as many
    relations as the traces allow, more than a draw has. ``effort`` is a share of the usual work.
    With one column the order is total, and the traces must agree on it.
    """
    evidence = PairEvidence.of(traces)
    before, n = evidence.before, traces.n_items
    contradicted = np.ascontiguousarray(before.T > 0) & (not noisy)
    if dim == 1:
        ranking = _random_extension(maximal_order(evidence, 0.0), generator)
        ranks = np.argsort(ranking)[:, None]
    else:
        usual = min(_SWEEPS_AN_ITEM * n, _MOST_SWEEPS)
        sweeps = int(effort * usual * min(1.0, _USUAL_DIM / dim))
        ranks = arrange(_gain(before, noisy), contradicted, dim, sweeps, generator).T
    scores = ndtri((np.arange(n, 0, -1) - 0.5) / n)
    latent = scores[ranks] + 1e-6 * generator.standard_normal((n, dim))
    return _without(product_order(latent) & contradicted, latent)


def _without(forbidden: NDArray[np.bool_], latent: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return latents without the forbidden pairs, if any are left: few items lose all relations.

    First in one column and last in another, an item has no relation to any other, and those between
    the others stay as they are. The items with most forbidden pairs go first.
    """
    left = forbidden | forbidden.T
    freed = []
    while left.any():
        item = int(np.argmax(left.sum(axis=0)))
        freed.append(item)
        left[item] = left[:, item] = False
    # Freed items are in opposite orders in the two columns, so they are free of each other too.
    beyond = np.arange(1, len(freed) + 1) / (len(freed) + 1)
    latent[freed, 0] = latent[:, 0].max() + beyond
    latent[freed, -1] = latent[:, -1].min() - beyond
    return latent


def _gain(before: NDArray[np.int64], noisy: bool) -> NDArray[np.float64]:
    """Return what each ordered pair is worth: 1 where the traces show it and never its reverse.

    With noise, the log-likelihood ratio of "i before j", seen reversed now and then, to "free",
    seen either way equally often; at most 1, since one pair is not to outweigh many.
    """
    if not noisy:
        return ((before > 0) & (before.T == 0)).astype(np.float64)
    ratio = np.log(2.0 * (1.0 - _REVERSED)) * before + np.log(2.0 * _REVERSED) * before.T
    return np.clip(ratio, -1.0, 1.0)


def _random_extension(
    closure: NDArray[np.bool_], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return a random linear extension: any free item next."""
    waiting = closure.sum(axis=0)
    order = []
    left = np.ones(len(closure), dtype=bool)
    while left.any():
        item = generator.choice(np.flatnonzero(left & (waiting == 0)))
        order.append(item)
        left[item] = False
        waiting = waiting - closure[item]
    return np.array(order, dtype=np.int64)
