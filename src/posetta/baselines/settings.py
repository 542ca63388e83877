"""Settings of the baselines."""

from __future__ import annotations

from dataclasses import dataclass

from posetta.errors import SettingError, check_positive, check_threshold, check_whole


@dataclass(frozen=True, kw_only=True)
class Majority:
    """Keep i before j where more than ``threshold`` of the traces that order the pair say so."""

    threshold: float = 0.5

    def __post_init__(self) -> None:
        check_threshold(self.threshold)


@dataclass(frozen=True, kw_only=True)
class Maximal:
    """Keep i before j where at most a share ``eps`` of the traces that order the pair disagree.

    ``eps = 0`` is the intersection of the traces: every pair seen in one order only.
    """

    eps: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.eps < 0.5:
            raise SettingError(f"eps={self.eps} must lie in [0, 1/2).")


@dataclass(frozen=True, kw_only=True)
class SoftDAG:
    """SoftDAG-Frontier: edge logits by Adam under a sparsity and an acyclicity penalty.

    Settings that are None go by the number of items as in the paper.
    """

    sparsity: tuple[float, ...] = (1e-4, 1e-3, 1e-2)
    """lambda_1, the weights of the sum of the soft edges that are tried."""
    acyclicity: tuple[float, ...] = (1.0, 10.0, 100.0)
    """lambda_h, the weights of the squared NOTEARS penalty that are tried."""
    validation: float = 0.2
    """Share of the traces held out to choose among the penalties."""
    refit: bool = False
    """Fit all traces again with the chosen penalties, instead of keeping the fit to the others."""
    restarts: int | None = None
    """Random starts for each pair of penalties. None: 3 up to 30 items, 2 below 100, then 1."""
    steps: int | None = None
    """Steps of Adam for each start. None: 600 up to 30 items, 400 below 100, then 250."""
    learning_rate: float = 0.05
    path_length: int = 8
    """K, the longest path that soft reachability counts; never above n - 1."""
    threshold: float | None = None
    """Keep a pair when its soft reachability is above this. None: 1/2 below 100 items, then 1/3."""
    max_seconds: float | None = None
    """Stop after this time with the best fit so far."""

    def __post_init__(self) -> None:
        for name in ("sparsity", "acyclicity"):
            weights = getattr(self, name)
            if isinstance(weights, list):
                object.__setattr__(self, name, tuple(weights))
            elif not isinstance(weights, tuple):
                raise SettingError(f"{name}={weights!r} must be one or more numbers, as a tuple.")
            if not weights or not all(0.0 <= weight < float("inf") for weight in weights):
                raise SettingError(f"{name}={weights!r} must be one or more numbers from 0.")
        if not 0.0 < self.validation < 1.0:
            raise SettingError(f"validation={self.validation!r} must lie between 0 and 1.")
        if self.threshold is not None:
            check_threshold(self.threshold)
        given = {name: 1 for name in ("restarts", "steps") if getattr(self, name) is not None}
        check_whole(self, path_length=1, **given)
        check_positive(self, "learning_rate", "max_seconds")


# Below this a support may fall under the smallest positive number before anything is observed.
_LEAST_SHAPE = 0.1


@dataclass(frozen=True, kw_only=True)
class PlackettLuce:
    """A Bayesian mixture of Plackett-Luce models by Gibbs sampling, with latent exponentials."""

    components: int = 1
    """G, the number of mixture components."""
    draws: int = 1000
    """Draws kept of each chain."""
    warmup: int = 1000
    """Sweeps before the first draw."""
    chains: int = 4
    thin: int = 5
    """Sweeps for each draw that is kept."""
    shape: float = 1.0
    """Of the Gamma prior of every support; the supports, made to sum to 1, are then Dirichlet."""
    rate: float = 1.0
    """Of the same prior. Only ratios of supports are observed, so it changes no result."""
    weight: float = 1.0
    """Of the symmetric Dirichlet prior of the mixture weights."""
    max_seconds: float | None = None
    """Stop after this time and give back what was drawn."""

    def __post_init__(self) -> None:
        check_whole(self, components=1, draws=4, warmup=0, chains=1, thin=1)
        check_positive(self, "rate", "weight", "max_seconds")
        if not _LEAST_SHAPE <= self.shape < float("inf"):
            raise SettingError(f"shape={self.shape!r} must be a number from {_LEAST_SHAPE}.")
