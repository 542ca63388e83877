"""Did the chains agree? Split R-hat and effective sample size.

Definitions follow Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021): each chain is split in
half; R-hat compares the variance between the halves with that within; the effective sample size
sums autocorrelations until Geyer's initial monotone sequence ends. Rank normalisation (the bulk
versions) is for continuous quantities; on 0/1 indicators it is degenerate, so those use the plain
forms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from posetta.posterior.posterior import Status

R_HAT_LIMIT = 1.05
ESS_LIMIT = 100.0
# Chains may agree on every scalar and hold some pairs in opposite orders. Pairs mix last, and their
# R-hat is noisy: of a thousand fits in docs/results whose scalars agree, four lie above this limit,
# three of them NUTS on 50 items, where a second run does give other pair probabilities.
PAIR_R_HAT_LIMIT = 1.2
UNMIXED = "the chains have not mixed"
STOPPED = "the run was stopped early"
LET_IT_RUN = "Let it run to its end, or raise max_seconds if that ended it."
"""What to do about a run that was stopped, by its time limit or by the user."""


def split(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (chain, draw) as (2 x chain, draw / 2); an odd draw in the middle is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def rank_normalised(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace draws by the normal scores of their ranks over all chains."""
    ranks = rankdata(draws, method="average").reshape(draws.shape)
    return np.asarray(norm.ppf((ranks - 0.375) / (draws.size + 0.25)))


def split_r_hat(draws: NDArray[np.float64], *, by_rank: bool = True) -> float:
    """Return split R-hat of (chain, draw); 1 for a constant, NaN for fewer than four draws."""
    if draws.shape[1] < 4:
        return float("nan")
    if np.ptp(draws) == 0.0:
        return 1.0
    halves = split(rank_normalised(draws) if by_rank else draws)
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean()
    between = n * halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return float("inf")
    return float(np.sqrt((n - 1) / n + between / within / n))


def effective_size(draws: NDArray[np.float64], *, by_rank: bool = True) -> float:
    """Return the effective sample size of (chain, draw); NaN for a constant."""
    values = rank_normalised(draws) if by_rank else draws
    return float(plain_effective_sizes(values[:, :, None])[0])


def plain_effective_sizes(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the effective size, without ranks, of every quantity of (chain, draw, quantity)."""
    if draws.shape[1] < 4:
        return np.full(draws.shape[2], np.nan)
    halves = split(draws)
    chains, n = halves.shape[:2]
    covariance = _autocovariance(halves)
    within = covariance[:, 0].mean(axis=0) * n / (n - 1)
    pooled = within * (n - 1) / n + halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1.0 - (within - covariance.mean(axis=0) * n / (n - 1)) / pooled
    correlation[0] = 1.0
    # Geyer: sums of neighbouring pairs stay positive and fall.
    pairs = correlation[0 : n - n % 2 : 2] + correlation[1::2][: n // 2]
    going = np.logical_and.accumulate(pairs > 0.0, axis=0)
    kept = np.where(going, np.minimum.accumulate(pairs, axis=0), 0.0)
    time = np.maximum(-1.0 + 2.0 * kept.sum(axis=0), 1.0 / np.log10(chains * n))
    return np.where(np.ptp(halves, axis=(0, 1)) > 0.0, chains * n / time, np.nan)


def pair_standard_errors(closure_bits: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the Monte Carlo standard error of the share of draws with i before j.

    ``closure_bits`` is (chain, draw, item, byte). One item at a time: all indicators of thousands
    of draws would not fit the memory.
    """
    n = closure_bits.shape[2]
    errors = np.zeros((n, n))
    for i in range(n):
        row = np.unpackbits(closure_bits[:, :, i], axis=-1, count=n)
        varies = np.flatnonzero(row.min(axis=(0, 1)) != row.max(axis=(0, 1)))
        errors[i, varies] = plain_standard_errors(row[:, :, varies].astype(np.float64))
    return errors


def plain_standard_errors(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sd / sqrt(effective size), without ranks, of all quantities of (chain, draw, ...)."""
    deviation = draws.std(axis=(0, 1), ddof=1)
    return deviation / np.sqrt(plain_effective_sizes(draws))


def _autocovariance(halves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the autocovariances along axis 1 of each chain, by FFT, divided by the length."""
    n = halves.shape[1]
    centred = halves - halves.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n] / n)


def plain_split_r_hats(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return split R-hat, without ranks, of every quantity of (chain, draw, quantity).

    1 for a constant, NaN for fewer than four draws.
    """
    if draws.shape[1] < 4:
        return np.full(draws.shape[2], np.nan)
    halves = split(draws)
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = n * halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = np.sqrt((n - 1) / n + between / within / n)
    return np.where((within == 0.0) & (between == 0.0), 1.0, r_hat)


def chain_diagnostics(
    quantities: Mapping[str, NDArray[np.float64]],
    closure_bits: NDArray[np.uint8],
    latent: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Say how well chains agree, in the words of ``result.json``.

    ``quantities`` (log density and inferred scalars, each (chain, draw)) are the gate: `r_hat_max`
    and `ess_min` are theirs. Pairs with a probability between 0.02 and 0.98 add the 99th percentile
    of plain R-hat and the largest Monte Carlo standard error; ``chain_mae_max`` is the largest mean
    difference of the pair probabilities between two chains, NaN with one. With ``latent`` (chain,
    draw, item, dim) the margins min_k (u_ik - u_jk), which do not care for the order of the
    columns, are compared too; latent columns never are, since they switch labels.
    """
    n = closure_bits.shape[2]
    by_chain = np.empty((closure_bits.shape[0], n, n))
    r_hats, errors, margins = [], [], []
    # One item at a time: all pairs of thousands of draws would not fit the memory.
    for i in range(n):
        row = np.unpackbits(closure_bits[:, :, i], axis=-1, count=n)
        by_chain[:, i] = row.mean(axis=1)
        share = by_chain[:, i].mean(axis=0)
        uncertain = row[:, :, (share > 0.02) & (share < 0.98)].astype(np.float64)
        r_hats.append(plain_split_r_hats(uncertain))
        errors.append(plain_standard_errors(uncertain))
        if latent is not None:
            others = np.arange(n) != i
            margins.append(plain_split_r_hats(_margins(latent, i)[..., others]))
    found = gate_diagnostics(quantities) | pair_diagnostics(
        by_chain, np.concatenate(r_hats), np.concatenate(errors)
    )
    if latent is not None:
        found["margin_r_hat_99"] = _percentile_99(np.concatenate(margins))
    return found


def gate_diagnostics(quantities: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Return R-hat and effective size of quantities (chain, draw), and the worst of each.

    A constant has R-hat 1 and does not count for the effective size. With fewer than four draws a
    chain nothing can be said, and the worst are NaN.
    """
    r_hat = {name: split_r_hat(values) for name, values in quantities.items()}
    ess = {name: effective_size(values) for name, values in quantities.items()}
    too_few = any(np.isnan(value) for value in r_hat.values())
    return {
        "r_hat": r_hat,
        "ess": ess,
        "r_hat_max": np.nan if too_few else float(max([*r_hat.values(), 1.0])),
        "ess_min": np.nan if too_few else float(np.nanmin([*ess.values(), np.inf])),
    }


def pair_diagnostics(
    by_chain: NDArray[np.float64], r_hats: NDArray[np.float64], errors: NDArray[np.float64]
) -> dict[str, Any]:
    """Say how well chains agree on pair probabilities, (chain, item, item).

    ``r_hats`` and ``errors`` are those of the pairs that count.
    """
    n = by_chain.shape[1]
    apart = [np.abs(a - b).sum() for k, a in enumerate(by_chain) for b in by_chain[k + 1 :]]
    return {
        "pair_r_hat_99": _percentile_99(r_hats),
        "pair_mcse_max": float(np.max([0.0, *errors])),  # NaN with fewer than four draws
        "chain_mae_max": float(max(apart, default=np.nan)) / max(n * (n - 1), 1),
    }


def _margins(latent: NDArray[np.float64], i: int) -> NDArray[np.float64]:
    """Return min_k (u_ik - u_jk) of every j as (chain, draw, j)."""
    margin = latent[:, :, i, None, 0] - latent[:, :, :, 0]
    for k in range(1, latent.shape[3]):
        np.minimum(margin, latent[:, :, i, None, k] - latent[:, :, :, k], out=margin)
    return margin


def _percentile_99(values: NDArray[np.float64]) -> float:
    return float(np.sort(values)[int(0.99 * len(values))]) if len(values) else 1.0


def mixing_status(
    found: Mapping[str, Any], *, stopped: bool, remedy: str
) -> tuple[Status, tuple[str, ...]]:
    """Return the status of a run of chains, and warnings; ``remedy`` names the settings to change.

    ``stopped`` says that time or the user ended the run early.
    """
    warnings = []
    r_hat, ess, pairs = found["r_hat_max"], found["ess_min"], found["pair_r_hat_99"]
    mixed = r_hat <= R_HAT_LIMIT and ess >= ESS_LIMIT and pairs <= PAIR_R_HAT_LIMIT
    if np.isnan(r_hat):
        warnings.append(f"too few draws to tell whether the chains have mixed. {remedy}")
    elif not mixed:
        of_pairs = apart = ""
        if pairs > PAIR_R_HAT_LIMIT:
            of_pairs = f", R-hat of uncertain pairs {pairs:.2f} (at most {PAIR_R_HAT_LIMIT})"
        if not np.isnan(found["chain_mae_max"]):
            apart = (
                f", pair probabilities of two chains differ by {found['chain_mae_max']:.3f} on "
                "average"
            )
        warnings.append(
            f"{UNMIXED}: R-hat {r_hat:.2f} (at most {R_HAT_LIMIT}), effective "
            f"draws {ess:.0f} (at least {ESS_LIMIT:.0f}){of_pairs}{apart}. {remedy}"
        )
    if stopped:
        warnings.append(f"{STOPPED}. {LET_IT_RUN}")
    return ("budget_reached" if stopped else "ok" if mixed else "unmixed"), tuple(warnings)


def length_warning(lengths: Sequence[int]) -> tuple[str, ...]:
    """Say how many draws are lost when chains of these lengths are cut to the shortest."""
    left_out = sum(lengths) - min(lengths) * len(lengths)
    if left_out == 0:
        return ()
    draws, are = ("draw", "is") if left_out == 1 else ("draws", "are")
    return (f"the chains differ in length: {left_out} {draws} of the longer ones {are} left out.",)
