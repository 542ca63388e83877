"""Posteriors of the same traces under the same model as one: chains side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import InputError
from posetta.plain import plain
from posetta.posterior.posterior import Draws, Posterior

# Settings that may differ between parts: where they began, how long they ran; not how they moved.
_FREE = frozenset(
    {"draws", "warmup", "chains", "starts", "max_seconds", "checkpoint", "merged_seeds"}
)
# Of the diagnostics, totals over chains; the rest is computed anew or has no meaning for the whole.
_TOTALS = ("divergences", "gradients")


def merge(posteriors: Sequence[Posterior]) -> Posterior:
    """Return the chains of several runs as one posterior, its diagnostics computed anew.

    The runs must be of one method, model and set of traces, and no chain may be there twice: that
    would look like agreement. Runs of different lengths are cut to the shortest. The seeds of all
    runs are kept as the setting ``merged_seeds``.
    """
    # Brings in scipy.stats, which loading and showing a result can do without.
    from posetta.posterior.diagnostics import STOPPED, UNMIXED, mixing_status

    parts = list(posteriors)
    if not parts:
        raise InputError("merge needs at least one posterior.")
    first = parts[0]
    _check(parts)
    n_draws = min(part.draws.n_draws for part in parts)
    draws = Draws(
        closure_bits=np.concatenate([part.draws.closure_bits[:, :n_draws] for part in parts]),
        scalars={
            name: np.concatenate([part.draws.scalars[name][:, :n_draws] for part in parts])
            for name in first.draws.scalars
        },
        log_likelihood=np.concatenate(
            [
                part.draws.log_likelihood[:, :n_draws][..., _same_rows(first.traces, part.traces)]
                for part in parts
            ]
        ),
        latent=_latents(parts, n_draws),
        statistics={
            name: np.concatenate([part.draws.statistics[name][:, :n_draws] for part in parts])
            for name in first.draws.statistics
            if all(name in part.draws.statistics for part in parts)
        },
    )
    quantities = {
        # Results of earlier versions do not hold the log density.
        "log_density": draws.statistics["lp"]
        if "lp" in draws.statistics
        else draws.log_likelihood @ first.traces.counts.astype(np.float64),
        "relations": draws.n_relations.astype(np.float64),
        **{name: values for name, values in draws.scalars.items() if np.ptp(values) > 0.0},
    }
    precedence, diagnostics = _judged(draws, first, quantities)
    for name in _TOTALS:
        if all(name in part.diagnostics for part in parts):
            diagnostics[name] = sum(part.diagnostics[name] for part in parts)
    stopped = any(part.status == "budget_reached" for part in parts)
    status, warnings = mixing_status(
        diagnostics, stopped=stopped, remedy="Merge longer runs, or more of them."
    )
    if any(part.status == "diverged" for part in parts):
        status = "diverged"
    kept = [
        text
        for text in dict.fromkeys(text for part in parts for text in part.warnings)
        if not text.startswith((UNMIXED, STOPPED))
    ]
    if any(part.draws.n_draws > n_draws for part in parts):
        kept.append(f"the runs differ in length: {n_draws} draws of every chain were kept.")
    return replace(
        first,
        settings={
            **first.settings,
            "chains": draws.n_chains,
            "draws": n_draws,
            "merged_seeds": [seed for part in parts for seed in _seeds(part)],
        },
        draws=draws,
        precedence=precedence,
        status=status,
        warnings=(*warnings, *kept),
        diagnostics=diagnostics,
        seconds={
            name: sum(part.seconds.get(name, 0.0) for part in parts) for name in first.seconds
        },
    )


def _judged(
    draws: Draws, first: Posterior, quantities: dict[str, NDArray[np.float64]]
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return the mean of what the method's ``precedence`` is the mean of, and the diagnostics."""
    from posetta.posterior.diagnostics import chain_diagnostics, gate_diagnostics

    if first.likelihood == "plackett-luce" and draws.latent is not None:
        from posetta.posterior.support_pairs import support_pairs

        pairs = support_pairs(draws.latent)
        return pairs.precedence, gate_diagnostics(quantities) | pairs.diagnostics
    latent = draws.latent if first.likelihood == "relaxed" else None
    found = chain_diagnostics(quantities, draws.closure_bits, latent)
    return draws.mean_closure(len(first.items)), found


def _check(parts: list[Posterior]) -> None:
    first = parts[0]
    for part in parts:
        # Only samplers with chains compare them; an enumeration, an approximation or a single
        # order gains nothing from another of its kind.
        if part.is_point or "r_hat" not in part.diagnostics:
            raise InputError(f"method {part.method!r} has no chains to merge.")
    for part in parts[1:]:
        for what, same in (
            ("items", part.items == first.items),
            ("traces", part.traces.hash == first.traces.hash),
            ("methods", part.method == first.method and part.likelihood == first.likelihood),
            ("models", part.model == first.model),
            ("settings", _moves(part) == _moves(first)),
        ):
            if not same:
                raise InputError(f"these posteriors are of different {what} and cannot be merged.")
    seeds = [seed for part in parts for seed in _seeds(part)]
    if len(set(seeds)) < len(seeds):
        raise InputError(
            "two of these posteriors have the same seed, so they hold the same chains. Fit with "
            "seeds of their own."
        )


def _seeds(part: Posterior) -> list[int]:
    """Return the seeds of the runs that a posterior was made of."""
    return list(part.settings.get("merged_seeds", [part.seed]))


def _moves(part: Posterior) -> dict[str, object]:
    # A saved result has lists where the settings had tuples.
    return {name: plain(value) for name, value in part.settings.items() if name not in _FREE}


def _same_rows(wanted: Traces, given: Traces) -> NDArray[np.intp]:
    """Return where the rows of one set of traces are in an equal one that was read elsewhere."""
    index = {
        (given.choice_set(r).tobytes(), int(given.n_listed[r])): r for r in range(given.n_unique)
    }
    rows = [
        index[wanted.choice_set(r).tobytes(), int(wanted.n_listed[r])]
        for r in range(wanted.n_unique)
    ]
    return np.array(rows, dtype=np.intp)


def _latents(parts: list[Posterior], n_draws: int) -> NDArray[np.float64] | None:
    """Return the latents side by side, padded to the widest; None if any part has none."""
    latents = [part.draws.latent for part in parts if part.draws.latent is not None]
    if len(latents) < len(parts):
        return None
    widest = max(latent.shape[3] for latent in latents)
    return np.concatenate(
        [
            np.pad(
                latent[:, :n_draws],
                ((0, 0), (0, 0), (0, 0), (0, widest - latent.shape[3])),
                constant_values=np.nan,
            )
            for latent in latents
        ]
    )
