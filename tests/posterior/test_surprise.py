"""Scores of single traces: where they are odd, and which pairs say so."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from tests.posterior.examples import CHAIN, FORK, FREE, TRAIN, hard_posterior, three_draws
from tests.posterior.test_score_kernel import larger

from posetta.data import Traces
from posetta.errors import InputError, SettingError
from posetta.model.latent import product_order
from posetta.posterior import predictive, score_traces


def traces_of(*lists, **more):
    return Traces.from_lists(lists, items=list("abc"), **more)


def two_draws():
    return hard_posterior([CHAIN, FORK], [0.0, 0.0], [0.0, 0.0], TRAIN)


def test_a_possible_trace_by_hand():
    (score,) = score_traces(two_draws(), traces_of(list("acb"), ids=["x"], counts=[3]))
    assert (score.ids, score.count, score.items) == (("x",), 3, ("a", "c", "b"))
    assert score.log_probability == pytest.approx(math.log(1 / 4))
    assert score.surprise == pytest.approx(math.log(4) / 3)
    assert score.step_probability == pytest.approx([1, 1 / 4, 1])
    assert score.most_surprising_step == 2
    assert score.impossible_step is None
    assert score.against == ()
    # b precedes c in one of two draws: not above one half, but above a quarter.
    assert score.contradictions == ()
    (score,) = score_traces(two_draws(), traces_of(list("acb")), threshold=0.25)
    assert score.contradictions == ((2, "b", "c", 0.5),)


def test_an_impossible_trace_by_hand():
    (score,) = score_traces(two_draws(), traces_of(list("cba")))
    assert score.log_probability == -math.inf
    assert score.surprise == math.inf
    assert score.impossible_step == 1
    assert score.against == ((1, "a", "c", 1.0), (1, "b", "c", 0.5))
    assert score.contradictions == ((1, "a", "c", 1.0), (2, "a", "b", 1.0))
    assert np.isnan(score.coherent_step_probability[1:]).all()
    plain = json.loads(json.dumps(score.to_dict(), allow_nan=False))
    assert plain["log_probability"] is None
    assert plain["coherent_step_probability"] == [0.0, None, None]
    assert plain["against"][0] == {"step": 1, "earlier": "a", "later": "c", "probability": 1.0}


def test_every_draw_may_object_for_another_reason():
    # One draw puts a before c, the other b before c; no pair is certain, and still c cannot start.
    first, second = np.zeros((2, 3, 3), dtype=bool)
    first[0, 2] = second[1, 2] = True
    posterior = hard_posterior([first, second], [0.0, 0.0], [0.0, 0.0], traces_of())
    (score,) = score_traces(posterior, traces_of(list("cab")))
    assert score.impossible_step == 1
    assert score.against == ((1, "a", "c", 0.5), (1, "b", "c", 0.5))
    assert score.contradictions == ()


def test_unlisted_items_of_a_choice_set_are_contradicted_too():
    test = traces_of(["b"], ["b"], choice_sets=[["a", "b"], None])
    short, alone = score_traces(two_draws(), test)
    assert short.contradictions == ((1, "a", "b", 1.0),)
    assert alone.contradictions == ()
    assert alone.log_probability == 0.0


def test_equal_traces_share_a_score():
    test = traces_of(list("abc"), list("acb"), list("abc"), ids=["x", "y", "z"])
    scores = score_traces(two_draws(), test)
    assert [score.ids for score in scores] == [("x", "z"), ("y",)]


def test_against_the_predictive_and_loops_over_pairs():
    latents, beta, _, noise, traces = larger(3)
    posterior = hard_posterior(product_order(latents), beta, noise, traces)
    found = predictive(posterior, traces)
    ends = np.cumsum(traces.n_listed)
    for r, score in enumerate(score_traces(posterior, traces)):
        here = slice(ends[r] - traces.n_listed[r], ends[r])
        assert score.log_probability == found.trace[r]
        np.testing.assert_allclose(np.log(score.step_probability), found.step[here])
        members = [traces.items[i] for i in traces.choice_set(r)]
        expected = [
            (t + 1, members[k], members[t], posterior.probability(members[k], members[t]))
            for t in range(len(score.items))
            for k in range(t + 1, len(members))
            if posterior.probability(members[k], members[t]) > 0.5
        ]
        assert list(score.contradictions) == expected


def test_parts_may_be_scored_apart():
    latents, beta, _, noise, traces = larger(4)
    posterior = hard_posterior(product_order(latents), beta, noise, traces)
    whole = [score.to_dict() for score in score_traces(posterior, traces)]
    parts = [traces.take(range(0, 31)), traces.take(range(31, 60))]
    apart = [score.to_dict() for part in parts for score in score_traces(posterior, part)]
    assert [score["ids"] for score in apart] == [score["ids"] for score in whole]
    for a, b in zip(apart, whole, strict=True):
        assert a["log_probability"] == pytest.approx(b["log_probability"])
        assert a["contradictions"] == b["contradictions"]


def test_labels_are_matched_and_settings_checked():
    turned = Traces.from_lists([list("acb")], items=list("cba"))
    (score,) = score_traces(two_draws(), turned)
    assert score.items == ("a", "c", "b")
    assert score.log_probability == pytest.approx(math.log(1 / 4))
    with pytest.raises(InputError, match='"z"'):
        score_traces(two_draws(), Traces.from_lists([["z"]]))
    with pytest.raises(SettingError, match="threshold"):
        score_traces(three_draws(), TRAIN, threshold=1.0)
    assert score_traces(two_draws(), traces_of()) == []
    assert len(score_traces(hard_posterior([FREE], [0.0], [0.0], TRAIN), TRAIN)) == 2
