"""Partial orders beside Plackett-Luce on real rankings: predictive scores of the same lists.

    python benchmarks/rankings.py sushi   --data DIR
    python benchmarks/rankings.py bishops --data DIR
    python benchmarks/rankings.py bishops --data DIR --only plackett-luce

DIR holds sushi/ and royal_acta/. ``--only`` names the methods to run, ``--max-seconds`` bounds the
sampling of each. Every row of the tables is printed as soon as it is known.

Sushi: 5,000 rankings of 10 items, a fifth of them held out (a fixed split). WAIC is that of the
other 4,000, which were fitted.

Bishops: WAIC with one term for each list. Plackett-Luce is fitted twice. "own" is the model of the
others: each list orders the actors it holds. "all" reads each list as the first places of a ranking
of all actors, as programs for top-k rankings do; its draws are then scored both on each list's own
actors (what the paper reports for its Plackett-Luce fits) and, for the record, as they were fitted.
Only rows with the same "scored on" can be compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

import posetta as po
from posetta.infer import Settings
from posetta.infer.methods import settings_of
from posetta.model import plackett_luce_trace_log_likelihood

COMPONENTS = (1, 2, 3)


def plackett_luce(components: int) -> po.PlackettLuce:
    return po.PlackettLuce(components=components, warmup=3000, thin=12)


def runs(
    orders: list[tuple[str, Settings, po.Model]], only: list[str] | None
) -> Iterator[tuple[str, Settings, po.Model]]:
    """Yield (words, settings, model) of the methods that are asked for."""
    rankings = [(f"plackett-luce, G = {g}", plackett_luce(g), po.Model()) for g in COMPONENTS]
    for words, settings, model in [*orders, *rankings]:
        if only is None or settings_of(settings)[0] in only:
            yield words, settings, model


def limited(settings: Settings, max_seconds: float | None) -> Settings:
    known = {field.name for field in fields(settings)}
    if max_seconds is None or "max_seconds" not in known:
        return settings
    limited: Settings = replace(settings, max_seconds=max_seconds)
    return limited


def state(post: po.Posterior) -> str:
    found = post.diagnostics
    r_hat, ess = found.get("r_hat_max"), found.get("ess_min")
    mixing = f"{r_hat:.3f} | {ess:.0f}" if r_hat is not None else "|"
    return f"{post.status} | {mixing} | {post.seconds['run']:.0f}"


def waic_row(post: po.Posterior, traces: po.Traces) -> str:
    found = po.evaluate.waic(post, traces)
    return f"{found.waic:.1f} ± {found.standard_error:.1f} | {found.p_waic:.1f}"


def sushi(data: Path, only: list[str] | None, max_seconds: float | None) -> None:
    rankings = po.read_traces(data / "sushi" / "00014-00000001.soc")
    train, test = rankings.split(0.2, seed=7)
    print(f"{len(train)} rankings fitted, {len(test)} held out\n")
    print(
        "| method | held-out NLL a ranking | held-out Step NLL | WAIC | p_WAIC | status | R-hat | "
        "ESS | seconds |\n| --- " + "| ---: " * 4 + "| --- " + "| ---: " * 3 + "|",
        flush=True,
    )
    noisy = po.Model(noise=None)
    # With thousands of rankings the steps of NUTS are short and its trajectories long.
    few = po.RelaxedNUTS(chains=2, warmup=150, draws=150, max_depth=7)
    orders: list[tuple[str, Settings, po.Model]] = [
        ("hard, noise inferred", po.HardMCMC(), noisy),
        ("nuts", few, po.Model()),
        ("nuts, noise inferred", few, noisy),
    ]
    for words, settings, model in runs(orders, only):
        post = po.fit(train, limited(settings, max_seconds), model, seed=7)
        print(
            f"| {words} | {po.evaluate.trace_nll(post, test)} | "
            f"{po.evaluate.step_nll(post, test)} | {waic_row(post, train)} | {state(post)} |",
            flush=True,
        )
        print(f"<!-- {what_it_says(post)} -->")
        for warning in post.warnings:
            print(f"<!-- {warning} -->", flush=True)


def what_it_says(post: po.Posterior) -> str:
    """Return noise and number of relations by chain, and the pairs that are surely ordered."""
    if "noise" not in post.draws.scalars:
        return "no order, no noise"
    noise = ", ".join(f"{value:.3f}" for value in post.draws.scalars["noise"].mean(axis=1))
    relations = ", ".join(f"{value:.1f}" for value in post.n_relations.mean(axis=1))
    n = len(post.items)
    sure = [(a, b) for a in post.items for b in post.items if post.probability(a, b) > 0.95]
    return (
        f"noise by chain {noise}; relations by chain {relations} of {n * (n - 1) // 2}; "
        f"{len(sure)} pairs above 0.95: {sure}"
    )


def scored_on(post: po.Posterior, traces: po.Traces) -> po.Posterior:
    """Return Plackett-Luce draws with the log-likelihood of other choice sets of the same lists."""
    latent = post.draws.latent
    assert latent is not None
    rows = [
        plackett_luce_trace_log_likelihood(u, traces) for u in latent.reshape(-1, *latent.shape[2:])
    ]
    log_likelihood = np.array(rows).reshape(*latent.shape[:2], -1)
    return replace(post, traces=traces, draws=replace(post.draws, log_likelihood=log_likelihood))


def bishops(data: Path, only: list[str] | None, max_seconds: float | None) -> None:
    own = po.read_traces(data / "royal_acta" / "bishops.traces.jsonl")
    everyone = own.over_all_items()
    print(f"{len(own)} lists of {own.n_items} actors\n")
    print(
        "| method | fitted on | scored on | WAIC | p_WAIC | status | R-hat | ESS | seconds |\n"
        "| --- | --- | --- | ---: | ---: | --- " + "| ---: " * 3 + "|",
        flush=True,
    )
    relaxed = po.Model(dim=3, tau=0.1, beta=0.0)
    orders: list[tuple[str, Settings, po.Model]] = [
        ("hard", po.HardMCMC(warmup=4000, thin=20), po.Model(dim=3, beta=0.0)),
        ("nuts", po.RelaxedNUTS(), relaxed),
        ("fullrank", po.FullRankVI(), relaxed),
        ("flow", po.FlowVI(), relaxed),
    ]
    for words, settings, model in runs(orders, only):
        settings = limited(settings, max_seconds)
        post = po.fit(own, settings, model, seed=7)
        print(f"| {words} | own | own | {waic_row(post, own)} | {state(post)} |", flush=True)
        if isinstance(settings, po.PlackettLuce):
            wide = po.fit(everyone, settings, model, seed=7)
            narrow = scored_on(wide, own)
            print(f"| {words} | all | own | {waic_row(narrow, own)} | {state(wide)} |")
            print(
                f"| {words} | all | all | {waic_row(wide, everyone)} | {state(wide)} |", flush=True
            )
        for warning in post.warnings:
            print(f"<!-- {warning} -->", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=("sushi", "bishops"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=None, metavar="METHOD")
    parser.add_argument("--max-seconds", type=float, default=None)
    given = parser.parse_args()
    study = {"sushi": sushi, "bishops": bishops}[given.study]
    study(given.data, given.only, given.max_seconds)


if __name__ == "__main__":
    main()
