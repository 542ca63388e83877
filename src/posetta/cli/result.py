"""Writing a result folder: draws, summary, diagram, page and settings, all or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

SETTINGS_FILE = "settings.toml"

if TYPE_CHECKING:
    from posetta.data import Traces
    from posetta.order import Poset
    from posetta.posterior import Posterior


def write_result(
    posterior: Posterior,
    out: str,
    *,
    threshold: float,
    overwrite: bool,
    settings: str,
    test: Traces | None = None,
    truth: Poset | None = None,
) -> list[str]:
    """Write a result folder, all at once, and return the names of its files.

    ``settings`` is the text of ``settings.toml``; held-out traces go to ``held-out.jsonl``.
    """
    from posetta.data import write_traces
    from posetta.plots import write_hasse_svg
    from posetta.posterior.folder import RESULT_FILES, staged_folder
    from posetta.posterior.io import save
    from posetta.report import write_report

    with staged_folder(out, ours=RESULT_FILES, overwrite=overwrite) as folder:
        save(posterior, folder, threshold=threshold)
        write_hasse_svg(posterior, folder / "hasse.svg", threshold)
        (folder / SETTINGS_FILE).write_text(settings, encoding="utf-8")
        if test is not None:
            write_traces(test, folder / "held-out.jsonl")
        write_report(
            posterior,
            folder / "report.html",
            threshold=threshold,
            truth=truth,
            test=test,
            settings=settings,
        )
        return sorted(path.name for path in folder.iterdir())
