"""Reliability, Brier score and ECE of pair probabilities."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from tests.evaluate.test_fidelity import with_precedence
from tests.posterior.examples import TRAIN, three_draws

from posetta import InputError, SettingError, fit
from posetta.evaluate import calibration
from posetta.order import Poset

CHAIN = Poset.from_chain(list("abc"))


def test_by_hand():
    # P(ab) = P(ac) = 2/3 and P(bc) = 1/3 hold; the three reversed pairs have 0 and do not.
    found = calibration(three_draws(), CHAIN, bins=2)
    assert found.brier == pytest.approx((1 / 9 + 1 / 9 + 4 / 9) / 6)
    low, high = found.bins
    assert (low.low, low.high, low.n_pairs) == (0.0, 0.5, 4)
    assert low.predicted == pytest.approx(1 / 12)
    assert low.observed == pytest.approx(1 / 4)
    assert (high.n_pairs, high.observed) == (2, 1.0)
    assert high.predicted == pytest.approx(2 / 3)
    assert found.ece == pytest.approx((4 * (1 / 4 - 1 / 12) + 2 * (1 - 2 / 3)) / 6)
    assert (found.n_pairs, found.n_results) == (6, 1)


def slow(P, truth, bins):
    """Return Brier and ECE pair by pair, and the pairs of each bin."""
    squares, held = [], [[] for _ in range(bins)]
    for i, j in permutations(range(len(P)), 2):
        y = float(truth[i, j])
        squares.append((P[i, j] - y) ** 2)
        place = next(b for b in range(bins) if b == bins - 1 or P[i, j] < (b + 1) / bins)
        held[place].append((P[i, j], y))
    gaps = [
        len(pairs) * abs(np.mean([p for p, _ in pairs]) - np.mean([y for _, y in pairs]))
        for pairs in held
        if pairs
    ]
    return np.mean(squares), sum(gaps) / len(squares), held


def random_case(seed, n=6):
    generator = np.random.default_rng(seed)
    items = [f"i{k}" for k in range(n)]
    P = generator.random((n, n)) * (1 - np.eye(n))
    P[0, 1], P[1, 0], P[2, 1] = 1.0, 0.0, 0.25
    truth = Poset.from_latent(generator.standard_normal((n, 2)), items)
    return items, P, truth


@pytest.mark.parametrize("bins", [1, 4, 10])
def test_against_a_loop_over_pairs(bins):
    items, P, truth = random_case(1)
    found = calibration(with_precedence(items, P), truth, bins=bins)
    brier, ece, held = slow(P, truth.closure, bins)
    assert found.brier == pytest.approx(brier)
    assert found.ece == pytest.approx(ece)
    assert [one.n_pairs for one in found.bins] == [len(pairs) for pairs in held]
    for one, pairs in zip(found.bins, held, strict=True):
        expected = np.mean([y for _, y in pairs]) if pairs else np.nan
        assert float(one.observed) == pytest.approx(expected, nan_ok=True)


def test_errors_from_leaving_out_items():
    items, P, truth = random_case(2)
    found = calibration(with_precedence(items, P), truth, bins=3)
    left_out = []
    for k in range(6):
        kept = [i for i in range(6) if i != k]
        left_out.append(slow(P[np.ix_(kept, kept)], truth.closure[np.ix_(kept, kept)], 3)[:2])
    errors = np.sqrt(5 * np.var(left_out, axis=0))
    assert (found.brier.standard_error, found.ece.standard_error) == pytest.approx(errors)


def test_several_results_are_pooled_and_leave_out_one_result_at_a_time():
    cases = [random_case(seed) for seed in range(4)]
    posteriors = [with_precedence(items, P) for items, P, _ in cases]
    found = calibration(posteriors, [truth for *_, truth in cases], bins=5)
    singles = [slow(P, truth.closure, 5)[0] for _, P, truth in cases]
    assert found.brier == pytest.approx(np.mean(singles))
    # A mean over results of the same size: its jackknife error is the usual one.
    assert found.brier.standard_error == pytest.approx(np.std(singles, ddof=1) / 2)
    assert (found.n_pairs, found.n_results) == (120, 4)


def test_perfect_and_useless_probabilities():
    items = list("abcd")
    order = Poset.from_chain(items)
    sure = calibration(with_precedence(items, order.closure.astype(float)), order)
    assert (sure.brier, sure.ece) == (0.0, 0.0)
    half = calibration(with_precedence(items, 0.5 * (1 - np.eye(4))), order)
    # Half of all pairs hold: calibrated, and of no use.
    assert half.brier == 0.25
    assert half.ece == pytest.approx(0.0)


def test_the_truth_is_aligned_by_label():
    turned = Poset.from_pairs([("a", "b"), ("b", "c")], items=list("cab"))
    assert calibration(three_draws(), turned).brier == calibration(three_draws(), CHAIN).brier


def test_what_is_refused():
    with pytest.raises(InputError, match="single order has none"):
        calibration(fit(TRAIN, "maximal"), CHAIN)
    with pytest.raises(InputError, match="different items"):
        calibration(three_draws(), Poset.antichain(list("abz")))
    with pytest.raises(InputError, match="each needs its own"):
        calibration([three_draws()], [CHAIN, CHAIN])
    with pytest.raises(InputError, match="each needs its own"):
        calibration([], [])
    with pytest.raises(InputError, match="at least two items"):
        calibration(with_precedence(["a"], np.zeros((1, 1))), Poset.antichain(["a"]))
    for bins in (0, 2.5, True):
        with pytest.raises(SettingError, match="bins="):
            calibration(three_draws(), CHAIN, bins=bins)
