"""Where a hard chain starts: latents whose order no trace contradicts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from posetta.baselines.maximal import maximal_order
from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.errors import InputError
from posetta.model.latent import product_order


def start_latent(
    traces: Traces, dim: int, noisy: bool, chain: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return latents (item, dim) to start from; chains differ.

    The columns are normal scores of rankings: linear extensions of the intersection of the traces
    in even chains, anything in odd ones. If their product order holds a pair that some trace shows
    reversed, which is impossible at noise 0, the last column becomes the reverse of the first: an
    antichain. With one column the order is total, and the traces must agree on it.
    """
    evidence = PairEvidence.of(traces)
    n = traces.n_items
    allowed = maximal_order(evidence, 0.0)
    contradicted = evidence.before.T > 0
    scores = ndtri((np.arange(n, 0, -1) - 0.5) / n)

    def as_column(order: NDArray[np.int64]) -> NDArray[np.float64]:
        column = np.empty(n)
        column[order] = scores + 1e-6 * generator.standard_normal(n)
        return column

    if chain % 2 == 0 or dim == 1:
        orders = [_random_extension(allowed, generator) for _ in range(dim)]
    else:
        orders = [generator.permutation(n) for _ in range(dim)]
    latent = np.stack([as_column(order) for order in orders], axis=1)
    if noisy or not (product_order(latent) & contradicted).any():
        return latent
    if dim == 1:
        raise InputError(
            "with dim=1 the order is total, and these traces contradict each other. "
            "Use a larger dim, or a noise above 0."
        )
    # A column and its reverse share no pair: an antichain, which every trace allows.
    latent[:, dim - 1] = -latent[:, 0]
    return latent


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
