"""Did the chains agree? Split R-hat and effective sample size.

Definitions follow Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021): each chain is split in
half; R-hat compares the variance between the halves with that within; the effective sample size
sums autocorrelations until Geyer's initial monotone sequence ends. Rank normalisation (the bulk
versions) is for continuous quantities; on 0/1 indicators it is degenerate, so those use the plain
forms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata


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
    if draws.shape[1] < 4 or np.ptp(draws) == 0.0:
        return float("nan")
    halves = split(rank_normalised(draws) if by_rank else draws)
    chains, n = halves.shape
    covariance = _autocovariance(halves)
    within = covariance[:, 0].mean() * n / (n - 1)
    pooled = within * (n - 1) / n + halves.mean(axis=1).var(ddof=1)
    correlation = 1.0 - (within - covariance.mean(axis=0) * n / (n - 1)) / pooled
    correlation[0] = 1.0
    # Geyer: sums of neighbouring pairs stay positive and fall.
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    kept = np.minimum.accumulate(pairs[: ends[0] if len(ends) else len(pairs)])
    time = max(-1.0 + 2.0 * kept.sum(), 1.0 / np.log10(chains * n))
    return float(chains * n / time)


def _autocovariance(halves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the autocovariances of each row, by FFT, divided by the length."""
    n = halves.shape[1]
    centred = halves - halves.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n] / n)
