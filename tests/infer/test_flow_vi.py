"""Flow-VI: the flow's own laws, a known target, the evidence, and honest endings."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.infer import evidence, relaxed_gap

from posetta import FlowVI, Model, SettingError, Traces, fit, simulate
from posetta.infer.natural_gradient import Gaussian

jax = pytest.importorskip("jax", reason='needs the extra "flow"')
pytest.importorskip("flowjax", reason='needs the extra "flow"')
import jax.numpy as jnp  # noqa: E402

from posetta.infer import flow_vi  # noqa: E402
from posetta.infer.spline_flow import _INTERVAL, SplineFlow, _last_layers  # noqa: E402

TINY = {"layers": 2, "bins": 4, "width": 8, "draws": 50, "restarts": 1, "starts": ("traces",)}


@pytest.fixture(scope="module")
def traces() -> Traces:
    return simulate(3, dim=2, rho=0.5, seed=2, ip_cov=None, n_traces=5).train


def bent_flow(size: int = 3, strength: float = 100.0) -> SplineFlow:
    """A flow far from the identity."""
    factor = np.tril(np.random.default_rng(1).standard_normal((size, size)), -1)
    gaussian = Gaussian(np.arange(float(size)), factor + 2.0 * np.eye(size))
    flow = SplineFlow(gaussian, layers=2, bins=4, width=8)
    return flow_vi.eqx.tree_at(
        lambda f: f.flow.bijection.bijection.bijections[0].masked_autoregressive_mlp.layers[-1],
        flow,
        replace_fn=lambda layer: jax.tree_util.tree_map(
            lambda a: strength * a if flow_vi.eqx.is_inexact_array(a) else a, layer
        ),
    )


def test_starts_at_the_gaussian() -> None:
    gaussian = Gaussian(np.array([1.0, -2.0, 0.0]), np.diag([0.5, 1.0, 2.0]) + np.eye(3, k=-1))
    flow = SplineFlow(gaussian, layers=2, bins=4, width=8)
    noise = np.random.default_rng(0).standard_normal((50, 3))
    points, log_q = flow.at(jnp.asarray(noise, jnp.float32))
    # The layers permute the coordinates, which a standard normal does not notice; their networks
    # start at a hundredth of their size.
    whitened = np.linalg.solve(gaussian.factor, (np.asarray(points) - gaussian.mean).T).T
    np.testing.assert_allclose(np.sort(whitened), np.sort(noise), atol=0.05)
    np.testing.assert_allclose(log_q, gaussian.log_density_at(whitened), atol=0.1)


@pytest.mark.parametrize("bins", [1, 4, 8])
def test_a_spline_has_as_many_pieces_as_bins(bins: int) -> None:
    """Each takes a width and a height for a piece, and a slope for each of their ends."""
    flow = SplineFlow(Gaussian(np.zeros(3), np.eye(3)), layers=1, bins=bins, width=8)
    (layer,) = _last_layers(flow.flow).bias.shape[-1:]
    assert layer == 3 * (3 * bins + 1)


def test_the_density_is_that_of_the_points() -> None:
    """log q = log N(noise) - log |det d points / d noise|, by automatic differentiation."""
    flow = bent_flow()
    noise = jnp.asarray(np.random.default_rng(2).standard_normal((20, 3)), jnp.float32)
    _, log_q = flow.at(noise)
    jacobians = jax.vmap(jax.jacobian(lambda xi: flow.at(xi[None])[0][0]))(noise)
    log_det = np.linalg.slogdet(np.asarray(jacobians, dtype=np.float64))[1]
    log_normal = -0.5 * np.sum(np.asarray(noise) ** 2 + np.log(2.0 * np.pi), axis=1)
    np.testing.assert_allclose(log_q, log_normal - log_det, atol=1e-4)
    assert np.abs(np.asarray(flow.at(noise)[0]) - np.asarray(noise)).max() > 0.5


def test_gradients_are_finite_at_the_edges_of_the_splines() -> None:
    """On, just inside, just outside and far outside the interval, in every coordinate."""
    flow = bent_flow()
    inside, outside = np.nextafter(np.float32(_INTERVAL), np.float32([0.0, 9.0]))
    edges = np.array([_INTERVAL, inside, outside, 50.0, 0.0], dtype=np.float32)
    noise = jnp.asarray(np.stack(np.meshgrid(edges, -edges, edges), -1).reshape(-1, 3))

    def objective(trained: object, rest: object) -> object:
        points, log_q = flow_vi.eqx.combine(trained, rest).at(noise)
        return points.sum() + log_q.sum()

    trained, rest = flow_vi.eqx.partition(flow, flow_vi._is_trained(flow))
    gradient = flow_vi.eqx.filter_grad(objective)(trained, rest)
    leaves = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(gradient)]
    assert leaves
    assert all(np.isfinite(leaf).all() for leaf in leaves)
    assert any(np.abs(leaf).max() > 0.0 for leaf in leaves)
    points, log_q = flow.at(noise)
    assert np.isfinite(points).all()
    assert np.isfinite(log_q).all()


def gaussian_scores(mean: np.ndarray, scale: np.ndarray):
    def scores(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = (points - mean) / scale
        value = (
            -0.5 * (z**2).sum(axis=1) - np.log(scale).sum() - len(mean) * 0.5 * np.log(2 * np.pi)
        )
        return value, -z / scale

    return scores


def trained(iterations: int, **settings: float) -> flow_vi.Training:
    """A flow that starts beside its target, a Gaussian."""
    mean, scale = np.array([1.0, -1.0, 0.0]), np.array([1.0, 0.5, 2.0])
    start = Gaussian(mean + 0.5 * scale, np.diag(0.7 * scale))
    given = FlowVI(**{**TINY, "iterations": iterations, "learning_rate": 0.02, **settings})
    training = flow_vi.Training(
        gaussian_scores(mean, scale), start, given, np.random.default_rng(4)
    )
    flow_vi._train(training, lambda *_: None, np.inf)
    return training


def test_recovers_a_gaussian() -> None:
    training = trained(400, patience=100, gradient_samples=64)
    noise = np.random.default_rng(5).standard_normal((4000, 3))
    points, log_q = training.draw(training.state, noise)
    ratios = training.scores(points)[0] - log_q
    # Minus the divergence; at the start it is 0.75. What is left is the training's noise.
    assert -0.02 < ratios.mean() < 4.0 * ratios.std() / np.sqrt(4000)
    error = 4.0 / np.sqrt(4000)
    z = (points - [1.0, -1.0, 0.0]) / [1.0, 0.5, 2.0]
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=error + 0.1)
    np.testing.assert_allclose(z.std(axis=0), 1.0, atol=error + 0.1)


def test_the_best_checkpoint_is_kept_and_patience_ends_the_training() -> None:
    # A step size that throws the flow off at once: nothing after the start is better.
    training = trained(400, learning_rate=3.0, warmup=0, patience=2)
    assert training.n_steps == 50
    assert training.converged
    assert training.state is not training.flow
    training.flow = training.state
    assert training._elbo() == training.elbo


def test_steps_after_the_last_checkpoint_count() -> None:
    few = trained(flow_vi.WINDOW - 5, patience=100, gradient_samples=64, warmup=0)
    assert few.n_steps == flow_vi.WINDOW - 5
    assert few.state is few.flow  # the trained one, which is better than the start
    assert few.elbo == few._elbo()


def test_a_fit_compiles_nothing_that_was_compiled_for_its_shape(
    traces: Traces, caplog: pytest.LogCaptureFixture
) -> None:
    settings = FlowVI(**{**TINY, "iterations": 30, "draws": 70})
    model = Model(dim=2)
    flow_vi.compile_for(traces, model, settings)
    with jax.log_compiles():
        fit(traces, settings, model, seed=3)
    assert not [r.message for r in caplog.records if "ompiling" in r.message]


def test_steps_rise_then_fall_to_a_fifth() -> None:
    training = trained(1)
    training.settings = FlowVI(iterations=100, warmup=10, learning_rate=0.5)
    rates = []
    for step in range(101):
        training.n_steps = step
        rates.append(training._rate())
    assert rates[0] < rates[5] < max(rates) <= 0.5
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[100] == pytest.approx(0.1)


def test_the_elbo_is_below_the_evidence() -> None:
    exact = evidence.recorded()
    settings = FlowVI(**{**TINY, "draws": 4000, "iterations": 100})
    found = fit(evidence.traces(), settings, evidence.MODEL, seed=4).diagnostics
    error = np.hypot(found["elbo_se"], exact.standard_error)
    assert found["elbo"] <= exact.log_evidence + 4.0 * error
    assert found["elbo"] > exact.log_evidence - 0.5


def test_the_gap_to_the_exact_posterior_is_the_recorded_one() -> None:
    case = "3 items, dim 2"  # the shape of the test above: one compilation
    assert relaxed_gap.gap("flow", case) == pytest.approx(
        relaxed_gap.recorded()["flow"][case], abs=0.02
    )


def test_time_and_user_end_the_run_with_what_there_is(traces: Traces) -> None:
    post = fit(traces, FlowVI(**TINY, max_seconds=1e-9), Model(dim=2))
    assert post.status == "budget_reached"
    assert post.diagnostics["steps"] == [0]

    def interrupting(share: float, words: str) -> None:
        if share > 0.5 and "step 10" in words:
            raise KeyboardInterrupt

    post = flow_vi.run(traces, Model(dim=2), FlowVI(**TINY), 1, interrupting)
    assert post.status == "budget_reached"
    assert post.diagnostics["steps"] == [10]
    assert len(post.diagnostics["elbo_gaussians"]) == 1


@pytest.mark.parametrize(
    ("setting", "value"),
    [("layers", 0), ("bins", 1), ("gradient_samples", 3), ("elbo_samples", 5), ("clip", 0.0),
     ("learning_rate", -1.0), ("patience", 0), ("starts", ("mode",)), ("draws", 2.5)],
)  # fmt: skip
def test_settings_are_checked(setting: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"{setting}="):
        FlowVI(**{setting: value})


@pytest.mark.parametrize("absent", ["jax", "flowjax", "equinox", "optax"])
def test_a_missing_extra_is_named_with_the_command(absent: str) -> None:
    code = (
        f"import sys; sys.modules[{absent!r}] = None\n"
        "import posetta as po\n"
        "try: po.fit(po.Traces.from_lists([['a', 'b']]), 'flow')\n"
        "except po.MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "posetta[flow]"' in done.stdout
