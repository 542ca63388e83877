"""The hard frontier-softmax likelihood (eq. frontier_softmax_full) with the noise mixture.

At step t of a row with remainder R_t, only the maximal items of R_t may be chosen:

    q_t(x) = (1 + S_t(x))^beta / sum_{a in F_t} (1 + S_t(a))^beta      for x in the frontier F_t
    p_t(x) = (1 - noise) q_t(x) + noise / |R_t|

with S_t(x) the number of remaining items that must follow x. With noise 0 (the paper) a trace that
breaks the order has probability 0.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from posetta.data import Traces
from posetta.errors import InputError, SettingError
from posetta.order import Poset
from posetta.order.gate import check_strict_order
from posetta.order.relation import as_relation

# e^690 = 1e299 leaves room below overflow for a sum over the frontier.
LARGEST_EXPONENT = 690.0


@njit(cache=True, nogil=True, error_model="numpy")
def step_log_probabilities(
    closure: NDArray[np.bool_],
    beta: float,
    noise: float,
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    steps: NDArray[np.float64],
) -> None:
    """Fill ``steps`` with log p_t of every listed step of every row, row after row.

    Going backwards, each step adds one item to the remainder and updates the number of remaining
    predecessors and successors of the others: O(size^2) a row. (1 + S)^beta takes few values and
    comes from a table, unless beta is so large that it would overflow.
    """
    widest = 0
    for r in range(len(n_listed)):
        widest = max(widest, offsets[r + 1] - offsets[r])
    utility = beta * np.log(1.0 + np.arange(widest))
    overflows = widest > 0 and utility[widest - 1] > LARGEST_EXPONENT
    power = np.exp(np.minimum(utility, LARGEST_EXPONENT))
    n_before = np.empty(widest, dtype=np.int64)
    n_after = np.empty(widest, dtype=np.int64)
    first_step = 0
    for r in range(len(n_listed)):
        row = members[offsets[r] : offsets[r + 1]]
        size, listed = len(row), n_listed[r]
        for t in range(size - 1, -1, -1):
            x = row[t]
            before, after = 0, 0
            for a in range(t + 1, size):
                precedes = closure[x, row[a]]
                follows = closure[row[a], x]
                n_before[a] += precedes
                n_after[a] += follows
                before += follows
                after += precedes
            n_before[t] = before
            n_after[t] = after
            if t < listed:
                log_q = -np.inf
                if before == 0:
                    total, top = 0.0, 0.0
                    if overflows:
                        for a in range(t, size):
                            if n_before[a] == 0:
                                top = max(top, utility[n_after[a]])
                    for a in range(t, size):
                        if n_before[a] == 0:
                            s = n_after[a]
                            total += np.exp(utility[s] - top) if overflows else power[s]
                    log_q = utility[after] - top - np.log(total)
                if noise > 0.0:
                    log_q = np.log((1.0 - noise) * np.exp(log_q) + noise / (size - t))
                steps[first_step + t] = log_q
        first_step += listed


def hard_step_log_probabilities(
    closure: NDArray[np.bool_], beta: float, traces: Traces, noise: float = 0.0
) -> NDArray[np.float64]:
    """Return log p_t of every listed step, rows of ``traces`` one after another (one copy each)."""
    checked = _checked_closure(closure, traces)
    check_scalars(beta=beta, noise=noise)
    steps = np.empty(traces.n_steps)
    step_log_probabilities(checked, float(beta), float(noise), *traces.arrays[:3], steps)
    return steps


def hard_trace_log_likelihood(
    closure: NDArray[np.bool_], beta: float, traces: Traces, noise: float = 0.0
) -> NDArray[np.float64]:
    """Return the log probability of ONE copy of each unique row."""
    return sum_steps(hard_step_log_probabilities(closure, beta, traces, noise), traces)


def hard_log_likelihood(
    closure: NDArray[np.bool_], beta: float, traces: Traces, noise: float = 0.0
) -> float:
    """Return the count-weighted log-likelihood of all traces (eq. frontier_softmax_full)."""
    return float(hard_trace_log_likelihood(closure, beta, traces, noise) @ traces.counts)


def _checked_closure(closure: ArrayLike, traces: Traces) -> NDArray[np.bool_]:
    """Return the closure as the kernel takes it; refuse what is no strict order, in O(n^2).

    Every item before i is before whatever i precedes, and so is i: along a strict order the number
    of predecessors rises and the number of successors falls. No cycle can do that. (A relation
    that is acyclic and not closed is refused where the numbers show it; looking at all triples
    would cost more than the likelihood.)
    """
    if isinstance(closure, Poset):
        raise InputError("expected a closure matrix; got a Poset. Pass poset.closure.")
    matrix = np.asarray(closure)
    if matrix.shape != (traces.n_items, traces.n_items):
        raise InputError(
            f"expected a closure of shape {(traces.n_items, traces.n_items)}, one row per item of "
            f"the traces; got {matrix.shape}."
        )
    relation = np.ascontiguousarray(as_relation(matrix))
    n_before, n_after = relation.sum(axis=0), relation.sum(axis=1)
    rises = (n_before[:, None] < n_before) & (n_after[:, None] > n_after)
    if (relation & ~rises).any():
        check_strict_order(relation, traces.items)
    return relation


def sum_steps(steps: NDArray[np.float64], traces: Traces) -> NDArray[np.float64]:
    """Add up the listed steps of each unique row."""
    if traces.n_unique == 0:
        return np.zeros(0)
    starts = np.concatenate([[0], np.cumsum(traces.n_listed)[:-1]])
    return np.add.reduceat(steps, starts)


def check_scalars(**scalars: float) -> None:
    """Refuse scalars outside the model's range, by name."""
    for name, value in scalars.items():
        if not np.isfinite(value):
            raise SettingError(f"{name}={value} is not a finite number.")
        if name in ("gamma", "tau") and value <= 0.0:
            raise SettingError(f"{name}={value} must be greater than 0.")
        if name == "beta" and value < 0.0:
            raise SettingError(f"beta={value} must be at least 0.")
        if name == "noise" and not 0.0 <= value < 1.0:
            raise SettingError(f"noise={value} must lie in [0, 1).")
