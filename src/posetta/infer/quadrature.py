"""The integrals over beta and noise of every order, by trapezoid sums.

The likelihood of an order depends on few *kinds of step* (how many items are on the frontier with
how many successors, and which was taken), so all orders and all nodes of a shared grid of
(log beta, logit noise) are one matrix product of kind counts and kind log-probabilities.

Trapezoid sums of a bell of standard deviation sd are off by 2 exp(-2 pi^2 sd^2 / step^2): 4e-9 when
the step is sd. Many traces make narrower bells than the shared grid can see. Orders that matter
then get a grid of their own, shrunk until its step is at most half an sd.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit, logit

from posetta.data import Traces
from posetta.infer.all_orders import LARGEST, AllOrders
from posetta.model.model import Model

Array = NDArray[np.float64]

# Successor counts on at most five items are 0 .. 4; a frontier is a histogram of them.
_BASE = LARGEST + 1
_OFF_FRONTIER = LARGEST
STEP_BETA = 0.05
STEP_NOISE = 0.2
# Nats below the best that no longer matter: e^-40 = 4e-18.
_NEGLIGIBLE = 40.0
# A shared grid serves a bell whose sd is this many steps: off by 1e-19.
_STEPS_PER_SD = 1.5
_OWN_NODES = 81
_MOST_NODES = 641


class Axis:
    """One scalar on its unconstrained scale eta, with its prior; a fixed scalar has one node."""

    def __init__(self, fixed: float | None, kind: str, prior: tuple[float, float]) -> None:
        self.fixed = fixed
        self.kind = kind
        if kind == "beta":
            self.prior = stats.gamma(prior[0], scale=1.0 / prior[1])
        else:
            self.prior = stats.beta(*prior)

    def full_range(self, step: float) -> Array:
        """Return nodes that hold all but 1e-8 of the prior."""
        if self.fixed is not None:
            return np.zeros(1)
        forward = np.log if self.kind == "beta" else logit
        ends = np.array([self.prior.ppf(1e-8), self.prior.isf(1e-12)])
        # Priors with a pole at an end reach it: the scale of eta stays finite.
        most = np.inf if self.kind == "beta" else 1.0 - 1e-15
        low, high = forward(np.clip(ends, 1e-300, most))
        return np.arange(low, high + step, step)

    def values(self, eta: Array) -> Array:
        """Return the scalar at the nodes."""
        if self.fixed is not None:
            return np.array([float(self.fixed)])
        return np.exp(eta) if self.kind == "beta" else np.asarray(expit(eta))

    def log_weights(self, eta: Array) -> Array:
        """Return the log of step x prior density on the scale of eta."""
        if self.fixed is not None:
            return np.zeros(1)
        value = self.values(eta)
        log_slope = eta if self.kind == "beta" else np.log(value) + np.log1p(-value)
        return np.asarray(self.prior.logpdf(value) + log_slope + np.log(eta[1] - eta[0]))


@dataclass(frozen=True, eq=False)
class OwnGrid:
    """The posterior of (beta, noise) given one order, on nodes of its own."""

    beta: Array
    noise: Array
    log_joint: Array
    """(noise, beta): log of likelihood x prior x cell."""

    @property
    def log_evidence(self) -> float:
        """Log of the integral."""
        return float(np.logaddexp.reduce(self.log_joint, axis=None))

    @property
    def weights(self) -> Array:
        """Probability of every node."""
        return np.exp(self.log_joint - self.log_evidence)


class Grid:
    """Likelihood of every order at every node of (log beta, logit noise)."""

    def __init__(self, traces: Traces, model: Model, orders: AllOrders) -> None:
        self.counts, self.kinds = _count_kinds(traces, orders)
        self.off_frontier = self.kinds[0] == _OFF_FRONTIER
        self.axis_beta = Axis(model.beta, "beta", model.beta_prior)
        self.axis_noise = Axis(model.noise, "noise", model.noise_prior)
        self.eta_beta = self.axis_beta.full_range(STEP_BETA)
        self.eta_noise = self.axis_noise.full_range(STEP_NOISE)
        self.beta = self.axis_beta.values(self.eta_beta)
        self.noise = self.axis_noise.values(self.eta_noise)
        self.log_weight_beta = _normalised(self.axis_beta.log_weights(self.eta_beta))
        self.log_weight_noise = _normalised(self.axis_noise.log_weights(self.eta_noise))
        self.log_q = self._log_q(slice(None), self.beta)
        self.own: dict[int, OwnGrid] = {}
        # Log of the integral over beta alone, (order, noise).
        self.by_noise = np.empty((len(self.counts), len(self.noise)))

    def _log_q(self, kinds: slice | NDArray[np.int64], beta: Array) -> Array:
        """Return log q of an item on the frontier, (kind, beta); the others have q = 0."""
        taken, histogram = self.kinds[0][kinds], self.kinds[1][kinds]
        # log(1 + s) for s = 0 .. 4, against the largest on each kind's frontier: no beta overflows.
        log_successors = np.log1p(np.arange(LARGEST))
        top = np.where(histogram > 0, log_successors, 0.0).max(axis=1, initial=0.0)
        below = np.minimum(log_successors - top[:, None], 0.0)
        weight = np.exp(np.multiply.outer(below, beta))
        chosen = below[np.arange(len(taken)), np.minimum(taken, LARGEST - 1)]
        return np.multiply.outer(chosen, beta) - np.log(
            (histogram[:, :, None] * weight).sum(axis=1)
        )

    def log_likelihood(self, rows: slice | NDArray[np.int64], noise: float) -> Array:
        """Return the log-likelihood of some orders at all beta nodes for one noise."""
        counts = self.counts[rows]
        off = self.off_frontier
        if noise == 0.0:
            result = counts[:, ~off] @ self.log_q[~off]
            result[counts[:, off].any(axis=1)] = -np.inf
            return result
        q = np.where(off[:, None], 0.0, np.exp(self.log_q))
        return counts @ np.log((1.0 - noise) * q + noise / self.kinds[2][:, None])

    def integrate(self, log_prior: Array | None = None) -> tuple[Array, Array, Array]:
        """Return, per order, the log evidence and the posterior means of beta and noise.

        Orders whose ``log_prior`` makes them negligible do not get a grid of their own.
        """
        n_orders = len(self.counts)
        # Highest point over beta, between the nodes, for every noise.
        peaks = np.full((n_orders, len(self.noise)), -np.inf)
        # For every noise: the mean of beta, and mean and mean square of eta.
        inner = np.zeros((n_orders, len(self.noise), 3))
        basis = np.stack([self.beta, self.eta_beta, self.eta_beta**2], axis=1)
        for k, noise in enumerate(self.noise):
            weighted = self.log_likelihood(slice(None), noise) + self.log_weight_beta
            peaks[:, k], top = _peak(weighted)
            weight = np.exp(weighted - np.where(np.isfinite(top), top, 0.0)[:, None])
            total = weight.sum(axis=1)
            inner[:, k] = (weight @ basis) / np.where(total > 0.0, total, 1.0)[:, None]
            with np.errstate(divide="ignore"):
                self.by_noise[:, k] = top + np.log(total) + self.log_weight_noise[k]
        peaks += self.log_weight_noise
        log_evidence = np.logaddexp.reduce(self.by_noise, axis=1)
        possible = np.isfinite(log_evidence)
        share = np.exp(self.by_noise - np.where(possible, log_evidence, 0.0)[:, None])
        mean_beta = (share * inner[:, :, 0]).sum(axis=1)
        mean_noise = share @ self.noise
        reach = _peak(peaks)[0] + (0.0 if log_prior is None else log_prior)
        matter = possible & (reach >= reach.max(initial=-np.inf, where=possible) - _NEGLIGIBLE)
        narrow = self._is_narrow(share, inner[:, :, 1], inner[:, :, 2])
        for order in np.flatnonzero(matter & narrow):
            own = self._refine(int(order), peaks[order])
            self.own[int(order)] = own
            weights = own.weights
            log_evidence[order] = own.log_evidence
            mean_beta[order] = weights.sum(axis=0) @ own.beta
            mean_noise[order] = weights.sum(axis=1) @ own.noise
        return log_evidence, mean_beta, mean_noise

    def _is_narrow(self, share: Array, mean: Array, square: Array) -> NDArray[np.bool_]:
        """Return which orders have a bell, given the other scalar, that is narrow for the grid."""
        spread = np.sqrt(np.maximum((share * (square - mean**2)).sum(axis=1), 0.0))
        narrow = np.zeros(len(share), dtype=bool)
        if len(self.beta) > 1:
            narrow |= spread < _STEPS_PER_SD * STEP_BETA
        if len(self.noise) > 1:
            centre = share @ self.eta_noise
            variance = share @ self.eta_noise**2 - centre**2
            # Less what beta explains of it, for a line of means.
            middle = (share * mean).sum(axis=1)
            across = (share * (mean - middle[:, None]) ** 2).sum(axis=1)
            whole = np.maximum(across + spread**2, 1e-300)
            conditional = variance * spread**2 / whole if len(self.beta) > 1 else variance
            narrow |= np.sqrt(np.maximum(conditional, 0.0)) < _STEPS_PER_SD * STEP_NOISE
        return narrow

    def _refine(self, order: int, peaks: Array) -> OwnGrid:
        """Shrink a grid around the bell of one order until the step is at most half an sd."""
        near = np.flatnonzero(peaks >= peaks.max() - _NEGLIGIBLE)
        eta_noise = self.eta_noise[max(0, near[0] - 1) : near[-1] + 2]
        eta_beta = self.eta_beta
        n_nodes = _OWN_NODES
        log_joint = self._log_joint(order, eta_beta, eta_noise)
        while True:
            widths = (np.ptp(eta_beta), np.ptp(eta_noise))
            rows, columns = np.nonzero(log_joint >= log_joint.max() - _NEGLIGIBLE)
            eta_beta = _spread(eta_beta, columns, n_nodes)
            eta_noise = _spread(eta_noise, rows, n_nodes)
            log_joint = self._log_joint(order, eta_beta, eta_noise)
            if _is_fine(log_joint, eta_beta, eta_noise) or n_nodes >= _MOST_NODES:
                break
            if np.ptp(eta_beta) >= 0.8 * widths[0] and np.ptp(eta_noise) >= 0.8 * widths[1]:
                n_nodes = 2 * n_nodes - 1
        return OwnGrid(
            self.axis_beta.values(eta_beta), self.axis_noise.values(eta_noise), log_joint
        )

    def _log_joint(self, order: int, eta_beta: Array, eta_noise: Array) -> Array:
        """Return log of likelihood x prior x cell of one order, (noise, beta)."""
        mine = np.flatnonzero(self.counts[order])
        counts, off = self.counts[order, mine], self.off_frontier[mine]
        log_q = self._log_q(mine, self.axis_beta.values(eta_beta))
        q = np.where(off[:, None], 0.0, np.exp(log_q))
        floor = 1.0 / self.kinds[2][mine][:, None]
        result = np.empty((len(eta_noise), len(eta_beta)))
        for k, noise in enumerate(self.axis_noise.values(eta_noise)):
            log_p = log_q if noise == 0.0 else np.log((1.0 - noise) * q + noise * floor)
            result[k] = counts @ log_p
        prior_beta = self.axis_beta.log_weights(eta_beta)
        return result + prior_beta + self.axis_noise.log_weights(eta_noise)[:, None]

    def draw_scalars(
        self, chosen: NDArray[np.int64], generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """Draw (beta, noise) given each chosen order, from the nodes: noise first, then beta."""
        beta, noise = np.empty(len(chosen)), np.empty(len(chosen))
        for order, own in self.own.items():
            mine = np.flatnonzero(chosen == order)
            upto = np.cumsum(np.exp(own.log_joint - own.log_joint.max()))
            node = np.searchsorted(upto, generator.random(len(mine)) * upto[-1], side="right")
            beta[mine] = own.beta[node % len(own.beta)]
            noise[mine] = own.noise[node // len(own.beta)]
        shared = np.flatnonzero(~np.isin(chosen, list(self.own)))
        noise_node = _draw(self.by_noise[chosen[shared]], generator)
        for k in np.unique(noise_node):
            mine = shared[noise_node == k]
            orders, which = np.unique(chosen[mine], return_inverse=True)
            log_weight = self.log_likelihood(orders, self.noise[k]) + self.log_weight_beta
            beta[mine] = self.beta[_draw(log_weight[which], generator)]
            noise[mine] = self.noise[k]
        return beta, noise


def _draw(log_weight: Array, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw a column for every row of log weights."""
    upto = np.cumsum(np.exp(log_weight - log_weight.max(axis=1, keepdims=True)), axis=1)
    target = generator.random(len(upto)) * upto[:, -1]
    return (upto <= target[:, None]).sum(axis=1)


def _normalised(log_weight: Array) -> Array:
    return np.asarray(log_weight - np.logaddexp.reduce(log_weight))


def _peak(values: Array) -> tuple[Array, Array]:
    """Return the top of a parabola through the highest node and its neighbours, and that node."""
    rows = np.arange(len(values))
    at = values.argmax(axis=1)
    top = values[rows, at]
    if values.shape[1] < 3:
        return top, top
    inner = np.clip(at, 1, values.shape[1] - 2)
    left, middle, right = values[rows, inner - 1], values[rows, inner], values[rows, inner + 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        rise = (right - left) ** 2 / (8.0 * (2.0 * middle - left - right))
    usable = (inner == at) & np.isfinite(rise)
    return np.where(usable, top + np.where(usable, rise, 0.0), top), top


def _spread(eta: Array, near: NDArray[np.int64], n_nodes: int) -> Array:
    """Return evenly spread nodes from just before the first near node to just after the last."""
    if len(eta) == 1:
        return eta
    low, high = max(0, near.min() - 1), min(len(eta) - 1, near.max() + 1)
    return np.linspace(eta[low], eta[high], n_nodes)


def _is_fine(log_joint: Array, eta_beta: Array, eta_noise: Array) -> bool:
    """Return whether either step is at most half the sd given the other scalar."""
    weight = np.exp(log_joint - log_joint.max())
    weight /= weight.sum()
    by_beta, by_noise = weight.sum(axis=0), weight.sum(axis=1)
    beta, noise = eta_beta - by_beta @ eta_beta, eta_noise - by_noise @ eta_noise
    var_beta, var_noise = by_beta @ beta**2, by_noise @ noise**2
    explained = 0.0
    if len(beta) > 1 and len(noise) > 1 and var_beta * var_noise > 0.0:
        explained = min((noise @ weight @ beta) ** 2 / (var_beta * var_noise), 1.0)
    return all(
        len(eta) == 1 or eta[1] - eta[0] <= 0.5 * np.sqrt(variance * (1.0 - explained))
        for eta, variance in ((beta, var_beta), (noise, var_noise))
    )


def _count_kinds(
    traces: Traces, orders: AllOrders
) -> tuple[NDArray[np.float64], tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Count, for every order, the steps of each kind.

    A kind is (successors of the taken item or off the frontier; histogram of successor counts on
    the frontier; size of the remainder), written as one number.
    """
    coded = []
    weights = []
    for row in range(traces.n_unique):
        members = traces.choice_set(row)
        for t in range(int(traces.n_listed[row])):
            rest = members[t:]
            inside = orders.closures[:, rest[:, None], rest[None, :]]
            on_frontier = np.logical_not(inside.any(axis=1))
            successors = inside.sum(axis=2)
            histogram = (on_frontier * _BASE**successors).sum(axis=1)
            taken = np.where(on_frontier[:, 0], successors[:, 0], _OFF_FRONTIER)
            coded.append((histogram * _BASE + taken) * _BASE + len(rest))
            weights.append(traces.counts[row])
    if not coded:
        empty = np.zeros(0, dtype=np.int64)
        none = np.zeros((0, LARGEST), dtype=np.int64)
        return np.zeros((len(orders.closures), 0)), (empty, none, empty)
    kinds, position = np.unique(np.array(coded), return_inverse=True)
    position = position.reshape(len(coded), -1)
    counts = np.zeros((len(orders.closures), len(kinds)))
    for step, weight in enumerate(weights):
        counts[np.arange(len(counts)), position[step]] += weight
    remaining = kinds % _BASE
    taken = kinds // _BASE % _BASE
    digits = kinds[:, None] // _BASE**2 // _BASE ** np.arange(LARGEST) % _BASE
    return counts, (taken, digits, remaining)
