"""The paper's generator: a latent order, hard frontier-softmax traces, chosen for coverage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.errors import SettingError
from posetta.model.coverage import choose_for_coverage, coverage
from posetta.model.hard import LARGEST_EXPONENT, check_scalars
from posetta.model.latent import correlate, product_order
from posetta.model.model import is_number, is_whole
from posetta.order import Poset
from posetta.rng import child

# Candidate traces for the greedy choice: enough that rare reversals are among them, few enough
# that a thousand items (about 1 ms a trace) stay within half a minute.
_FEWEST_CANDIDATES_PER_ITEM = 4
_CANDIDATES = 4000


@dataclass(frozen=True)
class Simulation:
    """Simulated data and the truth behind them."""

    order: Poset
    train: Traces
    test: Traces
    ip_cov: float
    """Realised incomparable-pair coverage of ``train``."""
    latent: NDArray[np.float64] | None
    """The latent matrix U behind the order; None when the order was given."""
    beta: float
    noise: float


def simulate(
    n_items: int | None = None,
    *,
    order: Poset | None = None,
    dim: int | None = None,
    rho: float | None = None,
    beta: float = 1.0,
    seed: int,
    n_traces: int | None = None,
    n_test: int | None = None,
    ip_cov: float | None = 1.0,
    lengths: int | float | tuple[int, int] | None = None,
    noise: float = 0.0,
) -> Simulation:
    """Simulate an order and traces of it.

    The order is the product order of latent rows N(0, Sigma_rho) in ``dim`` columns (defaults 4
    and 0.5), or the given ``order``. Training traces are chosen greedily from frontier-softmax
    draws until a fraction ``ip_cov`` of the incomparable pairs is shown in both orders: at least n
    and at most 2n of them, or exactly ``n_traces``. A target below 1 is approached evenly over the
    fewest traces allowed, by taking the draw that keeps closest to the pace. ``ip_cov=None``
    gives i.i.d. traces (n unless ``n_traces`` says otherwise): calibration checks need those,
    because the greedy choice biases beta. Test traces, a fifth as many unless ``n_test`` says
    otherwise, are always i.i.d.

    Not every target can be reached. Full coverage stays out of reach when a large beta all but
    rules out one order of a pair, when the traces are too few or too short, and with more than 200
    items when a pool of a few thousand draws does not show every pair both ways. A low target is
    overshot when every draw shows much that is new. The result's ``ip_cov`` is what was reached.

    ``lengths`` draws every trace over its own random subset of the items: a number of items, a
    fraction of them, or a range (lowest, highest). ``noise`` mixes each step with a uniform choice
    from the remaining items.
    """
    _check_numbers(beta=beta, noise=noise, rho=rho, ip_cov=ip_cov)
    check_scalars(beta=beta, noise=noise)
    if order is not None and not isinstance(order, Poset):
        raise SettingError(f"order={order!r} is not a Poset.")
    if order is None:
        n = _check_size(n_items, "n_items")
        dim = 4 if dim is None else _check_size(dim, "dim")
        rho = 0.5 if rho is None else rho
        if not 0.0 <= rho < 1.0:
            raise SettingError(f"rho={rho} must lie in [0, 1).")
        latent = correlate(child(seed, "latent").standard_normal((n, dim)), rho)
        width = len(str(n - 1))
        order = Poset.from_closure(product_order(latent), [f"i{i:0{width}d}" for i in range(n)])
    else:
        if not (n_items is None and dim is None and rho is None):
            raise SettingError("a given order leaves no use for n_items, dim and rho: drop them.")
        latent = None
    n = order.n_items
    if ip_cov is not None and not 0.0 <= ip_cov <= 1.0:
        raise SettingError(f"ip_cov={ip_cov} must lie in [0, 1], or be None for i.i.d. traces.")
    if n_traces is not None:
        _check_size(n_traces, "n_traces")
    if n_test is not None:
        _check_size(n_test, "n_test", lowest=0)

    def draw(count: int, *purpose: str | int) -> list[NDArray[np.int64]]:
        generator = child(seed, *purpose)
        subsets = _draw_subsets(n, lengths, count, generator)
        return draw_traces(order.closure, beta, noise, subsets, generator)

    if ip_cov is None:
        rows = draw(n if n_traces is None else n_traces, "train")
    else:
        fewest, most = (n, 2 * n) if n_traces is None else (n_traces, n_traces)
        candidates = max(_CANDIDATES, _FEWEST_CANDIDATES_PER_ITEM * n, 2 * most)
        rows = choose_for_coverage(
            order, lambda k: draw(candidates, "train", *([k] if k else [])), fewest, most, ip_cov
        )
    test_rows = draw(max(1, round(len(rows) / 5)) if n_test is None else n_test, "test")
    train = _as_traces(rows, order)
    return Simulation(
        order=order,
        train=train,
        test=_as_traces(test_rows, order),
        ip_cov=coverage(PairEvidence.of(train), order),
        latent=latent,
        beta=float(beta),
        noise=float(noise),
    )


def draw_traces(
    closure: NDArray[np.bool_],
    beta: float,
    noise: float,
    subsets: list[NDArray[np.int64]],
    generator: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Draw one frontier-softmax trace over each subset of items (eq. frontier_softmax_choice)."""
    if not subsets:
        return []
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in subsets])])
    members = np.concatenate(subsets)
    uniforms = generator.random((2, len(members)))
    drawn = np.empty_like(members)
    closure = np.ascontiguousarray(closure)
    successors = _lists(closure)
    predecessors = _lists(np.ascontiguousarray(closure.T))
    _draw(successors, predecessors, float(beta), float(noise), members, offsets, uniforms, drawn)
    return np.split(drawn, offsets[1:-1])


def _lists(relation: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns that are true in each row, rows one after another, and where they end."""
    return np.nonzero(relation)[1], np.concatenate([[0], np.cumsum(relation.sum(axis=1))])


@njit(cache=True, nogil=True)
def _draw(
    successors: tuple[NDArray[np.int64], NDArray[np.int64]],
    predecessors: tuple[NDArray[np.int64], NDArray[np.int64]],
    beta: float,
    noise: float,
    members: NDArray[np.int64],
    offsets: NDArray[np.int64],
    uniforms: NDArray[np.float64],
    drawn: NDArray[np.int64],
) -> None:
    """Draw traces one after another.

    Each step scans the remaining items once for the frontier and then touches only the frontier and
    the relatives of the item taken.
    """
    after, after_end = successors
    before, before_end = predecessors
    n = len(after_end) - 1
    utility = beta * np.log(1.0 + np.arange(n))
    # Relative weights from a table, unless the smallest would vanish beside the largest.
    tabulated = utility[n - 1] < LARGEST_EXPONENT
    power = np.exp(np.minimum(utility, LARGEST_EXPONENT))
    place = np.full(n, -1)  # of an item among the remaining ones; -1 for the others
    remaining = np.empty(n, dtype=np.int64)
    n_before = np.empty(n, dtype=np.int32)
    n_after = np.empty(n, dtype=np.int32)
    frontier = np.empty(n, dtype=np.int64)
    weight = np.empty(n)
    for r in range(len(offsets) - 1):
        size = offsets[r + 1] - offsets[r]
        for a in range(size):
            remaining[a] = members[offsets[r] + a]
            place[remaining[a]] = a
            n_before[a] = 0
        for a in range(size):
            x = remaining[a]
            count = 0
            for b in after[after_end[x] : after_end[x + 1]]:
                if place[b] >= 0:
                    n_before[place[b]] += 1
                    count += 1
            n_after[a] = count
        for t in range(size):
            at = offsets[r] + t
            left = size - t
            uniform_step = uniforms[0, at] < noise
            width = 0
            for a in range(left):
                if uniform_step or n_before[a] == 0:
                    frontier[width] = a
                    width += 1
            total = 0.0
            if uniform_step:
                weight[:width] = 1.0
                total = float(width)
            elif tabulated:
                for c in range(width):
                    weight[c] = power[n_after[frontier[c]]]
                    total += weight[c]
            else:
                most = 0  # the largest successor count on the frontier: weights are relative to it
                for c in range(width):
                    most = max(most, n_after[frontier[c]])
                for c in range(width):
                    weight[c] = np.exp(utility[n_after[frontier[c]]] - utility[most])
                    total += weight[c]
            # Walk to the chosen one; `chosen` ends at the last candidate if rounding runs over.
            target = uniforms[1, at] * total
            chosen = -1
            for c in range(width):
                if weight[c] > 0.0:
                    chosen = frontier[c]
                    target -= weight[c]
                    if target < 0.0:
                        break
            x = remaining[chosen]
            drawn[at] = x
            for b in after[after_end[x] : after_end[x + 1]]:
                if place[b] >= 0:
                    n_before[place[b]] -= 1
            if n_before[chosen] > 0:  # only a uniform step leaves predecessors behind
                for b in before[before_end[x] : before_end[x + 1]]:
                    if place[b] >= 0:
                        n_after[place[b]] -= 1
            last = remaining[left - 1]
            remaining[chosen] = last
            n_before[chosen] = n_before[left - 1]
            n_after[chosen] = n_after[left - 1]
            place[last] = chosen
            place[x] = -1


def _draw_subsets(
    n: int,
    lengths: int | float | tuple[int, int] | None,
    count: int,
    generator: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Draw the item subset of each trace; everything when ``lengths`` is None."""
    if lengths is None:
        return [np.arange(n)] * count
    if isinstance(lengths, tuple) and len(lengths) == 2:
        low, high = lengths
    elif isinstance(lengths, float):
        if not 0.0 < lengths <= 1.0:
            raise SettingError(f"lengths={lengths} as a fraction must lie in (0, 1].")
        low = high = max(1, round(lengths * n))
    else:
        low = high = lengths
    if not (is_whole(low) and is_whole(high)):
        raise SettingError(
            f"lengths={lengths!r} must be a number of items, a fraction of them, or a range "
            "(lowest, highest)."
        )
    if not 1 <= low <= high <= n:
        raise SettingError(f"lengths={lengths} must lie in 1 .. {n}, the number of items.")
    sizes = generator.integers(low, high, size=count, endpoint=True)
    return [generator.choice(n, size=size, replace=False) for size in sizes]


def _as_traces(rows: list[NDArray[np.int64]], order: Poset) -> Traces:
    return Traces.from_lists([[order.items[i] for i in row] for row in rows], items=order.items)


def _check_size(value: int | None, name: str, lowest: int = 1) -> int:
    if value is None or not is_whole(value) or value < lowest:
        raise SettingError(f"{name}={value!r} must be a whole number from {lowest}.")
    return int(value)


def _check_numbers(**values: float | None) -> None:
    for name, value in values.items():
        if not is_number(value) and (value is not None or name in ("beta", "noise")):
            raise SettingError(f"{name}={value!r} is not a number.")
