"""Settings of every method, and the one table that names them. Settings hold no state."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

from posetta.baselines.settings import Majority, Maximal
from posetta.errors import SettingError, choice

__all__ = ["METHODS", "Exact", "HardMCMC", "Majority", "Maximal", "Settings", "settings_of"]


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Enumeration of all orders of at most five items: the oracle."""

    draws: int = 4000
    """I.i.d. draws returned beside the exact probabilities."""
    prior_draws: int = 1_000_000
    """Simulated latents behind the prior weights; the error falls with their square root."""

    def __post_init__(self) -> None:
        _check_whole(self, draws=1, prior_draws=1000)


@dataclass(frozen=True, kw_only=True)
class HardMCMC:
    """Metropolis-Hastings on latent coordinates, scored with the exact frontier likelihood.

    One sweep proposes two changes for every latent coordinate, two for every item, and one or a
    few for each column and scalar.
    """

    draws: int = 1000
    """Draws kept of each chain."""
    warmup: int = 1000
    """Sweeps before the first draw; step sizes adapt only then."""
    chains: int = 4
    thin: int = 5
    """Sweeps for each draw that is kept."""
    heat: float = 0.5
    """Share of the warm-up in which the likelihood's power rises to 1; 0 for none."""
    rungs: int = 1
    """Tempered copies of each chain, 1 for none: slower, but chains that disagree find together."""
    max_seconds: float | None = None
    """Stop after this time and give back what was drawn."""
    checkpoint: str | None = None
    """File to save the run in now and then, and to go on from if it is there."""

    @classmethod
    def of_iterations(
        cls, iterations: int, n_items: int, dim: int = 4, *, draws: int = 1000, chains: int = 1
    ) -> HardMCMC:
        """Return settings for a budget of single proposals, half of it burn-in, as in the paper.

        A sweep makes about 2 (dim + 1) proposals an item. ``draws`` are kept, evenly spaced.
        """
        sweeps = max(2 * draws, round(iterations / (2 * n_items * (dim + 1))))
        thin = sweeps // (2 * draws)
        return cls(draws=draws, warmup=sweeps - draws * thin, chains=chains, thin=thin, heat=0.0)

    def __post_init__(self) -> None:
        _check_whole(self, draws=4, warmup=0, chains=1, thin=1, rungs=1)
        if not 0.0 <= self.heat <= 1.0:
            raise SettingError(f"heat={self.heat!r} must be a share of the warm-up, 0 to 1.")
        if self.max_seconds is not None and not self.max_seconds > 0.0:
            raise SettingError(f"max_seconds={self.max_seconds!r} must be greater than 0.")


def _check_whole(settings: object, **least: int) -> None:
    """Refuse settings that are not whole numbers from the given least value."""
    for name, lowest in least.items():
        value = getattr(settings, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or value < lowest:
            raise SettingError(f"{name}={value!r} must be a whole number from {lowest}.")


Settings = Exact | HardMCMC | Majority | Maximal


class Method(NamedTuple):
    """A line of the table of methods."""

    settings: type[Settings]
    module: str
    """Where its `run` is; the module loads only when the method is used."""
    uses: frozenset[str]
    """Fields of the `Model` that enter its density."""
    reports: bool = False
    """Whether `run` takes a `Report` of its progress."""


_SCORED = frozenset({"beta", "noise"})
_LATENT = {"dim", "dim_prior_mean", "dim_max", "rho", "rho_prior", "beta_prior", "noise_prior"}
_HARD = _SCORED | _LATENT

METHODS: dict[str, Method] = {
    "hard": Method(HardMCMC, "posetta.infer.hard_mcmc", _HARD, reports=True),
    "exact": Method(Exact, "posetta.infer.exact", _HARD),
    "majority": Method(Majority, "posetta.baselines.majority", _SCORED),
    "maximal": Method(Maximal, "posetta.baselines.maximal", _SCORED),
}


def settings_of(method: str | Settings) -> tuple[str, Settings]:
    """Return name and settings of a method given by name or by settings."""
    if isinstance(method, str):
        choice(method, ("auto", *METHODS), "method")
        return method, METHODS[method].settings()
    for name, known in METHODS.items():
        if isinstance(method, known.settings):
            return name, method
    raise SettingError(f"method={method!r} is neither a name nor the settings of a method.")
