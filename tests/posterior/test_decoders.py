"""Decoders other than the threshold, against brute force over draws and over all small orders."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.posterior.examples import CHAIN, FORK, FREE, TRAIN, hard_posterior, three_draws
from tests.posterior.test_summaries import posterior_of, random_closures

from posetta import SettingError, Traces, fit
from posetta.evaluate import closure_scores
from posetta.infer.all_orders import all_orders
from posetta.model.latent import product_order
from posetta.order import Poset
from posetta.order.gate import check_strict_order
from posetta.posterior import expected_f1, expected_loss
from posetta.posterior.climb import climb

RULES = ("threshold", "medoid", "most-frequent", "least-loss", "best-f1")
quick = settings(derandomize=True, deadline=None, max_examples=25)


def blurred(seed, n_draws, n_items):
    """Draws around one latent order, so that they differ here and there."""
    generator = np.random.default_rng(seed)
    centre = generator.standard_normal((n_items, 2))
    return product_order(centre + 0.4 * generator.standard_normal((n_draws, n_items, 2)))


def f1(order, draw):
    return closure_scores(order, draw).f1


@quick
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_medoid_against_all_pairs_of_draws(seed, n_items):
    closures = blurred(seed, 7, n_items)
    distance = (closures[:, None] != closures[None]).sum(axis=(2, 3)).sum(axis=1)
    found = posterior_of(closures).decode(rule="medoid").closure
    best = closures[distance == distance.min()]
    assert any((found == c).all() for c in best)


@quick
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_most_frequent_against_counting(seed, n_items):
    closures = blurred(seed, 30, n_items)
    counts = Counter(c.tobytes() for c in closures)
    found = posterior_of(closures).decode(rule="most-frequent").closure
    assert counts[found.tobytes()] == max(counts.values())


def test_of_equally_frequent_orders_the_nearest_to_all_draws_wins():
    # Every draw is seen once; the fork lies between the chain and no order.
    assert three_draws().decode(rule="most-frequent") == three_draws().decode(rule="medoid")
    assert (
        three_draws().decode(rule="most-frequent").closure.tolist() == np.array(FORK, bool).tolist()
    )
    twice = hard_posterior([FORK, FREE, CHAIN, FREE], [0.0] * 4, [0.0] * 4, TRAIN)
    assert not twice.decode(rule="most-frequent").closure.any()


@quick
@given(st.integers(0, 10_000))
def test_expected_scores_against_loops(seed):
    closures = blurred(seed, 9, 5)
    posterior = posterior_of(closures, n_chains=3)
    order = Poset.from_closure(closures[4], posterior.items)
    f1s = [f1(order, draw) for draw in posterior.orders()]
    assert expected_f1(posterior.draws, order.closure) == pytest.approx(np.mean(f1s))
    losses = [(order.closure != draw.closure).sum() for draw in posterior.orders()]
    assert expected_loss(posterior.precedence, order.closure) == pytest.approx(np.mean(losses))


def test_two_empty_orders_agree_fully():
    free = hard_posterior([FREE, CHAIN], [0.0, 0.0], [0.0, 0.0], TRAIN)
    assert expected_f1(free.draws, np.zeros((3, 3), bool)) == 0.5


@pytest.mark.parametrize("seed", range(12))
def test_searches_against_all_orders_of_four_items(seed):
    # Wide scatter: no order stands out, and pairs above one half need not be an order.
    closures = random_closures(seed, 15, 4, dim=1 + seed % 3)
    posterior = posterior_of(closures)
    everything = all_orders(4).closures
    losses = [expected_loss(posterior.precedence, c) for c in everything]
    f1s = [expected_f1(posterior.draws, c) for c in everything]
    least = posterior.decode(rule="least-loss").closure
    best = posterior.decode(rule="best-f1").closure
    # Local searches, without a claim to the optimum; on four items they find it.
    assert expected_loss(posterior.precedence, least) == pytest.approx(min(losses))
    assert expected_f1(posterior.draws, best) == pytest.approx(max(f1s))


@quick
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_every_rule_gives_an_order_no_worse_than_the_threshold(seed, n_items):
    posterior = posterior_of(random_closures(seed, 11, n_items))
    decoded = {rule: posterior.decode(rule=rule).closure for rule in RULES}
    for closure in decoded.values():
        check_strict_order(closure, posterior.items)
    loss = {rule: expected_loss(posterior.precedence, c) for rule, c in decoded.items()}
    assert loss["least-loss"] <= min(loss.values()) + 1e-9
    value = {rule: expected_f1(posterior.draws, c) for rule, c in decoded.items()}
    assert value["best-f1"] >= max(value["threshold"], value["medoid"]) - 1e-9


def test_few_sure_pairs_make_a_lower_threshold_better():
    # Ten draws share no pair with probability above one half; F1 prefers to say something.
    closures = np.zeros((5, 4, 4), dtype=bool)
    closures[[0, 1], 0, 1] = closures[[1, 2], 2, 3] = True
    posterior = posterior_of(closures)
    assert not posterior.decode().closure.any()
    assert posterior.decode(rule="best-f1").n_relations == 2
    assert not posterior.decode(rule="least-loss").closure.any()


def test_climbing_adds_what_follows_and_drops_covers_only():
    weight = np.full((3, 3), -1.0)
    weight[0, 1], weight[1, 2], weight[0, 2] = 2.0, 1.0, -0.5
    chain = climb(np.zeros((3, 3), bool), weight)
    assert chain.tolist() == np.array(CHAIN, bool).tolist()
    # A pair that is not worth what follows from it is left out.
    weight[0, 2] = -1.5
    assert climb(np.zeros((3, 3), bool), weight).sum() == 1
    assert climb(np.array(CHAIN, bool), np.full((3, 3), -1.0)).sum() == 0
    assert climb(np.zeros((3, 3), bool), weight, most=0).sum() == 0


def test_a_single_order_decodes_to_itself():
    point = fit(TRAIN, "maximal")
    for rule in RULES:
        assert point.decode(rule=rule) == point.decode()


def test_unknown_rules_and_useless_thresholds_are_refused():
    with pytest.raises(SettingError, match="'best-f1'"):
        three_draws().decode(rule="mean")
    with pytest.raises(SettingError, match="has no threshold"):
        three_draws().decode(threshold=0.4, rule="medoid")
    one = hard_posterior([[[0]]], [1.0], [0.0], Traces.from_lists([], items=["a"]))
    assert all(one.decode(rule=rule).n_items == 1 for rule in RULES)
