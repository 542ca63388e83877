"""Where hard chains start: columns arranged to the pairs that the traces show."""

from __future__ import annotations

import numpy as np
import pytest

from posetta import HardMCMC, InputError, Model, Traces, fit, simulate
from posetta.data.evidence import PairEvidence
from posetta.infer.hard.arrange import arrange
from posetta.infer.hard.start import _without, start_latent
from posetta.model.latent import product_order


def product(ranks: np.ndarray) -> np.ndarray:
    return (ranks[:, :, None] < ranks[:, None, :]).all(axis=0)


@pytest.mark.parametrize(("n", "dim"), [(1, 2), (6, 2), (12, 3), (25, 4)])
def test_an_order_of_few_dimensions_is_found(n: int, dim: int) -> None:
    """The product order of random latents has a realizer of that size; another one is found."""
    closure = product_order(np.random.default_rng(n).normal(size=(n, dim)))
    forbidden = ~closure & ~np.eye(n, dtype=bool)
    ranks = arrange(closure.astype(float), forbidden, dim, 4000, np.random.default_rng(1))
    np.testing.assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(n), (dim, 1)))
    np.testing.assert_array_equal(product(ranks), closure)


def test_forbidden_pairs_are_parted_even_where_too_few_columns_cost_wanted_ones() -> None:
    """The crown of four pairs has dimension 4: in two columns wanted pairs have to go."""
    closure = np.zeros((8, 8), dtype=bool)
    closure[:4, 4:] = ~np.eye(4, dtype=bool)
    forbidden = ~closure & ~np.eye(8, dtype=bool)
    for seed in range(10):
        ranks = arrange(closure.astype(float), forbidden, 2, 50, np.random.default_rng(seed))
        found = product(ranks)
        assert not (found & forbidden).any()
        assert 0 < found.sum() < closure.sum()
    ranks = arrange(closure.astype(float), forbidden, 4, 4000, np.random.default_rng(0))
    np.testing.assert_array_equal(product(ranks), closure)


def test_a_start_contradicts_no_trace_and_holds_most_of_what_they_show() -> None:
    traces = simulate(20, rho=0.5, seed=3, ip_cov=None, n_traces=20, lengths=0.6).train
    before = PairEvidence.of(traces).before
    shown = (before > 0) & (before.T == 0)
    starts = [start_latent(traces, 4, False, np.random.default_rng(c)) for c in range(4)]
    for latent in starts:
        closure = product_order(latent)
        assert not (closure & (before.T > 0)).any()
        assert (closure & shown).sum() > 0.8 * shown.sum()
    assert len({latent.tobytes() for latent in starts}) == 4


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_pairs_that_remain_forbidden_cost_few_items_their_relations(share: float) -> None:
    generator = np.random.default_rng(5)
    latent = generator.normal(size=(30, 3))
    closure = product_order(latent)
    forbidden = closure & (generator.random(closure.shape) < share)
    mended = product_order(_without(forbidden, latent.copy()))
    assert not (mended & forbidden).any()
    free = ~(mended | mended.T).any(axis=0)
    untouched = ~free | ~(closure | closure.T).any(axis=0)
    assert (mended == closure)[np.ix_(untouched, untouched)].all()
    assert not mended[free].any()
    if share == 0.02:
        assert free.sum() < 10


def test_with_noise_a_pair_that_is_rarely_reversed_may_be_held() -> None:
    traces = Traces.from_lists([list("abc")] * 19 + [list("bac")])
    latent = start_latent(traces, 2, True, np.random.default_rng(0))
    i, j = (traces.items.index(label) for label in "ab")
    assert product_order(latent)[i, j]
    even = Traces.from_lists([list("abc")] * 10 + [list("bac")] * 10)
    latent = start_latent(even, 2, True, np.random.default_rng(0))
    assert not (product_order(latent) | product_order(latent).T)[i, j]


def test_one_column_holds_a_total_order_that_the_traces_agree_on() -> None:
    agreeing = Traces.from_lists([list("abd"), list("bc"), list("cd")])
    latent = start_latent(agreeing, 1, False, np.random.default_rng(0))
    order = np.argsort(-latent[:, 0])
    assert [agreeing.items[i] for i in order] == list("abcd")
    circle = Traces.from_lists([list("ab"), list("bc"), list("ca")])
    with pytest.raises(InputError, match="larger dim"):
        fit(circle, HardMCMC(draws=4, warmup=0), Model(dim=1))
