"""``posetta demo``: the embedded data, end to end."""

from __future__ import annotations

SEED = 1
COMPILES = "The first run compiles the sampler (about half a minute); later runs load it."


def demo() -> None:
    """Look at forty runs of a service release and find out what must come before what.

    Example: `posetta demo`
    """
    from posetta.cli.show import console, show_conflicts, show_description, show_posterior
    from posetta.data.demo import demo_order, demo_traces
    from posetta.data.describe import describe
    from posetta.evaluate import closure_scores, ip_cov
    from posetta.infer import choose_method, fit

    out = console()
    traces, truth = demo_traces(), demo_order()
    out.rule("The demo data: runs of a service release, some of them missing steps")
    show_description(out, describe(traces))
    show_conflicts(out, traces)
    method = choose_method(traces)
    out.rule("What must come before what")
    out.print(f"Fitting with method {method}. " + COMPILES)
    posterior = fit(traces, method=method, seed=SEED, progress=True)
    out.print(
        f"{posterior.seconds['run']:.1f} s, and {posterior.seconds['compile']:.1f} s to compile."
    )
    show_posterior(out, posterior, 0.5)
    out.rule("Against the true order, which the demo knows")
    simple = fit(traces, method="maximal")
    for name, result in ((method, posterior), ("the intersection of the traces", simple)):
        scores = closure_scores(result.decode(), truth)
        out.print(
            f"{name}: precision {scores.precision:.2f}, recall {scores.recall:.2f}, F1 "
            f"{scores.f1:.2f}: {scores.n_recovered} recovered, {scores.n_spurious} spurious, "
            f"{scores.n_missed} missed."
        )
    out.print(f"{ip_cov(traces, truth):.0%} of the truly free pairs were seen in both orders.")
