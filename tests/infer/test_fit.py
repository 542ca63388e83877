"""One table of methods, one body of checks."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from posetta import (
    Exact,
    FlowVI,
    FullRankVI,
    HardMCMC,
    InputError,
    Majority,
    Maximal,
    Model,
    PlackettLuce,
    Poset,
    RelaxedNUTS,
    SettingError,
    SoftDAG,
    Traces,
    fit,
    simulate,
)
from posetta.cli.words import warning_words
from posetta.infer import METHODS, choose_method
from posetta.infer.methods import settings_of

# Small enough to run a hundred times; every method of the table needs a line here.
SMALL = {
    "hard": HardMCMC(draws=600, warmup=100, chains=2, thin=5),
    "nuts": RelaxedNUTS(draws=500, warmup=300, chains=2),
    "fullrank": FullRankVI(draws=50, restarts=1, starts=("traces",)),
    "flow": FlowVI(
        draws=50, layers=1, bins=4, width=8, iterations=50, restarts=1, starts=("traces",)
    ),
    "exact": Exact(draws=50, prior_draws=1000),
    "majority": Majority(),
    "maximal": Maximal(),
    "softdag": SoftDAG(sparsity=(1e-3,), acyclicity=(10.0,), restarts=1, steps=200),
    "plackett-luce": PlackettLuce(draws=600, warmup=100, chains=2, thin=2),
}

CASES = {
    "some traces": Traces.from_lists([list("abc"), list("bac"), ["c", "b"]], counts=[2, 1, 1]),
    "one item": Traces.from_lists([["a"], ["a"]]),
    "one trace": Traces.from_lists([list("abc")]),
    "no traces": Traces.from_lists([], items=list("abc")),
    "unseen items": Traces.from_lists([["a", "b"]], items=list("abcd")),
    "top-k list": Traces.from_lists([["a"]], items=list("abc"), choice_sets=[list("abc")]),
}

needs_flow = pytest.mark.skipif(find_spec("flowjax") is None, reason='needs the extra "flow"')
every_method = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs_flow if name == "flow" else ()) for name in METHODS]
)


def test_every_method_is_checked_here():
    assert SMALL.keys() == METHODS.keys()


@every_method
@pytest.mark.parametrize("case", CASES)
def test_runs_and_returns_valid_orders(name, case):
    traces = CASES[case]
    n = traces.n_items
    posterior = fit(traces, SMALL[name], seed=3)
    assert posterior.method == name
    assert posterior.status in ("ok", "approximate")
    assert posterior.items == traces.items
    assert posterior.precedence.shape == (n, n)
    assert np.all((posterior.precedence >= 0.0) & (posterior.precedence <= 1.0))
    assert not posterior.precedence.diagonal().any()
    assert np.all(posterior.precedence + posterior.precedence.T <= 1.0 + 1e-12)
    orders = list(posterior.orders())  # building each one checks that it is an order
    assert all(isinstance(order, Poset) for order in orders)
    assert len(orders) == posterior.draws.n_chains * posterior.draws.n_draws
    assert posterior.draws.log_likelihood.shape[2] == traces.n_unique
    if posterior.likelihood != "plackett-luce":  # supports only
        assert {"beta", "noise"} <= posterior.draws.scalars.keys()
    assert posterior.decode().items == traces.items


@every_method
def test_every_draw_of_a_hard_method_allows_the_traces(name):
    traces = Traces.from_lists([list("abc"), list("bac")])
    posterior = fit(traces, SMALL[name])
    if name == "softdag":  # its order may contradict the traces; it says how many
        broken = sum(not posterior.decode().respects(trace) for trace in traces)
        assert posterior.diagnostics["impossible_traces"] == broken
    elif posterior.likelihood == "hard":
        assert all(order.respects(trace) for order in posterior.orders() for trace in traces)
    else:  # the relaxed likelihood forbids nothing
        assert posterior.probability("a", "c") > posterior.probability("c", "a")


@every_method
def test_is_seeded(name):
    traces = CASES["some traces"]
    one, two = (fit(traces, SMALL[name], seed=7) for _ in range(2))
    np.testing.assert_array_equal(one.precedence, two.precedence)
    np.testing.assert_array_equal(one.draws.closure_bits, two.draws.closure_bits)
    np.testing.assert_array_equal(one.draws.log_likelihood, two.draws.log_likelihood)
    assert one.seed == 7


@every_method
@pytest.mark.parametrize("seed", ["7", -1, 1.5, True, None])
def test_a_bad_seed_is_refused(name, seed):
    with pytest.raises(SettingError, match="seed="):
        fit(CASES["some traces"], SMALL[name], seed=seed)


@every_method
def test_a_name_stands_for_its_default_settings(name):
    traces = CASES["some traces"]
    by_name = fit(traces, name, seed=2)
    by_settings = fit(traces, METHODS[name][0](), seed=2)
    assert by_name.method == by_settings.method == name
    assert by_name.settings == by_settings.settings
    np.testing.assert_array_equal(by_name.precedence, by_settings.precedence)
    np.testing.assert_array_equal(by_name.draws.closure_bits, by_settings.draws.closure_bits)


@every_method
def test_fixed_scalars_are_honoured(name):
    posterior = fit(CASES["some traces"], SMALL[name], Model(beta=0.7, noise=0.1))
    if posterior.likelihood == "plackett-luce":
        assert "beta, noise of the model: no part of method 'plackett-luce'." in posterior.warnings
        return
    np.testing.assert_allclose(posterior.draws.scalar("beta"), 0.7)
    np.testing.assert_allclose(posterior.draws.scalar("noise"), 0.1)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Model(noise_prior=(1.0, 4.0)), "noise_prior of the model: noise=0.0"),
        (Model(rho=0.5, rho_prior=(1.0, 4.0)), "rho_prior of the model: rho=0.5"),
        (Model(beta=1.0, beta_prior=(1.0, 4.0)), "beta_prior of the model: beta=1.0"),
        (
            Model(dim=3, dim_prior_mean=2.0, dim_max=5),
            "dim_prior_mean, dim_max of the model: dim=3",
        ),
    ],
    ids=["noise", "rho", "beta", "dim"],
)
def test_priors_of_fixed_scalars_are_said_to_play_no_part(model, words):
    what, value = words.split(": ")
    settings = HardMCMC(draws=4, warmup=1, chains=1, thin=1)
    found = fit(CASES["some traces"], settings, model).warnings
    assert f"{what}: no part of this fit, since {value} is fixed." in found


def test_priors_of_inferred_scalars_play_their_part():
    model = Model(
        dim="random",
        noise=None,
        rho_prior=(1.0, 4.0),
        beta_prior=(1.0, 4.0),
        noise_prior=(1.0, 4.0),
        dim_prior_mean=2.0,
        dim_max=5,
    )
    settings = HardMCMC(draws=4, warmup=1, chains=1, thin=1)
    assert not any(
        "no part" in words for words in fit(CASES["one trace"], settings, model).warnings
    )
    # What the method has no use for is said once, not once more for being fixed.
    (words,) = fit(CASES["one trace"], "maximal", Model(beta=1.0, beta_prior=(1.0, 4.0))).warnings
    assert words == "beta_prior of the model: no part of method 'maximal'."


def test_an_unknown_method_lists_the_valid_names():
    with pytest.raises(SettingError) as caught:
        fit(CASES["one trace"], "majorty")
    for name in ("auto", *METHODS):
        assert repr(name) in str(caught.value)


@pytest.mark.parametrize("method", [Exact, 3, None, {"draws": 3}])
def test_something_that_is_no_method(method):
    with pytest.raises(SettingError, match="neither a name nor the settings"):
        fit(CASES["one trace"], method)


def test_an_executor_has_submit():
    with pytest.raises(SettingError, match="executor must have submit"):
        fit(CASES["one trace"], executor=3)


def test_wrong_types_are_named():
    with pytest.raises(InputError, match=r"not list.*read_traces"):
        fit([["a", "b"]])
    with pytest.raises(SettingError, match="must be a Model, not dict"):
        fit(CASES["one trace"], model={"dim": 3})


@pytest.mark.parametrize(
    "settings",
    [
        HardMCMC(draws=8, warmup=1, chains=1, thin=1),
        RelaxedNUTS(draws=8, warmup=20, chains=1, max_depth=2, starts=("traces",)),
        FullRankVI(draws=8, iterations=2, cooling=0, restarts=1, starts=("traces",)),
        Maximal(),
    ],
    ids=["hard", "nuts", "fullrank", "maximal"],
)
def test_signs_of_noise_are_told(settings):
    def told(noise, believed):
        traces = simulate(12, rho=0.9, seed=4, ip_cov=None, n_traces=40, noise=noise).train
        found = fit(traces, settings, Model(noise=believed), seed=1).warnings
        return [words for words in found if "to a single trace of 20 or more" in words]

    if isinstance(settings, Maximal):  # has no noise to infer
        assert told(0.05, 0.0) == []
        return
    (words,) = told(0.05, 0.0)
    assert words.endswith("infer the noise (noise=None).")
    assert warning_words(words, "hard").endswith("infer the noise (--noise infer).")
    assert told(0.05, None) == told(0.05, 0.1) == told(0.0, 0.0) == []


def test_auto_goes_by_the_number_of_items():
    labels = [f"i{k}" for k in range(201)]
    chosen = [choose_method(Traces.from_lists([labels[:n]])) for n in (5, 6, 200, 201)]
    assert chosen == ["exact", "hard", "hard", "maximal"]
    assert fit(Traces.from_lists([labels])).method == "maximal"
    assert fit(Traces.from_lists([["a", "b"]])).method == "exact"


def test_settings_of_finds_the_name():
    settings = Exact(draws=10)
    assert settings_of(settings) == ("exact", settings)
    assert settings_of("hard") == ("hard", HardMCMC())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Exact(draws=0), "draws=0 must be a whole number from 1"),
        (lambda: Exact(draws=2.5), r"draws=2\.5 must be a whole number"),
        (lambda: Exact(draws=True), "draws=True must be a whole number"),
        (lambda: Exact(prior_draws=999), "prior_draws=999 must be a whole number from 1000"),
        (lambda: Majority(threshold=1.0), r"threshold=1\.0 must lie in \[0, 1\)"),
        (lambda: Majority(threshold=float("nan")), "threshold=nan"),
        (lambda: Maximal(eps=0.5), r"eps=0\.5 must lie in \[0, 1/2\)"),
        (lambda: Maximal(eps=-0.1), "eps=-0"),
    ],
)
def test_settings_out_of_range(build, message):
    with pytest.raises(SettingError, match=message):
        build()
