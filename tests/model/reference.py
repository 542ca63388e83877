"""Slow definitions, straight from the paper's equations, that settle what posetta.model returns.

The relaxed model is written in 60-digit decimal arithmetic: every product, sum and power can then
stand as it does in the paper, with no logarithms to keep it in range, and a difference quotient
with a step of 1e-25 is a derivative for all purposes.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from functools import wraps
from itertools import permutations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.special import expit

from posetta.data import Traces

LETTERS = list("abcdefghij")


def rows(traces):
    """Yield (listed items, choice set, count) of every unique row."""
    for r in range(traces.n_unique):
        yield traces.sequence(r).tolist(), traces.choice_set(r).tolist(), int(traces.counts[r])


def remainders(listed, choice_set):
    """Yield (chosen item, remaining items) of every listed step."""
    remaining = set(choice_set)
    for x in listed:
        yield x, set(remaining)
        remaining.remove(x)


def mix(probability, noise, remaining):
    """Mix a step with a uniform choice from the remainder."""
    return (1 - noise) * probability + noise / len(remaining)


# -- the hard model --------------------------------------------------------------------------------


def product_order(latent):
    """Return eq. hard_product_order, pair by pair."""
    n_items, dim = np.shape(latent)
    closure = np.zeros((n_items, n_items), dtype=bool)
    for i in range(n_items):
        for j in range(n_items):
            closure[i, j] = all(latent[i][k] > latent[j][k] for k in range(dim))
    return closure


def frontier(closure, remaining):
    """Return eq. frontier_definition."""
    return {x for x in remaining if not any(closure[z, x] for z in remaining)}


def successors(closure, x, remaining):
    """Return eq. frontier_softmax_descendants."""
    return sum(bool(closure[x, z]) for z in remaining)


def hard_step(closure, beta, remaining):
    """Return eq. frontier_softmax_choice as {item: probability} over the remaining items."""
    allowed = frontier(closure, remaining)
    weight = {x: (1 + successors(closure, x, remaining)) ** beta for x in allowed}
    return {x: weight.get(x, 0.0) / sum(weight.values()) for x in remaining}


def hard_log_probability(closure, beta, noise, listed, choice_set):
    """Return the log probability of one copy of one row (eq. frontier_softmax_full)."""
    probability = math.prod(
        mix(hard_step(closure, beta, remaining)[x], noise, remaining)
        for x, remaining in remainders(listed, choice_set)
    )
    return math.log(probability) if probability > 0.0 else -math.inf


def hard_log_likelihood(closure, beta, noise, traces):
    return sum(
        count * hard_log_probability(closure, beta, noise, listed, choice_set)
        for listed, choice_set, count in rows(traces)
    )


# -- the relaxed model -----------------------------------------------------------------------------


def in_decimal(function):
    """Run with 60 digits and no limit on exponents."""

    @wraps(function)
    def wrapped(*args):
        limits = {"prec": 60, "Emax": decimal.MAX_EMAX, "Emin": decimal.MIN_EMIN}
        with decimal.localcontext(**limits):
            return function(*args)

    return wrapped


@in_decimal
def soft_min(values, tau):
    """Return eq. softmin_definition."""
    tau = Decimal(tau)
    return -tau * sum((-Decimal(a) / tau).exp() for a in values).ln()


@in_decimal
def soft_margin(latent, tau, z, x):
    """Return M_U(z, x), eq. soft_margin."""
    pairs = zip(latent[z], latent[x], strict=True)
    return soft_min([Decimal(a) - Decimal(b) for a, b in pairs], tau)


@in_decimal
def precedence(latent, gamma, tau):
    """Return D_U and 1 - D_U as {(z, x): score} over distinct items (soft_pairwise_precedence)."""
    n_items = len(latent)
    pairs = [(z, x) for z in range(n_items) for x in range(n_items) if z != x]
    odds = {(z, x): (Decimal(gamma) * soft_margin(latent, tau, z, x)).exp() for z, x in pairs}
    # 1 - sigmoid(m) is 1 / (1 + e^m): written so, because sixty digits of D may all be nines.
    return {p: o / (1 + o) for p, o in odds.items()}, {p: 1 / (1 + o) for p, o in odds.items()}


@in_decimal
def relaxed_step(D, free, beta, remaining):
    """Return eq. relaxed_step_likelihood as {item: probability} over the remaining items."""
    weight = {}
    for x in remaining:
        others = remaining - {x}
        soft_frontier = math.prod((free[z, x] for z in others), start=Decimal(1))
        soft_successors = sum((D[x, z] for z in others), start=Decimal(0))
        weight[x] = soft_frontier * (1 + soft_successors) ** Decimal(beta)
    total = sum(weight.values())
    return {x: w / total for x, w in weight.items()}


@in_decimal
def relaxed_log_probability(latent, beta, gamma, tau, noise, listed, choice_set):
    """Return the log probability of one copy of one row (eq. relaxed_trace_likelihood)."""
    D, free = precedence(latent, gamma, tau)
    probability = math.prod(
        mix(relaxed_step(D, free, beta, remaining)[x], Decimal(noise), remaining)
        for x, remaining in remainders(listed, choice_set)
    )
    return probability.ln()


@in_decimal
def relaxed_log_likelihood(latent, beta, gamma, tau, noise, traces):
    return sum(
        (
            count * relaxed_log_probability(latent, beta, gamma, tau, noise, listed, choice_set)
            for listed, choice_set, count in rows(traces)
        ),
        start=Decimal(0),
    )


@in_decimal
def relaxed_derivative(latent, beta, gamma, tau, noise, traces, along):
    """Return the derivative along the direction ``(d latent, d beta, d gamma)``."""
    d_latent, d_beta, d_gamma = along
    h = Decimal("1e-25")

    def value(step):
        moved = [
            [Decimal(u) + step * Decimal(v) for u, v in zip(row, d_row, strict=True)]
            for row, d_row in zip(latent, d_latent, strict=True)
        ]
        beta_moved = Decimal(beta) + step * Decimal(d_beta)
        gamma_moved = Decimal(gamma) + step * Decimal(d_gamma)
        return relaxed_log_likelihood(moved, beta_moved, gamma_moved, tau, noise, traces)

    return (value(h) - value(-h)) / (2 * h)


# -- the soft frontier and counts, from a matrix of scores -----------------------------------------


def soft_frontier(D, x, remaining):
    """Return the relaxed frontier weight of eq. frontier_indicator_and_relaxation."""
    return math.prod(1.0 - D[z, x] for z in remaining if z != x)


def soft_successors(D, x, remaining):
    """Return the relaxed count of eq. soft_successor_terms."""
    return sum(D[x, z] for z in remaining if z != x)


def hard_margins(latent):
    """Return m_U(z, x) of eq. hard_min_mU for all pairs."""
    latent = np.asarray(latent)
    return (latent[:, None, :] - latent[None, :, :]).min(axis=2)


def separation(latent, remaining):
    """Return delta_t(U) of eq. local_separation_margin."""
    margins = hard_margins(latent)
    return min(abs(margins[z, x]) for z in remaining for x in remaining if z != x)


# -- the unconstrained target ----------------------------------------------------------------------


def covariance(rho, dim):
    return (1.0 - rho) * np.eye(dim) + rho * np.ones((dim, dim))


def symmetric_root(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def log_target(model, traces, w):
    """Return log p(D, w): likelihood, normalised prior densities and the Jacobian."""
    n_items, dim = traces.n_items, model.dim
    z = np.reshape(w[: n_items * dim], (n_items, dim))
    etas = list(w[n_items * dim :])
    value = stats.norm.logpdf(z).sum()
    scalars = {}
    for name in ("rho", "beta", "gamma", "noise"):
        scalars[name] = getattr(model, name)
        if scalars[name] is not None:
            continue
        eta = etas.pop(0)
        a, b = getattr(model, name + "_prior")
        if name in ("rho", "noise"):
            x = scalars[name] = float(expit(eta))
            value += stats.beta.logpdf(x, a, b) + math.log(x) + math.log1p(-x)
        else:
            x = scalars[name] = math.exp(eta)
            value += stats.gamma.logpdf(x, a, scale=1.0 / b) + eta
    latent = z @ symmetric_root(covariance(scalars["rho"], dim)).T
    likelihood = relaxed_log_likelihood(
        latent.tolist(), scalars["beta"], scalars["gamma"], model.tau, scalars["noise"], traces
    )
    return value + float(likelihood)


# -- random cases ----------------------------------------------------------------------------------


def matrices(shape, elements):
    """An array whose entries are all drawn (by default hypothesis repeats one value for most)."""
    return arrays(np.float64, shape, elements=elements, fill=st.nothing())


@st.composite
def observations(draw, n_items, max_rows=4):
    """Traces on ``n_items`` items: subsets, repeats, counts, and top-k lists with a choice set."""
    lists, counts, choice_sets = [], [], []
    for _ in range(draw(st.integers(1, max_rows))):
        order = draw(st.permutations(LETTERS[:n_items]))
        size = draw(st.integers(1, n_items))
        listed = draw(st.integers(1, size))
        lists.append(order[:listed])
        choice_sets.append(None if listed == size else order[:size])
        counts.append(draw(st.integers(1, 3)))
    return Traces.from_lists(lists, items=LETTERS[:n_items], counts=counts, choice_sets=choice_sets)


@st.composite
def latents(draw, min_items=1, max_items=6, max_dim=4, bound=3.0, whole=False):
    """A latent matrix; ``whole`` numbers make ties common."""
    shape = (draw(st.integers(min_items, max_items)), draw(st.integers(1, max_dim)))
    if whole:
        return draw(matrices(shape, st.integers(-3, 3).map(float)))
    return draw(matrices(shape, st.floats(-bound, bound, width=32)))


@st.composite
def separated_latents(draw, min_items=2, max_items=5, max_dim=4):
    """A latent matrix whose entries differ by at least 1/2 within every column."""
    n_items, dim = draw(st.integers(min_items, max_items)), draw(st.integers(1, max_dim))
    columns = [draw(st.permutations(range(n_items))) for _ in range(dim)]
    jitter = draw(matrices((n_items, dim), st.floats(0.0, 0.5, width=32)))
    return np.array(columns, dtype=float).T + jitter


def closures(**kwargs):
    """The closure of a random order (dimension 4 holds every order on up to 9 items)."""
    return latents(whole=True, **kwargs).map(product_order)


def all_lists(items, length, choice_set=False):
    """Return every ordered list of ``length`` of the ``items``, as a `Traces` over them."""
    lists = [list(p) for p in permutations(items, length)]
    choice_sets = [list(items)] * len(lists) if choice_set else None
    return Traces.from_lists(lists, items=items, choice_sets=choice_sets)
