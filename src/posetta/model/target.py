"""The relaxed posterior on unconstrained coordinates (appendix "Relaxed posterior target").

    w = (vec Z, logit rho, log beta, log gamma, logit noise),      U = Z L_rho'

    log p(D, w) = log-likelihood(U, beta, gamma, noise)
                + sum log N(z; 0, 1)
                + log Beta(rho) + log Gamma(beta) + log Gamma(gamma) + log Beta(noise)
                + log |det J|

A fixed scalar drops its coordinate, prior and Jacobian. All normalising constants are kept, so the
value can be compared with a log evidence. Z exists only here; everywhere else a latent is U.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import betaln, expit, gammaln, logit

from posetta.data import Traces
from posetta.errors import InputError
from posetta.model.latent import root_coefficients
from posetta.model.model import Model
from posetta.model.relaxed_kernel import value_and_gradient

SCALARS = ("rho", "beta", "gamma", "noise")
# Beyond this the scalars themselves leave the floating-point range (e^709 overflows).
_LARGEST_COORDINATE = 700.0
_BELOW_ONE = np.nextafter(1.0, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _log_sigmoid(x: float) -> float:
    return -np.log1p(np.exp(-x)) if x >= 0.0 else x - np.log1p(np.exp(x))


@njit(cache=True, nogil=True, error_model="numpy")
def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + np.exp(-x)) if x >= 0.0 else np.exp(x) / (1.0 + np.exp(x))


@njit(cache=True, nogil=True, error_model="numpy")
def log_density_and_gradient(
    w: NDArray[np.float64],
    n: int,
    dim: int,
    tau: float,
    constant: float,
    fixed: NDArray[np.float64],
    priors: NDArray[np.float64],
    members: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    n_listed: NDArray[np.int64],
    counts: NDArray[np.int64],
    gradient: NDArray[np.float64],
) -> float:
    """Return the log density at ``w`` and fill its gradient; -inf outside the numeric range.

    ``fixed`` holds rho, beta, gamma, noise, NaN where inferred; ``priors`` their two parameters.
    """
    size = n * dim
    gradient[:] = 0.0
    for i in range(len(w)):
        if not np.isfinite(w[i]) or (i >= size and abs(w[i]) > _LARGEST_COORDINATE):
            return -np.inf

    # Scalars, their priors and Jacobians. `at` is the coordinate of each, -1 where fixed.
    value = constant
    at = np.full(4, -1)
    scalar = fixed.copy()
    one_minus_rho = 1.0 - fixed[0]
    position = size
    for s in range(4):
        if np.isnan(fixed[s]):
            at[s] = position
            eta = w[position]
            a, b = priors[s, 0], priors[s, 1]
            if s == 0 or s == 3:  # Beta(a, b) of a logit: a log x + b log(1 - x)
                scalar[s] = _sigmoid(eta)
                value += a * _log_sigmoid(eta) + b * _log_sigmoid(-eta)
                gradient[position] = a * _sigmoid(-eta) - b * scalar[s]
                if s == 0:
                    one_minus_rho = _sigmoid(-eta)
            else:  # Gamma(shape a, rate b) of a log: a eta - b exp(eta)
                scalar[s] = np.exp(eta)
                value += a * eta - b * scalar[s]
                gradient[position] = a - b * scalar[s]
            position += 1
    rho, beta, gamma, noise = scalar

    # U = Z (a I + c 11').
    a, c = root_coefficients(rho, one_minus_rho, dim)
    latent = np.empty((n, dim))
    row_sum = np.zeros(n)
    for i in range(n):
        for k in range(dim):
            z = w[i * dim + k]
            row_sum[i] += z
            value -= 0.5 * z * z
            gradient[i * dim + k] = -z
        for k in range(dim):
            latent[i, k] = a * w[i * dim + k] + c * row_sum[i]

    d_latent = np.empty((n, dim))
    likelihood, d_beta, d_gamma, d_noise = value_and_gradient(
        latent, beta, gamma, tau, noise, members, offsets, n_listed, counts, d_latent
    )
    value += likelihood
    d_a, d_c = 0.0, 0.0
    for i in range(n):
        pulled = 0.0
        for k in range(dim):
            pulled += d_latent[i, k]
            d_a += d_latent[i, k] * w[i * dim + k]
        d_c += pulled * row_sum[i]
        for k in range(dim):
            gradient[i * dim + k] += a * d_latent[i, k] + c * pulled
    if at[0] >= 0:
        # a = sqrt(1 - rho), b = sqrt(1 + (dim - 1) rho), c = (b - a) / dim, by logit rho.
        d_a_eta = -0.5 * rho * a
        d_b_eta = 0.5 * (dim - 1) * rho * one_minus_rho / np.sqrt(1.0 + (dim - 1) * rho)
        gradient[at[0]] += d_a * d_a_eta + d_c * (d_b_eta - d_a_eta) / dim
    if at[1] >= 0:
        gradient[at[1]] += d_beta * beta
    if at[2] >= 0:
        gradient[at[2]] += d_gamma * gamma
    if at[3] >= 0:
        gradient[at[3]] += d_noise * noise * (1.0 - noise)
    return value


class Parameters(NamedTuple):
    """A point of the model in its own terms."""

    latent: NDArray[np.float64]
    rho: float
    beta: float
    gamma: float
    noise: float


@dataclass(frozen=True)
class Target:
    """The unconstrained relaxed log density of ``model`` given ``traces``, with gradient.

    Each evaluation is one compiled call that releases the interpreter lock and shares no state, so
    one `Target` serves any number of threads.
    """

    model: Model
    traces: Traces
    dim: int = field(init=False)
    inferred: tuple[str, ...] = field(init=False)
    """The scalars that have a coordinate, in the order of the coordinates."""
    arguments: tuple[Any, ...] = field(init=False, repr=False)
    """What `log_density_and_gradient` takes between the point and the gradient."""

    def __post_init__(self) -> None:
        model = self.model
        set_ = object.__setattr__
        set_(self, "dim", model.fixed_dim("relaxed"))
        set_(self, "inferred", tuple(s for s in SCALARS if getattr(model, s) is None))
        fixed = [np.nan if getattr(model, s) is None else getattr(model, s) for s in SCALARS]
        priors = np.array([getattr(model, s + "_prior") for s in SCALARS], dtype=np.float64)
        constant = -0.5 * self.traces.n_items * self.dim * np.log(2.0 * np.pi)
        for s in self.inferred:
            a, b = getattr(model, s + "_prior")
            beta_like = s in ("rho", "noise")
            constant -= betaln(a, b) if beta_like else gammaln(a) - a * np.log(b)
        arguments = (
            self.traces.n_items,
            self.dim,
            float(model.tau),
            float(constant),
            np.array(fixed, dtype=np.float64),
            priors,
            *self.traces.arrays,
        )
        set_(self, "arguments", arguments)

    @property
    def n_parameters(self) -> int:
        """Number of unconstrained coordinates."""
        return self.traces.n_items * self.dim + len(self.inferred)

    def log_density_and_grad(self, w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the log density at ``w`` and its gradient."""
        w = self._check(w)
        gradient = np.empty(len(w))
        kernel: Any = log_density_and_gradient
        return kernel(w, *self.arguments, gradient), gradient

    def log_density(self, w: NDArray[np.float64]) -> float:
        """Return the log density at ``w``."""
        return self.log_density_and_grad(w)[0]

    def constrain(self, w: NDArray[np.float64]) -> Parameters:
        """Return the parameters that the coordinates ``w`` stand for."""
        w = self._check(w)
        z = w[: self.traces.n_items * self.dim].reshape(self.traces.n_items, self.dim)
        scalars = {s: getattr(self.model, s) for s in SCALARS}
        # Far coordinates round to the ends of a scalar's range, which are no parameters.
        etas = np.clip(w[z.size :], -_LARGEST_COORDINATE, _LARGEST_COORDINATE)
        for s, eta in zip(self.inferred, etas, strict=True):
            value = min(expit(eta), _BELOW_ONE) if s in ("rho", "noise") else np.exp(eta)
            scalars[s] = float(value)
        a, c = self.root(w)
        return Parameters(a * z + c * z.sum(axis=1, keepdims=True), **scalars)

    def root(self, w: NDArray[np.float64]) -> tuple[float, float]:
        """Return (a, c) of U = Z (a I + c 11') at the coordinates ``w``."""
        rho = self.model.rho
        if rho is not None:
            return root_coefficients(float(rho), 1.0 - rho, self.dim)
        at_rho = w[self.traces.n_items * self.dim]
        eta = np.clip(at_rho, -_LARGEST_COORDINATE, _LARGEST_COORDINATE)
        # Near rho = 1 the difference to 1 would be lost.
        return root_coefficients(min(expit(eta), _BELOW_ONE), expit(-eta), self.dim)

    def unconstrain(self, parameters: Parameters) -> NDArray[np.float64]:
        """Return the coordinates of ``parameters``, the inverse of `constrain`."""
        u = np.asarray(parameters.latent, dtype=np.float64)
        if u.shape != (self.traces.n_items, self.dim):
            raise InputError(
                f"expected a latent of shape {(self.traces.n_items, self.dim)}; got {u.shape}."
            )
        rho = parameters.rho
        if not 0.0 <= rho < 1.0:
            raise InputError(f"rho={rho} has no coordinates: it must lie in [0, 1).")
        a, c = root_coefficients(rho, 1.0 - rho, self.dim)
        z = (u - c / (a + self.dim * c) * u.sum(axis=1, keepdims=True)) / a
        etas = [
            logit(getattr(parameters, s))
            if s in ("rho", "noise")
            else np.log(getattr(parameters, s))
            for s in self.inferred
        ]
        return np.concatenate([z.ravel(), etas])

    def _check(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        w = np.ascontiguousarray(w, dtype=np.float64)
        if w.shape != (self.n_parameters,):
            raise InputError(f"expected {self.n_parameters} coordinates; got shape {w.shape}.")
        return w
