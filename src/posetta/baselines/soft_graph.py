"""SoftDAG-Frontier's objective (appendix softdag) and its gradient.

Edge logits A give soft edges W = sigmoid(A), W_ii = 0, and soft reachability

    P = sum_{l=1}^K W^l,        R = 1 - exp(-P),  R_ii = 0,

which takes the place of the soft precedence D in the relaxed frontier likelihood. The objective is

    L(A, beta) = - log p(D | R, beta) + lambda_1 sum_ij W_ij + lambda_h h(W)^2,
    h(W) = sum_{k=1}^m tr((W o W)^k) / k!,                   m = max(K, 12),

the NOTEARS penalty tr exp(W o W) - n by its truncated series. log(1 - R) is -P exactly, and P is
capped: at the start P reaches thousands from 50 items on, and without a floor of 1 - R the
likelihood drowns the penalties and Adam ends at a graph where everything reaches everything. (The
paper's degenerate runs score exactly like the uniform choice, so its 1 - R has a floor as well; it
does not say which.) The likelihood and its derivative come from the compiled pass of the relaxed
model, which gives the derivative with respect to the logit of R; divided by R it is that of P.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from posetta.data import Traces
from posetta.model.relaxed_kernel import trace_pass

LEAST_DEGREE = 12
"""The paper's least degree of the truncated exponential."""
# P is capped where 1 - R = 1e-8. At 50 items (rho 0.5, one seed) floors from 1e-12 to 1e-6 gave F1
# 0.62 to 0.75, this one the largest; without a floor F1 was 0.
_CAP = 8.0 * np.log(10.0)
_NO_STEPS = np.empty(0)


class SoftGraph(NamedTuple):
    """Soft edges and what is reached along them."""

    edges: NDArray[np.float64]
    """W"""
    reach: NDArray[np.float64]
    """R"""
    log_free: NDArray[np.float64]
    """log(1 - R)"""


class Gradient(NamedTuple):
    """The objective with its derivatives."""

    value: float
    d_logits: NDArray[np.float64]
    d_beta: float


@dataclass(frozen=True, eq=False)
class Objective:
    """L(A, beta) for given traces and penalties."""

    traces: Traces
    path_length: int
    """K"""
    sparsity: float
    """lambda_1"""
    acyclicity: float
    """lambda_h"""
    noise: float = 0.0

    def value_and_gradient(self, logits: NDArray[np.float64], beta: float) -> Gradient:
        """Return L, dL/dA and dL/d beta."""
        graph, partial = _reach(logits, self.path_length)
        W, R, log_free = graph
        to_later, to_earlier = np.zeros_like(W), np.zeros_like(W)
        log_likelihood, d_beta, _ = _pass(
            graph, beta, self.traces, self.noise, to_later, to_earlier, _NO_STEPS
        )
        by_logit = to_later + to_earlier.T
        felt = (R > 0.0) & (log_free > -_CAP)
        d_paths = np.divide(by_logit, R, out=np.zeros_like(R), where=felt)
        # Adjoint of Horner's rule H_{k+1} = W (I + H_k), from the last to the first.
        d_edges = np.zeros_like(W)
        for below in reversed(partial):
            d_edges += d_paths + d_paths @ below.T
            d_paths = W.T @ d_paths
        penalty, d_penalty = acyclicity(W, max(self.path_length, LEAST_DEGREE))
        value = -log_likelihood + self.sparsity * W.sum() + self.acyclicity * penalty**2
        total = -d_edges + self.sparsity + 2.0 * self.acyclicity * penalty * d_penalty
        # sigmoid' = W (1 - W) is 0 on the diagonal, where W is.
        return Gradient(float(value), total * W * (1.0 - W), -d_beta)


def soft_graph(logits: NDArray[np.float64], path_length: int) -> SoftGraph:
    """Return soft edges and soft reachability."""
    return _reach(logits, path_length)[0]


def step_log_probabilities(
    graph: SoftGraph, beta: float, traces: Traces, noise: float
) -> NDArray[np.float64]:
    """Return log p_t of every listed step, rows of ``traces`` one after another (one copy each)."""
    steps = np.empty(traces.n_steps)
    unused = np.empty((0, 0))
    _pass(graph, beta, traces, noise, unused, unused, steps)
    return steps


def acyclicity(W: NDArray[np.float64], degree: int) -> tuple[float, NDArray[np.float64]]:
    """Return h(W) by its series up to ``degree``, and dh/dW."""
    n = len(W)
    squares = W * W
    term = np.eye(n)
    total = np.zeros((n, n))
    value = 0.0
    for k in range(1, degree + 1):
        total += term  # (W o W)^{k-1} / (k-1)!, the derivative of the k-th term, transposed
        term = term @ squares / k
        value += float(np.trace(term))
    return value, 2.0 * W * total.T


def _reach(
    logits: NDArray[np.float64], path_length: int
) -> tuple[SoftGraph, list[NDArray[np.float64]]]:
    """Return the graph, and H_0, ..., H_{K-1} of Horner's rule for P = H_K."""
    W = np.asarray(expit(logits))
    np.fill_diagonal(W, 0.0)
    paths = np.zeros_like(W)
    partial = []
    for _ in range(path_length):
        partial.append(paths)
        paths = W + W @ paths
    capped = np.minimum(paths, _CAP)
    np.fill_diagonal(capped, 0.0)
    return SoftGraph(W, -np.expm1(-capped), -capped), partial


def _pass(
    graph: SoftGraph,
    beta: float,
    traces: Traces,
    noise: float,
    to_later: NDArray[np.float64],
    to_earlier: NDArray[np.float64],
    steps: NDArray[np.float64],
) -> tuple[float, float, float]:
    R, log_free = graph.reach, graph.log_free
    value: tuple[float, float, float] = trace_pass(
        R,
        np.ascontiguousarray(R.T),
        log_free,
        np.ascontiguousarray(log_free.T),
        *traces.arrays,
        float(beta),
        float(noise),
        to_later.size > 0,
        to_later,
        to_earlier,
        steps,
    )
    return value
