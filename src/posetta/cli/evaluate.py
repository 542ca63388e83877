"""``posetta evaluate``: a saved result against a true order and against held-out traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from posetta.cli import options

if TYPE_CHECKING:
    from posetta.data import Traces
    from posetta.order import Poset
    from posetta.posterior import Posterior


def evaluate(
    result: options.Result,
    truth: Annotated[str | None, typer.Option(help="The true order, a JSON file.")] = None,
    test: Annotated[
        list[str] | None, typer.Option(help="Traces that were not fitted; may be given repeatedly.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Decode at this probability instead of the one it was saved with."),
    ] = None,
    json: options.Json = False,
    format: options.Format = None,
    repeats: options.Repeats = "error",
    ties: options.Ties = "error",
    empty: options.Empty = "error",
    choice_set: options.ChoiceSet = "listed",
    case: options.Case = None,
    item: options.Item = None,
    time: options.Time = None,
) -> None:
    """Judge a saved result: recovery of a true order, and how well new traces are predicted.

    Example: `posetta evaluate result --truth sim/order.json --test sim/test.jsonl`
    """
    import json as json_module

    from posetta.cli.printing import console, show_report
    from posetta.cli.reading import read_test
    from posetta.cli.show import saved_threshold
    from posetta.errors import SettingError
    from posetta.order import read_order
    from posetta.posterior.io import load

    if truth is None and not test:
        raise SettingError(
            "nothing to evaluate against. Name --truth ORDER, --test TRACES or both."
        )
    posterior = load(result)
    threshold = saved_threshold(result) if threshold is None else threshold
    unseen = read_test(
        test,
        posterior.items,
        format=format,
        repeats=repeats,
        ties=ties,
        empty=empty,
        choice_set=choice_set,
        case=case,
        item=item,
        time=time,
    )
    out = console()
    if unseen is not None:
        show_report(None if json else out, unseen.report)
    scores: dict[str, Any] = {"method": posterior.method, "status": posterior.status}
    if truth is not None:
        scores["truth"] = against_truth(posterior, read_order(truth), threshold)
    if unseen is not None:
        scores["test"] = against_traces(posterior, unseen)
    if json:
        print(json_module.dumps(scores, allow_nan=False))
        return
    for line in score_lines(scores):
        out.print(line)


def against_truth(posterior: Posterior, truth: Poset, threshold: float) -> dict[str, Any]:
    """Return how well the decoded order matches the truth, as plain values."""
    from dataclasses import asdict

    from posetta.evaluate import calibration, closure_mae, closure_scores, ip_cov

    scores = asdict(closure_scores(posterior.decode(threshold), truth))
    scores["threshold"] = threshold
    scores["mae"] = closure_mae(posterior, truth)
    scores["ip_cov"] = ip_cov(posterior.traces, truth)
    if not posterior.is_point and len(posterior.items) > 1:
        found = calibration(posterior, truth)
        scores |= {"brier": float(found.brier), "ece": float(found.ece)}
    return scores


def against_traces(posterior: Posterior, test: Traces) -> dict[str, Any]:
    """Return the NLL of traces under the result's own model and under the hard one."""
    from posetta.evaluate import step_nll, trace_nll

    scores: dict[str, Any] = {"n_traces": len(test)}
    for likelihood in ("own", "hard") if posterior.likelihood == "relaxed" else ("own",):
        for name, nll in (("trace_nll", trace_nll), ("step_nll", step_nll)):
            value = nll(posterior, test, likelihood)
            key = name if likelihood == "own" else f"{name}_hard"
            scores[key] = value.to_dict()
    return scores


def score_lines(scores: dict[str, Any]) -> list[str]:
    """Return the scores in words."""
    from posetta.cli.printing import counted

    lines = []
    if "truth" in scores:
        t = scores["truth"]
        lines += [
            f"Against the true order, at threshold {t['threshold']:g}: precision "
            f"{t['precision']:.3f}, recall {t['recall']:.3f}, F1 {t['f1']:.3f}.",
            f"  {t['n_recovered']} precedences recovered, {t['n_spurious']} spurious, "
            f"{t['n_missed']} missed; probabilities are off by {t['mae']:.3f} on average.",
            f"  {t['ip_cov']:.0%} of the truly free pairs were seen in both orders.",
        ]
        if "brier" in t:
            lines.append(
                f"  Brier score of the probabilities {t['brier']:.4f}, calibration error "
                f"{t['ece']:.4f} (0 is perfect)."
            )
    if "test" in scores:
        t = scores["test"]
        verb = "was" if t["n_traces"] == 1 else "were"
        lines.append(
            f"On {counted(t['n_traces'], 'trace')} that {verb} not fitted (lower is better):"
        )
        for key, words in (
            ("trace_nll", "-log probability of a trace"),
            ("step_nll", "-log probability of a step"),
            ("trace_nll_hard", "-log probability of a trace, hard model"),
            ("step_nll_hard", "-log probability of a step, hard model"),
        ):
            if key in t:
                lines.append(f"  {words}: {_nll_words(t[key])}")
    return lines


def _nll_words(value: dict[str, Any]) -> str:
    if value["n_impossible"]:
        rest = value["finite_mean"]
        tail = "" if rest is None else f"; {rest:.3f} on the rest"
        return f"infinite: {value['n_impossible']} of {value['n']} are impossible{tail}"
    error = value["standard_error"]
    return f"{value['value']:.3f}" + ("" if error is None else f" ± {error:.3f}")
