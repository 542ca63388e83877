"""Pairs of Plackett-Luce draws: their probabilities, and how well chains agree on them.

The ``precedence`` of supports is the mean over draws of sum_g omega_g p_gi / (p_gi + p_gj), not the
share of draws whose product order has the pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posetta.model.plackett_luce import plackett_luce_pairs
from posetta.posterior.diagnostics import (
    pair_diagnostics,
    plain_split_r_hats,
    plain_standard_errors,
)


class SupportPairs(NamedTuple):
    """Of every ordered pair of items; the diagonals are 0, of ``r_hat`` 1."""

    by_chain: NDArray[np.float64]
    """(chain, item, item): mean probability in each chain."""
    standard_error: NDArray[np.float64]
    """(item, item): Monte Carlo error of ``precedence``."""
    r_hat: NDArray[np.float64]
    """(item, item): plain split R-hat."""

    @property
    def precedence(self) -> NDArray[np.float64]:
        """(item, item): mean probability over all draws."""
        return np.asarray(self.by_chain.mean(axis=0))

    @property
    def diagnostics(self) -> dict[str, Any]:
        """How well the chains agree, in the words of ``result.json``."""
        once = np.triu_indices(len(self.r_hat), k=1)  # (j, i) says the same as (i, j)
        return pair_diagnostics(self.by_chain, self.r_hat[once], self.standard_error[once])


def support_pairs(log_support: NDArray[np.float64]) -> SupportPairs:
    """Look at the pairs of log supports (chain, draw, item, component).

    One item at a time: all pairs of thousands of draws would not fit the memory.
    """
    n_chains, _, n, _ = log_support.shape
    by_chain, error, r_hat = np.zeros((n_chains, n, n)), np.zeros((n, n)), np.ones((n, n))
    for i in range(n):
        others = np.arange(n) != i
        pairs = plackett_luce_pairs(log_support, i)[:, :, others]
        by_chain[:, i, others] = pairs.mean(axis=1)
        error[i, others] = plain_standard_errors(pairs)
        r_hat[i, others] = plain_split_r_hats(pairs)
    return SupportPairs(by_chain, error, r_hat)
