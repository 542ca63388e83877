"""`Model`: which density, never how to sample it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from posetta.errors import SettingError


@dataclass(frozen=True)
class Model:
    """The latent partial-order model: dimension, temperature, scalars and their priors.

    Latent rows u ~ N(0, (1 - rho) I + rho 11') in ``dim`` columns induce the order; beta is the
    inverse temperature of the frontier softmax; gamma (the sharpness of the relaxed precedence)
    and tau (its soft-min temperature) matter to relaxed methods only; noise mixes every step with
    a uniform choice from the remainder. A number fixes a scalar, None infers it under its prior.

    Beta priors are (a, b); Gamma priors are (shape, rate).
    """

    dim: int | Literal["random"] = 4
    tau: float = 0.3
    rho: float | None = None
    beta: float | None = None
    gamma: float | None = None
    noise: float | None = 0.0
    rho_prior: tuple[float, float] = (2.0, 2.0)
    beta_prior: tuple[float, float] = (2.0, 1.0)
    gamma_prior: tuple[float, float] = (2.0, 1.0)
    noise_prior: tuple[float, float] = (1.0, 9.0)
    dim_prior_mean: float | None = None
    """Mean of the Poisson prior of a random dimension; None means half the number of items."""
    dim_max: int = 30
    """The Poisson prior of a random dimension is truncated to 1 .. dim_max."""

    def __post_init__(self) -> None:
        if self.dim != "random" and not (is_whole(self.dim) and self.dim >= 1):
            raise SettingError(f'dim={self.dim!r} must be a whole number from 1, or "random".')
        if not is_number(self.tau) or not 0.0 < self.tau < np.inf:
            raise SettingError(f"tau={self.tau!r} must be a finite number greater than 0.")
        for name, low, high, closed in (
            ("rho", 0.0, 1.0, "[0, 1)"),
            ("beta", 0.0, np.inf, "[0, inf)"),
            ("gamma", np.nextafter(0.0, 1.0), np.inf, "(0, inf)"),
            ("noise", 0.0, 1.0, "[0, 1)"),
        ):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and low <= value < high):
                raise SettingError(f"{name}={value!r} must lie in {closed}, or be None to infer.")
        for name in ("rho_prior", "beta_prior", "gamma_prior", "noise_prior"):
            given = getattr(self, name)
            pair = tuple(given) if np.ndim(given) == 1 else ()
            if len(pair) != 2 or not all(is_number(v) and 0.0 < v < np.inf for v in pair):
                raise SettingError(f"{name}={given!r} must be two finite numbers greater than 0.")
            object.__setattr__(self, name, pair)
        if not is_whole(self.dim_max) or self.dim_max < 1:
            raise SettingError(f"dim_max={self.dim_max!r} must be a whole number from 1.")
        mean = self.dim_prior_mean
        if mean is not None and not (is_number(mean) and 0.0 < mean < np.inf):
            raise SettingError(f"dim_prior_mean={mean!r} must be a finite number greater than 0.")

    def fixed_dim(self, method: str) -> int:
        """Return the dimension, or say that ``method`` needs a fixed one."""
        if self.dim == "random":
            raise SettingError(
                f'method {method!r} cannot infer the dimension. Use dim=4, or method="hard".'
            )
        return int(self.dim)

    def dim_log_prior(self, n_items: int) -> NDArray[np.float64]:
        """Return log Pr(dim = 1), ..., log Pr(dim = dim_max) of the truncated Poisson prior."""
        mean = n_items / 2 if self.dim_prior_mean is None else self.dim_prior_mean
        k = np.arange(1, self.dim_max + 1)
        log_weight = k * np.log(mean) - gammaln(k + 1.0)
        return np.asarray(log_weight - np.logaddexp.reduce(log_weight))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return asdict(self)


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number, Python's or numpy's; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Return whether a value is a number, Python's or numpy's; True and False are none."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
