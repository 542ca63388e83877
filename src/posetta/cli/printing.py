"""What the verbs print. User data is never read as markup."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from posetta.cli.words import printable

if TYPE_CHECKING:
    from posetta.data import ReadReport, Traces
    from posetta.data.describe import Description
    from posetta.posterior import Posterior

_MOST_PAIRS = 20
_MOST_FINDINGS = 5
_MOST_COVERS = 40
_PIPED_WIDTH = 120


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the program, which has exit codes of its own; rich would end with 1."""
        raise BrokenPipeError


def console() -> Console:
    """Return a console that reads no markup in labels; piped output is not wrapped."""
    terminal = sys.stdout.isatty()
    return _Console(
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=not terminal,
        width=None if terminal else _PIPED_WIDTH,
    )


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, which gets an s unless there is one of it."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def show_report(out: Console | None, report: ReadReport) -> None:
    """Say what was read, how the format was found out, and everything that was changed.

    Without a screen only the changes are told, on standard error.
    """
    if out is None:
        for line in report.lines():
            print(printable(f"posetta: {line}"), file=sys.stderr)
        return
    if report.files:
        out.print(printable(f"Read {', '.join(report.files)}: {report.detected}"))
    for line in report.lines():
        out.print(printable(f"  {line}"))


def show_description(out: Console, described: Description) -> None:
    """Print sizes and coverage as a small table."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for name, value, remark in (
        ("items", described.n_items, ""),
        ("traces", described.n_traces, f"{described.n_unique:,} distinct"),
        ("  duplicates", described.n_traces - described.n_unique, "same as an earlier trace"),
        (
            "length",
            f"{described.shortest} / {described.median_length:g} / {described.longest}",
            "shortest / median / longest",
        ),
        ("complete", described.n_complete, "traces that list every item"),
        ("top-k lists", described.n_with_choice_set, "chosen from more than they list"),
        ("pairs", described.n_pairs, ""),
        ("  both orders", described.pairs_in_both_orders, "conflicts: free, or noisy"),
        ("  one order", described.pairs_in_one_order, "a prerequisite, or chance"),
        ("  never together", described.pairs_never_together, "the traces say nothing"),
    ):
        shown = f"{value:,}" if isinstance(value, int) else value
        table.add_row(name, shown, remark)
    out.print(table)
    if described.items_seen_once:
        out.print("Listed by one trace only: " + _listing(described.items_seen_once))
    if described.items_never_seen:
        out.print("Never listed: " + _listing(described.items_never_seen))


def show_conflicts(out: Console, traces: Traces) -> None:
    """Print the pairs seen in both orders, most balanced first."""
    from posetta.data.evidence import PairEvidence

    evidence = PairEvidence.of(traces)
    pairs = np.argwhere(np.triu(evidence.both_orders))
    if not len(pairs):
        out.print("No pair was seen in both orders.")
        return
    before = evidence.before
    balance = [min(before[i, j], before[j, i]) / evidence.together[i, j] for i, j in pairs]
    table = Table(title="Pairs seen in both orders", title_justify="left", box=None)
    for heading, justify in (
        ("a", "left"),
        ("b", "left"),
        ("a first", "right"),
        ("b first", "right"),
    ):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for k in np.argsort(-np.array(balance), kind="stable")[:_MOST_PAIRS]:
        i, j = pairs[k]
        table.add_row(
            Text(printable(traces.items[i])),
            Text(printable(traces.items[j])),
            str(before[i, j]),
            str(before[j, i]),
        )
    out.print(table)
    if len(pairs) > _MOST_PAIRS:
        out.print(f"... and {len(pairs) - _MOST_PAIRS} more")


def show_findings(out: Console, posterior: Posterior, threshold: float) -> None:
    """Print what is required, what is free and what is open, a few pairs of each in words."""
    from posetta.posterior.findings import findings, free, required, undecided

    found = findings(posterior, threshold)
    for heading, pairs, words in (
        ("Strongest prerequisites", found.prerequisites, required),
        ("Surely reorderable pairs", found.free, free),
        ("Pairs that the data cannot decide", found.undecided, undecided),
    ):
        out.print(f"{heading}: {len(pairs)}")
        for pair in pairs[:_MOST_FINDINGS]:
            out.print(printable(f"  {words(pair, posterior.is_point)}"))
        if len(pairs) > _MOST_FINDINGS:
            out.print(f"  ... and {len(pairs) - _MOST_FINDINGS} more")


def show_order(out: Console, posterior: Posterior, threshold: float) -> None:
    """Print the decoded order, its levels and the scalars."""
    from posetta.posterior.findings import written

    order = posterior.decode(threshold)
    out.print(
        f"The order at threshold {threshold:g}: {counted(order.n_relations, 'precedence')}, "
        f"{len(order.cover_pairs)} of them direct, {counted(order.depth, 'level')}."
    )
    table = Table(title="Direct precedences", title_justify="left", box=None)
    table.add_column("first", overflow="fold")
    table.add_column("then", overflow="fold")
    if not posterior.is_point:
        table.add_column("probability", justify="right")
    for first, then in order.cover_pairs[:_MOST_COVERS]:
        row = [Text(printable(first)), Text(printable(then))]
        if not posterior.is_point:
            row.append(Text(written(posterior.probability(first, then))))
        table.add_row(*row)
    out.print(table)
    if len(order.cover_pairs) > _MOST_COVERS:
        out.print(f"... and {len(order.cover_pairs) - _MOST_COVERS} more")
    out.print("Levels (items of one level could run in parallel):")
    for number, level in enumerate(order.levels, start=1):
        out.print(f"  {number}. " + _listing(level))
    for name, numbers in posterior.scalar_summary.items():
        if posterior.is_point:
            out.print(f"{name}: {numbers['mean']:.3g}")
        elif numbers["q5"] == numbers["q95"] and numbers["sd"] == 0.0:
            out.print(f"{name}: {numbers['mean']:.3g} in every draw")
        else:
            out.print(f"{name}: mean {numbers['mean']:.3g}, sd {numbers['sd']:.2g}")


def show_status(out: Console, posterior: Posterior) -> None:
    """Print the status, the warnings and the time: starting points too, compilation apart."""
    from posetta.cli.words import warning_words

    out.print(f"Status: {posterior.status}")
    for warning in posterior.warnings:
        out.print(printable(f"Warning: {warning_words(warning, posterior.method)}"))
    seconds = posterior.seconds
    if "run" in seconds:
        compiling = seconds.get("compile", 0.0)
        apart = f", and {compiling:.1f} s to compile or load the sampler" if compiling else ""
        took = seconds.get("start", 0.0) + seconds["run"]
        out.print(f"Time: {took:.1f} s{apart}.")


def _listing(labels: tuple[str, ...] | list[str]) -> str:
    return ", ".join(map(printable, labels[:_MOST_PAIRS])) + (
        ", ..." if len(labels) > _MOST_PAIRS else ""
    )
