"""Gibbs steps of the Plackett-Luce mixture (Caron and Doucet 2012; Mollica and Tardella 2017).

Supports w_gi ~ Gamma(shape, rate), weights omega ~ Dirichlet(weight). Given labels, a choice of x
from R in component g has probability w_gx / w_g(R) with w_g(R) = sum_{a in R} w_ga. A latent
y ~ Exponential(w_g(R)) beside every choice turns that into w_gx exp(-y w_g(R)), a product of Gamma
kernels, so that all conditionals are plain:

    labels of row r   ~ Multinomial(count_r, proportional to omega_g p_g(row r))
    y summed over the m choices from R in g ~ Gamma(m, w_g(R))
    w_gi              ~ Gamma(shape + times i was chosen in g, rate + sum of y over R with i)
    omega             ~ Dirichlet(weight + rows in g)

Identical rows differ in their labels only, so the labels of a row are a split of its count.
The likelihood does not change when the supports of a component are scaled: their sum is independent
of the data and is drawn anew from its prior, Gamma(n shape, rate), which speeds up the chain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.baselines.remainders import Remainders


@njit(cache=True, nogil=True, error_model="numpy")
def row_log_likelihoods(
    forest: Remainders, supports: NDArray[np.float64], values: NDArray[np.float64]
) -> None:
    """Fill ``values[r, g]`` with the log probability of one copy of row r in component g."""
    n_components, n_items = supports.shape
    log_total = np.empty(len(forest.item))
    total = np.empty(len(forest.item))
    log_w = np.empty(n_items)
    for g in range(n_components):
        for i in range(n_items):
            log_w[i] = np.log(supports[g, i])
        _totals(forest, supports[g], total)
        for k in range(len(total)):
            log_total[k] = np.log(total[k])
        for r in range(len(forest.counts)):
            value = 0.0
            for s in range(forest.offsets[r], forest.offsets[r + 1]):
                value += log_w[forest.step_item[s]] - log_total[forest.step_node[s]]
            values[r, g] = value


@njit(cache=True, nogil=True, error_model="numpy")
def _totals(forest: Remainders, w: NDArray[np.float64], total: NDArray[np.float64]) -> None:
    """Fill ``total`` with the sum of the supports of every remainder."""
    for k in range(len(total)):
        parent = forest.parent[k]
        total[k] = w[forest.item[k]] + (total[parent] if parent >= 0 else 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def split_rows(
    forest: Remainders,
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    split: NDArray[np.int64],
    generator: Any,
) -> None:
    """Draw ``split[r, g]``, how many copies of row r come from component g."""
    n_components = len(weights)
    share = np.empty(n_components)
    for r in range(len(forest.counts)):
        top = -np.inf
        for g in range(n_components):
            share[g] = np.log(weights[g]) + values[r, g]
            top = max(top, share[g])
        left = 0.0
        for g in range(n_components):
            share[g] = np.exp(share[g] - top)
            left += share[g]
            split[r, g] = 0
        count = forest.counts[r]
        if count == 1:
            at = generator.random() * left
            g = 0
            while g < n_components - 1 and at >= share[g]:
                at -= share[g]
                g += 1
            split[r, g] = 1
            continue
        # A multinomial as one binomial after another.
        for g in range(n_components - 1):
            if count == 0 or left <= 0.0:
                break
            taken = generator.binomial(count, min(share[g] / left, 1.0))
            split[r, g] = taken
            count -= taken
            left -= share[g]
        split[r, n_components - 1] += count


@njit(cache=True, nogil=True, error_model="numpy")
def count_choices(
    forest: Remainders,
    split: NDArray[np.int64],
    chosen: NDArray[np.int64],
    from_node: NDArray[np.int64],
) -> None:
    """Count, by component, how often each item was chosen and each remainder chosen from."""
    chosen[:] = 0
    from_node[:] = 0
    for g in range(split.shape[1]):
        for r in range(len(forest.counts)):
            copies = split[r, g]
            if copies > 0:
                for s in range(forest.offsets[r], forest.offsets[r + 1]):
                    chosen[g, forest.step_item[s]] += copies
                    from_node[g, forest.step_node[s]] += copies


@njit(cache=True, nogil=True, error_model="numpy")
def draw_exposure(
    forest: Remainders,
    w: NDArray[np.float64],
    from_node: NDArray[np.int64],
    work: NDArray[np.float64],
    exposure: NDArray[np.float64],
    generator: Any,
) -> None:
    """Draw the latent exponentials of one component, summed over the remainders with each item."""
    _totals(forest, w, work)
    for k in range(len(work)):
        m = from_node[k]
        work[k] = generator.standard_gamma(float(m)) / work[k] if m > 0 else 0.0
    exposure[:] = 0.0
    # A remainder's y is felt by its last item and by all items of its parent.
    for k in range(len(work) - 1, -1, -1):
        exposure[forest.item[k]] += work[k]
        if forest.parent[k] >= 0:
            work[forest.parent[k]] += work[k]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_supports(
    w: NDArray[np.float64],
    chosen: NDArray[np.int64],
    exposure: NDArray[np.float64],
    shape: float,
    rate: float,
    generator: Any,
) -> None:
    """Draw the supports of one component given the latent exponentials."""
    for i in range(len(w)):
        w[i] = generator.standard_gamma(shape + chosen[i]) / (rate + exposure[i])


@njit(cache=True, nogil=True, error_model="numpy")
def draw_scale(w: NDArray[np.float64], shape: float, rate: float, generator: Any) -> None:
    """Draw the sum of the supports of one component from its prior; their ratios stay."""
    factor = generator.standard_gamma(shape * len(w)) / rate / w.sum()
    for i in range(len(w)):
        w[i] *= factor


@njit(cache=True, nogil=True, error_model="numpy")
def draw_weights(
    weights: NDArray[np.float64], split: NDArray[np.int64], weight: float, generator: Any
) -> None:
    """Draw the mixture weights given how many rows each component holds."""
    for g in range(len(weights)):
        held = 0
        for r in range(len(split)):
            held += split[r, g]
        # Kept off zero, which a prior weight near 0 would reach: its logarithm is taken.
        weights[g] = max(generator.standard_gamma(weight + held), 1e-300)
    weights /= weights.sum()


@njit(cache=True, nogil=True, error_model="numpy")
def sweeps(
    forest: Remainders,
    supports: NDArray[np.float64],
    weights: NDArray[np.float64],
    values: NDArray[np.float64],
    shape: float,
    rate: float,
    weight: float,
    n_sweeps: int,
    generator: Any,
) -> None:
    """Make Gibbs sweeps in place; ``values`` must be, and stays, that of the supports."""
    n_components, n_items = supports.shape
    split = np.empty((len(forest.counts), n_components), dtype=np.int64)
    split[:, 0] = forest.counts
    chosen = np.zeros((n_components, n_items), dtype=np.int64)
    from_node = np.zeros((n_components, len(forest.item)), dtype=np.int64)
    work = np.empty(len(forest.item))
    exposure = np.empty(n_items)
    mixture = n_components > 1
    if not mixture:
        count_choices(forest, split, chosen, from_node)
    for _ in range(n_sweeps):
        if mixture:
            split_rows(forest, values, weights, split, generator)
            count_choices(forest, split, chosen, from_node)
        for g in range(n_components):
            w = supports[g]
            draw_exposure(forest, w, from_node[g], work, exposure, generator)
            draw_supports(w, chosen[g], exposure, shape, rate, generator)
            draw_scale(w, shape, rate, generator)
        if mixture:
            draw_weights(weights, split, weight, generator)
            row_log_likelihoods(forest, supports, values)
    if not mixture:
        row_log_likelihoods(forest, supports, values)
