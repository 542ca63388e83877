"""Starting points of relaxed methods: finite, dense, different, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from posetta import Model, Traces, simulate
from posetta.infer.start import prior_point, relative_places, starting_points, usual_hard_sweeps
from posetta.model.latent import product_order
from posetta.model.target import Target

KINDS = ("hard", "traces", "prior")


def make_target(model: Model | None = None, **more: object) -> Target:
    sim = simulate(8, dim=2, rho=0.5, seed=3, **more)
    return Target(model or Model(dim=3), sim.train)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "model", [Model(dim=3), Model(dim=1), Model(dim=2, rho=0.4, beta=0.0, gamma=3.0, noise=None)]
)
def test_points_are_finite_and_keep_fixed_values(kind, model) -> None:
    target = make_target(model)
    points = starting_points(target, [kind, kind], seed=1, hard_sweeps=20)
    assert points.shape == (2, target.n_parameters)
    assert np.isfinite([target.log_density(point) for point in points]).all()
    assert not np.array_equal(points[0], points[1])
    for name in ("rho", "beta", "gamma", "noise"):
        fixed = getattr(model, name)
        assert fixed is None or getattr(target.constrain(points[0]), name) == fixed


def test_points_depend_on_the_seed_and_their_place_only() -> None:
    target = make_target()
    many = starting_points(target, KINDS, seed=1, hard_sweeps=20)
    np.testing.assert_array_equal(many, starting_points(target, KINDS, seed=1, hard_sweeps=20))
    np.testing.assert_array_equal(many[:1], starting_points(target, ["hard"], 1, hard_sweeps=20))
    other = starting_points(target, KINDS, seed=2, hard_sweeps=20)
    assert not np.isclose(many, other).any(axis=1).all()


def test_data_driven_points_are_denser_than_the_prior() -> None:
    target = make_target()
    density = {
        kind: [target.log_density(w) for w in starting_points(target, [kind] * 5, 1)]
        for kind in KINDS
    }
    assert min(density["hard"]) > max(density["prior"])
    assert np.median(density["traces"]) > max(density["prior"])


def test_columns_of_traces_take_apart_what_was_seen_both_ways() -> None:
    """Two opposite traces among copies of one: the pair of them leaves nothing ordered."""
    traces = Traces.from_lists([list("abcdef"), list("fedcba"), list("bacdef")], counts=[9, 1, 1])
    target = Target(Model(dim=2), traces)
    for seed in range(5):
        latent = target.constrain(starting_points(target, ["traces"], seed)[0]).latent
        assert product_order(latent).sum() <= 1


def test_places_of_missing_and_unlisted_items() -> None:
    traces = Traces.from_lists(
        [["a", "b"], ["b", "c"], ["c"]],
        items=list("abcde"),
        choice_sets=[None, None, ["a", "c", "d"]],
    )
    places = relative_places(traces)
    by_row = dict(zip(map(tuple, (traces.labels(r) for r in range(3))), places, strict=True))
    np.testing.assert_allclose(by_row["a", "b"][:2], [0.25, 0.75])
    np.testing.assert_allclose(by_row["c",][[0, 2, 3]], [0.5, 1 / 6, 0.5])
    # c is missing in the first row: it takes the mean of its places in the others.
    assert by_row["a", "b"][2] == pytest.approx((0.75 + 1 / 6) / 2)
    assert (places[:, 4] == 0.5).all()


def test_one_column_and_contradictions_fall_back_to_the_traces() -> None:
    target = Target(Model(dim=1), Traces.from_lists([["a", "b"], ["b", "a"]]))
    points = starting_points(target, ["hard", "traces"], 1)
    assert np.isfinite(points).all()


def test_without_traces_everything_is_the_prior() -> None:
    target = Target(Model(), Traces.from_lists([], items=list("abc")))
    one, two = (starting_points(target, [kind], 1) for kind in ("hard", "prior"))
    np.testing.assert_array_equal(one, two)


def test_prior_points_follow_the_prior() -> None:
    target = make_target(Model(dim=2, noise=None))
    generator = np.random.default_rng(0)
    drawn = [target.constrain(prior_point(target, generator)) for _ in range(800)]
    for name, prior in (
        ("rho", stats.beta(2, 2)),
        ("beta", stats.gamma(2)),
        ("gamma", stats.gamma(2)),
        ("noise", stats.beta(1, 9)),
    ):
        assert stats.kstest([getattr(p, name) for p in drawn], prior.cdf).pvalue > 1e-3
    standardised = [p.latent[0, 0] for p in drawn]
    assert stats.kstest(standardised, stats.norm.cdf).pvalue > 1e-3


def test_a_sharp_prior_stays_finite() -> None:
    model = Model(dim=2, rho_prior=(1e-3, 1e-3), noise=None, noise_prior=(1e-3, 1.0))
    target = make_target(model)
    points = starting_points(target, ["prior"] * 20, 1)
    assert np.isfinite(points).all()


def test_hard_chains_are_shorter_where_sweeps_are_dear():
    few = Traces.from_lists([[f"i{k}" for k in range(50)]])
    assert usual_hard_sweeps(few) == 500
    many = Traces.from_lists([[f"i{(k + s) % 200}" for k in range(200)] for s in range(200)])
    assert usual_hard_sweeps(many) == 250


@pytest.mark.parametrize(
    "model",
    [
        Model(dim=2, beta_prior=(2.0, 0.1)),  # mass where no hard chain goes
        Model(dim=2, beta=400.0),
        Model(dim=2, noise=1e-13),
    ],
)
def test_hard_points_do_without_what_a_hard_chain_refuses(model: Model) -> None:
    target = make_target(model)
    (point,) = starting_points(target, ["hard"], 1, hard_sweeps=20)
    assert np.isfinite(target.log_density(point))
    assert target.log_density(point) > max(
        target.log_density(prior_point(target, np.random.default_rng(seed))) for seed in range(5)
    )
