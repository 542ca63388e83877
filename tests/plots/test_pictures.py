"""Matrices, draws, studies and calibration, judged by their artists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text
from tests.posterior.examples import CHAIN, FORK, FREE, TRAIN, hard_posterior, three_draws

from posetta.errors import InputError
from posetta.evaluate import closure_mae
from posetta.evaluate.calibration import Calibration, ReliabilityBin
from posetta.evaluate.measured import Measured
from posetta.order import Poset
from posetta.plots import (
    Step,
    ablation,
    agreement,
    chain_traces,
    convergence,
    elbo_traces,
    precedence_maps,
    regimes,
    reliability,
    save_figure,
    scalar_densities,
    scaling,
    step_bars,
    style,
)
from posetta.plots.draws import elbo_of, folded_density, log_likelihoods

STUDY = [
    {"method": method, "n": n, "seed": seed, "f1": 1.0 - 0.01 * n / 10 - 0.02 * seed,
     "mae": None if method == "hard" else 0.01 * seed, "seconds": n * (seed + 1.0),
     "nll": float("inf") if seed else 2.0, "tau": n / 10, "brier": 0.1 * seed + (method == "hard"),
     "regime": f"$regime_{n}"}
    for method in ("hard", "my $own_ method") for n in (10, 20, 50) for seed in (0, 1)
]  # fmt: skip


def texts_of(figure) -> list[str]:
    return [one.get_text() for one in figure.findobj(Text) if one.get_text()]


def two_posteriors():
    first = three_draws()
    other = hard_posterior([FORK, CHAIN, CHAIN], [0.5, 1.0, 2.0], [0.0] * 3, TRAIN)
    return first, other


def test_maps_show_every_pair_in_one_order_of_items(tmp_path) -> None:
    first, other = two_posteriors()
    order = Poset.from_chain(list("cba"))  # other items order, and the reverse of the others
    figure = precedence_maps({"hard": first, "nuts": other, "truth": order})
    images = [ax.images[0].get_array() for ax in figure.axes if ax.images]
    assert len(images) == 3
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == ["a", "b", "c"]
    assert np.allclose(images[0], first.precedence)
    assert np.array_equal(images[2], order.reindex(list("abc")).closure)
    save_figure(figure, tmp_path / "maps.png")
    with pytest.raises(InputError, match="different items"):
        precedence_maps({"hard": first, "truth": Poset.from_chain(list("xyz"))})


def test_agreement_rings_the_pairs_that_cross() -> None:
    first, other = two_posteriors()  # b before c: 1/3 against 2/3
    figure = agreement(("hard", first), {"nuts": other, "same": first})
    crossing = [
        collection.get_offsets()
        for ax in figure.axes
        for collection in ax.collections
        if collection.get_gid() == "crossing"
    ]
    assert np.allclose(crossing[0], [[1 / 3, 2 / 3]])
    assert len(crossing[1]) == 0
    insets = [text for text in texts_of(figure) if text.startswith("MAE")]
    assert insets[0] == f"MAE {closure_mae(first, other):.3f}, 1 of 6 cross"
    assert insets[1].startswith("MAE 0.000")


def test_chains_are_drawn_one_by_one() -> None:
    closures = [FORK, CHAIN, FREE, CHAIN] * 3
    posterior = hard_posterior(closures, np.arange(12.0), np.zeros(12), TRAIN, n_chains=3)
    figure = chain_traces(posterior)
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "log-likelihood", "number of precedences", "β",
    ]  # fmt: skip
    assert all(len(ax.lines) == 3 for ax in figure.axes)
    assert figure.axes[1].lines[0].get_ydata().tolist() == [2, 3, 0, 3]
    assert np.allclose(figure.axes[0].lines[1].get_ydata(), log_likelihoods(posterior)[1])
    with pytest.raises(InputError, match="single order"):
        chain_traces(replace(posterior, is_point=True))


def test_elbo_and_convergence() -> None:
    drawn = three_draws()
    rising = [-100.0, None, *np.linspace(-20, -10, 20)]
    vi = replace(
        drawn, method="fullrank", diagnostics={"elbo_trace": rising, "elbo_trace_steps": 5}
    )
    steps, elbo = elbo_of(vi)
    assert steps[:3].tolist() == [5, 10, 15]
    assert np.isnan(elbo[1])
    figure = elbo_traces({"fullrank": vi})
    assert len(figure.axes[0].lines) == 1
    both = convergence({"hard": drawn, "fullrank": vi})
    assert [ax.get_ylabel() for ax in both.axes] == ["log-likelihood", "ELBO"]
    with pytest.raises(InputError, match="no ELBO"):
        elbo_traces({"hard": drawn})


def test_densities_are_densities() -> None:
    rng = np.random.default_rng(3)
    values = rng.beta(1.0, 9.0, 400)
    grid, density = folded_density(values, 0.0, 1.0)
    assert grid[0] == 0.0
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-3)
    assert density[0] > 5.0  # the true density at 0 is 9; unfolded it would be half of that
    closures = [FORK, CHAIN] * 10
    wide = hard_posterior(closures, rng.gamma(2.0, 1.0, 20), np.zeros(20), TRAIN)
    fixed = hard_posterior(closures, np.ones(20), np.zeros(20), TRAIN)
    figure = scalar_densities({"one": {"hard": wide}, "two": {"hard": fixed}})
    assert len(figure.axes) == 2  # beta alone varies
    mean = figure.axes[0].lines[1].get_xdata()[0]
    assert mean == pytest.approx(wide.draws.scalar("beta").mean())
    assert not figure.axes[1].lines
    assert any("fixed" in text for text in texts_of(figure))
    with pytest.raises(InputError, match="every scalar"):
        scalar_densities({"two": {"hard": fixed}})


@pytest.mark.parametrize("table", [STUDY, pd.DataFrame(STUDY)], ids=["rows", "DataFrame"])
def test_scaling_shows_means_and_standard_errors(table, tmp_path) -> None:
    figure = scaling(table)
    mae, seconds, f1 = figure.axes
    hard, own = f1.lines
    assert hard.get_xdata().tolist() == [10, 20, 50]
    assert np.allclose(hard.get_ydata(), [0.98, 0.97, 0.94])
    assert to_hex(hard.get_color()) == style.METHOD_LOOKS["hard"].colour
    assert to_hex(own.get_color()) != to_hex(hard.get_color())
    band = f1.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(0.98 + 0.01)  # two runs 0.02 apart: error 0.01
    assert len(mae.lines[0].get_xdata()) == 0  # the reference has no distance to itself
    assert seconds.get_yscale() == "log"
    assert {"Hard-MCMC", "my $own_ method"} <= set(texts_of(figure))
    save_figure(figure, tmp_path / "scaling.svg")
    with pytest.raises(InputError, match='no column "speed"'):
        scaling(table, metrics=("speed",))


def test_a_score_looks_the_same_at_every_threshold() -> None:
    rows = [{"method": "hard", "n": 10, "f1_50": 0.99, "f1_70": 0.97, "recall_33": 0.5}]
    figure = scaling(rows, metrics=("f1_50", "f1_70", "recall_33"))
    labels = [ax.get_ylabel() for ax in figure.axes]
    assert labels == ["closure F1 at 1/2", "closure F1 at 0.70", "closure recall"]
    assert [ax.get_ylim()[1] for ax in figure.axes] == [1.02] * 3
    own = {"f1_50": "F1 of mine", "recall_33": "recall of mine"}
    for figure in (scaling(rows, metrics=own), ablation(rows, x="n", metrics=own)):
        assert [ax.get_ylabel() for ax in figure.axes] == list(own.values())
    (ax,) = regimes(rows, regime="n", metrics={"f1_50": "F1 of mine"}).axes
    assert ax.get_xlabel() == "F1 of mine (higher is better)"


def test_ablation_shows_every_run(tmp_path) -> None:
    figure = ablation(STUDY, x="tau", metrics=("f1", "nll"))
    f1, nll = figure.axes
    assert [tick.get_text() for tick in f1.get_xticklabels()] == ["1", "2", "5"]
    runs = [line for line in f1.lines if line.get_marker() == "."]
    assert sum(len(line.get_xdata()) for line in runs) == len(STUDY)
    finite = [line for line in nll.lines if line.get_marker() == "."]
    assert sum(len(line.get_xdata()) for line in finite) == len(STUDY) // 2
    assert sum(text.get_text().startswith("∞ ") for text in nll.texts) == 6  # and said
    save_figure(figure, tmp_path / "ablation.png")


def test_ablation_shows_a_method_without_the_setting_as_a_line() -> None:
    rows = [{"method": "nuts", "tau": tau, "f1": 0.5} for tau in (0.1, 0.3)]
    rows += [{"method": "hard", "tau": None, "f1": f1} for f1 in (0.7, 0.9)]
    (ax,) = ablation(rows, x="tau", metrics=("f1",)).axes
    (line,) = [line for line in ax.lines if line.get_gid() == "mean-hard"]
    assert line.get_ydata() == pytest.approx([0.8, 0.8])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.1", "0.3"]


def test_regimes_fill_the_best_marker(tmp_path) -> None:
    figure = regimes(STUDY, metrics=("brier",))
    (ax,) = figure.axes
    names = {c.lines[0].get_gid() or c.get_gid() for c in ax.containers}
    assert {"best-my $own_ method-0", "other-hard-0"} <= names
    assert [t.get_text() for t in ax.get_yticklabels()] == [
        "$regime_10",
        "$regime_20",
        "$regime_50",
    ]
    save_figure(figure, tmp_path / "regimes.svg")


def test_a_mean_without_its_infinite_runs_is_never_the_best() -> None:
    rows = [
        {"regime": "r", "method": "hard", "nll": 1.0},
        {"regime": "r", "method": "hard", "nll": float("inf")},
        {"regime": "r", "method": "nuts", "nll": 2.0},
        {"regime": "r", "method": "maximal", "nll": float("inf")},
    ]
    (ax,) = regimes(rows, metrics=("nll",)).axes
    names = {c.lines[0].get_gid() or c.get_gid() for c in ax.containers}
    assert names == {"other-hard-0", "best-nuts-0"}
    assert [text.get_text() for text in ax.texts] == ["∞ 1/2", "∞ 1/1"]


def test_an_empty_table_is_said() -> None:
    with pytest.raises(InputError, match="no rows"):
        scaling([])


def test_reliability_leaves_out_empty_bins(tmp_path) -> None:
    nothing = float("nan")
    bins = (
        ReliabilityBin(0.0, 0.3, 100, 0.1, Measured(0.2, 0.04)),
        ReliabilityBin(0.3, 0.6, 0, nothing, Measured(nothing, None)),
        ReliabilityBin(0.6, 1.0, 25, 0.9, Measured(0.8, None)),
    )
    figure = reliability({"hard": Calibration(Measured(0.1), Measured(0.1), bins, 125, 1)})
    top, bottom = figure.axes
    points, _, bars = top.containers[0]
    assert points.get_xdata().tolist() == [0.1, 0.9]
    heights = [(high - low) / 2 for (_, low), (_, high) in bars[0].get_segments()]
    assert heights == pytest.approx([0.04, 0.0])
    assert bottom.lines[0].get_ydata().tolist() == [100, 25]
    save_figure(figure, tmp_path / "reliability.png")
    with pytest.raises(InputError, match="no result"):
        reliability({})


def test_steps_show_both_models() -> None:
    figure = step_bars([Step([], ["a", "b"], [1.0, 0.0], [0.9, 0.1]), Step(["a"], ["b"], [1], [1])])
    first, second = figure.axes
    assert [bar.get_height() for bar in first.patches] == [1.0, 0.0, 0.9, 0.1]
    assert second.get_title() == "step 2, after a"


def test_looks_are_kept_apart() -> None:
    looks = style.method_looks(["hard", "nuts", "first", "second", "third"])
    assert len({look.colour for look in looks.values()}) == 5
    variants = ["hard", "hard-noise", "maximal", "maximal-10", "maximal-20", "fullrank-noise", "x"]
    looks = style.method_looks(variants)
    assert list(looks) == variants
    assert len(set(looks.values())) == len(variants)
    assert looks["maximal-10"].colour == looks["maximal-20"].colour == looks["maximal"].colour
    assert len({look.colour for look in style.METHOD_LOOKS.values()}) == len(style.METHOD_LOOKS)
    assert len({look.marker for look in style.METHOD_LOOKS.values()}) == len(style.METHOD_LOOKS)
