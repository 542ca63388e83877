"""The figures of a study: its spec says which, `posetta.plots` draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posetta.cli.words import printable
from posetta.errors import InputError

if TYPE_CHECKING:
    from posetta.order import Poset
    from posetta.posterior import Posterior
    from posetta.suite import Store

    Found = dict[str, Posterior | Poset]

# Distances to a method that the study names.
_DISTANCES = {"mae_reference": "reference", "mae_second": "second_reference"}


def draw_figures(folder: str, out: str | None = None, *, kind: str = "svg") -> list[Path]:
    """Draw every figure of a study that its finished jobs allow; return the files.

    A figure that lacks finished jobs is left out, and said so on standard error.
    """
    import sys

    from posetta.suite import Store, tidy_rows
    from posetta.suite.job import matches

    store = Store(folder)
    head = store.head
    rows = [row for row in tidy_rows(store) if row["outcome"] == "done"]
    target = Path(out or Path(folder) / "figures")
    from posetta import plots

    written = []
    for figure in head["spec"]["figures"]:
        draw = _DRAW[figure["draw"]]
        chosen = [row for row in rows if matches(row, figure.get("where", {}))]
        try:
            drawn = draw(plots, store, head["spec"], figure, chosen)
        except InputError as error:
            print(printable(f"posetta: {figure['name']} is not drawn: {error}"), file=sys.stderr)
            continue
        target.mkdir(parents=True, exist_ok=True)
        written.append(plots.save_figure(drawn, target / f"{figure['name']}.{kind}"))
    return written


def _labelled(metrics: Sequence[str], spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the metrics with their labels; a distance says to which method."""
    from posetta.plots.style import method_name
    from posetta.plots.tables import metric_labels

    labels = metric_labels(metrics)
    for name, key in _DISTANCES.items():
        if name in labels and spec.get(key):
            labels[name] = f"MAE to {method_name(spec[key])}"
    return labels


def _of_table(function: str, place: str) -> Callable[..., Any]:
    """Return a drawer of the tidy table: ``function`` of plots, with its ``place`` argument.

    A series is a method, or one of the values of the column that the figure names as ``by``.
    """

    def draw(
        plots: Any, _store: Store, spec: Any, figure: Mapping[str, Any], rows: Sequence[Any]
    ) -> Any:
        metrics = _labelled(figure["metrics"], spec)
        # A metric that no finished job has is an empty panel.
        table = [{**dict.fromkeys(metrics), **row} for row in rows]
        series = {}
        if by := figure.get("by"):
            table = [{**row, "series": f"{by} = {row.get(by)}"} for row in table]
            series = {"method": "series"}
        return getattr(plots, function)(table, **{place: figure["x"]}, metrics=metrics, **series)

    return draw


def _closure(
    plots: Any, store: Store, _spec: Any, figure: Mapping[str, Any], rows: Sequence[Any]
) -> Any:
    """Recovered, spurious and missed precedences on the truth's positions."""
    from posetta.order import read_order

    if not rows:
        raise InputError("no job of it is finished.")
    truth = read_order(store.path(rows[0]["job"]) / "order.json")
    found = _found(store, rows)
    return plots.hasse_panels(
        {"truth": truth, **found},
        threshold=figure.get("threshold", 0.5),
        truth=truth,
        relation=figure.get("relation", "closure"),
    )


def _hasse(
    plots: Any, store: Store, _spec: Any, figure: Mapping[str, Any], rows: Sequence[Any]
) -> Any:
    found = _found(store, rows)
    return plots.hasse_panels(found, threshold=figure.get("threshold", 0.5))


def _maps(plots: Any, store: Store, _spec: Any, _figure: Any, rows: Sequence[Any]) -> Any:
    return plots.precedence_maps(_found(store, rows))


def _agreement(plots: Any, store: Store, spec: Any, figure: Any, rows: Sequence[Any]) -> Any:
    found = _found(store, rows)
    reference = spec["reference"]
    if reference not in found:
        raise InputError(f"the reference {reference!r} is not finished.")
    others = {label: result for label, result in found.items() if label != reference}
    threshold = figure.get("threshold", 0.5)
    return plots.agreement((reference, found[reference]), others, threshold=threshold)


def _densities(
    plots: Any, store: Store, _spec: Any, figure: Mapping[str, Any], rows: Sequence[Any]
) -> Any:
    """Densities of the scalars, a row of panels for each value of the column ``by``."""
    by = figure.get("by")
    cases: dict[str, list[Any]] = {}
    for row in rows:
        cases.setdefault(str(row[by]) if by else "", []).append(row)
    return plots.scalar_densities({case: _found(store, some) for case, some in cases.items()})


def _convergence(plots: Any, store: Store, _spec: Any, _figure: Any, rows: Sequence[Any]) -> Any:
    return plots.convergence(_found(store, rows))


def _found(store: Store, rows: Sequence[Mapping[str, Any]]) -> Found:
    """Return the results of the rows by method: posteriors, points left out.

    Without the draws (keep = "summary") there is no posterior to load: such a study can only draw
    its table.
    """
    from posetta.posterior.io import DRAWS_FILE, load

    if not rows:
        raise InputError("no job of it is finished.")

    found: Found = {}
    for row in rows:
        if row.get("is_point"):
            continue
        label = str(row["method"])
        if label in found:
            raise InputError(f"more than one job of {label!r} is meant: narrow its where.")
        if not (store.path(row["job"]) / DRAWS_FILE).exists():
            raise InputError(f'the draws of {label!r} were not kept. Set keep = "draws".')
        found[label] = load(store.path(row["job"]))
    if not found:
        raise InputError("its jobs gave single orders, which have no draws.")
    return found


_DRAW: dict[str, Callable[..., Any]] = {
    "scaling": _of_table("scaling", "x"),
    "ablation": _of_table("ablation", "x"),
    "regimes": _of_table("regimes", "regime"),
    "closure": _closure,
    "hasse": _hasse,
    "maps": _maps,
    "agreement": _agreement,
    "densities": _densities,
    "convergence": _convergence,
}
