"""Mean absolute difference of pair probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.posterior.examples import TRAIN, hard_posterior, three_draws

from posetta import InputError, Traces, fit
from posetta.evaluate import closure_agreement, closure_mae
from posetta.order import Poset


def with_precedence(items, precedence):
    traces = Traces.from_lists([], items=items)
    posterior = hard_posterior([np.zeros((len(items), len(items)))], [1.0], [0.0], traces)
    return replace(posterior, precedence=precedence)


def test_by_hand():
    chain = Poset.from_chain(list("abc"))
    # Three draws: P(ab) = P(ac) = 2/3 and P(bc) = 1/3; six ordered pairs.
    assert closure_mae(three_draws(), chain) == pytest.approx((1 / 3 + 1 / 3 + 2 / 3) / 6)
    assert closure_mae(chain, three_draws()) == pytest.approx((1 / 3 + 1 / 3 + 2 / 3) / 6)
    assert closure_mae(three_draws(), three_draws()) == 0.0


def test_a_point_counts_as_zeros_and_ones():
    point = fit(TRAIN, "maximal")
    assert closure_mae(point, Poset.antichain(list("abc"))) == pytest.approx(3 / 6)
    assert closure_mae(Poset.from_chain(list("abc")), Poset.from_chain(list("cba"))) == 1.0


def test_against_a_loop_over_labels():
    generator = np.random.default_rng(5)
    items = list("abcd")
    turned = ["c", "a", "d", "b"]
    P, Q = (generator.random((4, 4)) * (1 - np.eye(4)) for _ in range(2))
    expected = np.mean(
        [
            abs(P[items.index(x), items.index(y)] - Q[turned.index(x), turned.index(y)])
            for x in items
            for y in items
            if x != y
        ]
    )
    found = closure_mae(with_precedence(items, P), with_precedence(turned, Q))
    assert found == pytest.approx(expected)
    assert found != pytest.approx(np.abs(P - Q).sum() / 12)


def test_one_item_differs_by_nothing():
    assert closure_mae(Poset.antichain(["a"]), Poset.antichain(["a"])) == 0.0


def test_different_items_are_refused():
    with pytest.raises(InputError, match="different items"):
        closure_mae(Poset.antichain(["a", "b"]), Poset.antichain(["a", "c"]))


# -- agreement -------------------------------------------------------------------------------------


def random_pair(n=7):
    generator = np.random.default_rng(9)
    items = [f"i{k}" for k in range(n)]
    P = np.round(generator.random((n, n)), 1) * (1 - np.eye(n))  # rounded, so that ties occur
    Q = np.clip(P + 0.3 * generator.standard_normal((n, n)), 0, 1) * (1 - np.eye(n))
    return items, P, Q


def off_diagonal(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


def test_agreement_against_scipy():
    items, P, Q = random_pair()
    turned = [3, 1, 4, 0, 6, 5, 2]
    second = with_precedence([items[k] for k in turned], Q[np.ix_(turned, turned)])
    found = closure_agreement(with_precedence(items, P), second)
    p, q = off_diagonal(P), off_diagonal(Q)
    assert found.mae == pytest.approx(np.abs(p - q).mean())
    assert found.mae == pytest.approx(closure_mae(with_precedence(items, P), second))
    assert found.pearson == pytest.approx(stats.pearsonr(p, q).statistic)
    assert found.spearman == pytest.approx(stats.spearmanr(p, q).statistic)
    assert found.n_pairs == 42


def test_agreement_errors_from_leaving_out_items():
    items, P, Q = random_pair()
    found = closure_agreement(with_precedence(items, P), with_precedence(items, Q))
    left_out = []
    for k in range(7):
        kept = np.ix_(*[[i for i in range(7) if i != k]] * 2)
        p, q = off_diagonal(P[kept]), off_diagonal(Q[kept])
        left_out.append((np.abs(p - q).mean(), stats.pearsonr(p, q)[0], stats.spearmanr(p, q)[0]))
    errors = np.sqrt(6 * np.var(left_out, axis=0))
    measured = (found.mae, found.pearson, found.spearman)
    assert [one.standard_error for one in measured] == pytest.approx(errors)


def test_agreement_by_hand():
    chain = Poset.from_chain(list("abc"))
    same = closure_agreement(chain, chain)
    assert (same.mae, same.pearson, same.spearman) == (0.0, pytest.approx(1), pytest.approx(1))
    against = closure_agreement(chain, Poset.from_chain(list("cba")))
    assert (against.mae, against.pearson) == (1.0, pytest.approx(-1.0))


def test_what_says_nothing_correlates_with_nothing():
    found = closure_agreement(Poset.antichain(list("abc")), Poset.from_chain(list("abc")))
    assert found.mae == 0.5
    assert np.isnan(found.pearson)
    assert found.pearson.standard_error is None
    with pytest.raises(InputError, match="at least two items"):
        closure_agreement(Poset.antichain(["a"]), Poset.antichain(["a"]))
    with pytest.raises(InputError, match="different items"):
        closure_agreement(Poset.antichain(["a", "b"]), Poset.antichain(["a", "c"]))
