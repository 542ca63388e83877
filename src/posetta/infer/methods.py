"""Settings of every method, and the one table that names them. Settings hold no state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from posetta.baselines.settings import Majority, Maximal, PlackettLuce, SoftDAG
from posetta.errors import SettingError, check_positive, check_whole, choice

__all__ = [
    "METHODS",
    "Exact",
    "FlowVI",
    "FullRankVI",
    "HardMCMC",
    "Majority",
    "Maximal",
    "PlackettLuce",
    "RelaxedNUTS",
    "Settings",
    "SoftDAG",
    "settings_of",
]

StartKind = Literal["hard", "traces", "prior"]
"""Kinds of starting points of relaxed methods, see `posetta.infer.start`."""
MassMatrix = Literal["diagonal", "low-rank", "full-rank"]
"""Shapes of what NUTS learns of scales and correlations, see `posetta.infer.nuts`."""


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Enumeration of all orders of at most five items: the oracle."""

    draws: int = 4000
    """I.i.d. draws returned beside the exact probabilities."""
    prior_draws: int = 1_000_000
    """Simulated latents behind the prior weights; the error falls with their square root."""

    def __post_init__(self) -> None:
        check_whole(self, draws=1, prior_draws=1000)


class Sweeps(NamedTuple):
    """How long a hard chain runs, and with how many tempered copies."""

    warmup: int
    thin: int
    rungs: int


_ITEMS_FOR_DIM_RUNGS, _DIM_RUNGS = 20, 16


@dataclass(frozen=True, kw_only=True)
class HardMCMC:
    """Metropolis-Hastings on latent coordinates, scored with the exact frontier likelihood.

    One sweep proposes two changes for every latent coordinate, two for every item, and one or a
    few for each column and scalar.
    """

    draws: int = 1000
    """Draws kept of each chain."""
    warmup: int | None = None
    """Sweeps before the first draw; step sizes adapt only then. None: see `sweeps`."""
    chains: int = 4
    thin: int | None = None
    """Sweeps for each draw that is kept. None: see `sweeps`."""
    rungs: int | None = None
    """Tempered copies of each chain, 1 for none: slower, but chains that disagree find together.
    None: see `sweeps`."""
    max_seconds: float | None = None
    """Stop after this time and give back what was drawn."""
    checkpoint: str | None = None
    """File to save the run in now and then, and to go on from if it is there."""

    @classmethod
    def of_iterations(
        cls, iterations: int, n_items: int, dim: int = 4, *, draws: int = 1000, chains: int = 1
    ) -> HardMCMC:
        """Return settings for a budget of single proposals, half of it burn-in, as in the paper.

        A sweep makes about 2 (dim + 1) proposals an item. At least ``draws`` are kept, evenly
        spaced over the second half.
        """
        half = round(iterations / (4 * n_items * (dim + 1)))
        if half < draws:
            raise SettingError(
                f"{iterations} iterations are {2 * half} sweeps of {n_items} items: too few for "
                f"draws={draws} after as many sweeps of burn-in. Lower draws."
            )
        thin = half // draws
        return cls(draws=half // thin, warmup=half, chains=chains, thin=thin, rungs=1)

    def sweeps(self, n_items: int, *, random_dim: bool = False) -> Sweeps:
        """Return the sweeps that ``n_items`` ask for, unless the settings say otherwise.

        With these numbers four chains agreed on the paper's synthetic data from 10 to 100 items.
        Thinning is longest at some 60 items: with more of them a sweep costs more, and the order is
        surer. A random dimension hardly changes at power 1: it takes
        rungs almost down to the prior.
        """
        usual = Sweeps(
            warmup=max(1000, 10 * n_items),
            thin=max(5, min(n_items // 2, 2000 // max(n_items, 1))),
            rungs=1,
        )
        if random_dim and n_items >= _ITEMS_FOR_DIM_RUNGS:
            usual = Sweeps(warmup=60 * n_items, thin=5, rungs=_DIM_RUNGS)
        given = {"warmup": self.warmup, "thin": self.thin, "rungs": self.rungs}
        return usual._replace(**{k: v for k, v in given.items() if v is not None})

    def __post_init__(self) -> None:
        check_whole(self, draws=4, chains=1)
        given = {"warmup": 0, "thin": 1, "rungs": 1}
        check_whole(self, **{k: v for k, v in given.items() if getattr(self, k) is not None})
        check_positive(self, "max_seconds")


_FEW_ITEMS = 40
# With more: a quarter of the time at 50 items, and iterations until chains agree there.
_JUMPS, _ITERATIONS_A_DRAW = 30, 8


@dataclass(frozen=True, kw_only=True)
class RelaxedNUTS:
    """The no-U-turn sampler on the relaxed posterior."""

    draws: int = 500
    """Draws kept of each chain."""
    warmup: int = 500
    """Iterations before the first draw; step size and mass matrix adapt only then."""
    chains: int = 4
    thin: int | None = None
    """Iterations for each draw that is kept. None: see `thin_of`."""
    max_seconds: float | None = None
    """Stop after this time and give back what was drawn."""
    target_accept: float = 0.8
    """Mean acceptance that the step size is tuned for; larger means smaller steps."""
    max_depth: int = 10
    """Doublings of a trajectory at most: 2^max_depth gradients."""
    mass_matrix: MassMatrix | None = None
    """Shape of the adapted scales. "low-rank" also learns the strongest correlations; "full-rank"
    takes all of them from a Gaussian fitted where the chain starts. None: see `scales`."""
    jumps: int | None = None
    """Proposals for each item, between two trajectories, to move it alone to another place; 0 for
    none. None: see `jumps_of`."""
    starts: tuple[StartKind, ...] | None = None
    """Where the chains start, one after another, again from the first when there are more: the end
    of a short Hard-MCMC chain, rank scores of observed traces, or a draw from the prior. None: see
    `start_of`."""

    def start_of(self, chain: int, n_items: int) -> StartKind:
        """Return where a chain starts.

        Up to 40 items chains from all three kinds of start meet. With more, those from rank scores
        and from the prior stay in arrangements of the columns far below the others, so all start
        from hard chains, each of which was arranged on its own.
        """
        usual: tuple[StartKind, ...] = ("hard", "traces", "hard", "prior")
        starts = self.starts or (usual if n_items <= _FEW_ITEMS else ("hard",))
        return starts[chain % len(starts)]

    def scales(self, n_items: int) -> MassMatrix:
        """Return the shape of the mass matrix.

        With more than 40 items trajectories are about half as long in the coordinates of a fitted
        Gaussian. With fewer, chains start far from each other, where one Gaussian says little.
        """
        usual: MassMatrix = "diagonal" if n_items <= _FEW_ITEMS else "full-rank"
        return self.mass_matrix or usual

    def thin_of(self, n_items: int) -> int:
        """Return the iterations for each draw that is kept.

        Up to 40 items chains agree within a few hundred iterations, with 50 after some thousands
        (two chains, R-hat of uncertain pairs after 1,000, 2,000 and 4,000: 1.21, 1.07, 1.04):
        single items have to move to where they are in the other chains.
        """
        usual = 1 if n_items <= _FEW_ITEMS else _ITERATIONS_A_DRAW
        return usual if self.thin is None else self.thin

    def jumps_of(self, n_items: int) -> int:
        """Return the proposals for each item between two trajectories.

        Up to 40 items trajectories alone find their way. With more of them an item may stay for
        good where others hold it from both sides. "low-rank" masses stay nutpie's, which has no
        room for moves.
        """
        alone = n_items <= _FEW_ITEMS or self.mass_matrix == "low-rank"
        usual = 0 if alone else _JUMPS
        return usual if self.jumps is None else self.jumps

    def __post_init__(self) -> None:
        check_whole(self, draws=4, warmup=20, chains=1, max_depth=1)
        given = {"thin": 1, "jumps": 0}
        check_whole(self, **{k: v for k, v in given.items() if getattr(self, k) is not None})
        check_positive(self, "max_seconds")
        _check_share(self, "target_accept")
        if self.mass_matrix is not None:
            choice(self.mass_matrix, get_args(MassMatrix), "mass_matrix")
        if self.jumps and self.mass_matrix == "low-rank":
            raise SettingError(
                f"jumps={self.jumps} goes with no low-rank mass_matrix: set jumps = 0, or another "
                "mass_matrix."
            )
        if self.starts is not None:
            _check_starts(self.starts)


@dataclass(frozen=True, kw_only=True)
class FullRankVI:
    """A Gaussian with full covariance on the unconstrained coordinates, fitted to the ELBO."""

    draws: int = 2000
    """Draws from the fitted Gaussian."""
    iterations: int = 1000
    """Steps at most, for each restart."""
    gradient_samples: int = 32
    """Points of the Gaussian behind each step, half of them mirror images of the others."""
    learning_rate: float = 0.1
    """Share of the way that a step goes; it falls with 1/t after cooling."""
    temperature: float = 3.0
    """Of the first step: log densities are divided by it; 1 means no cooling."""
    cooling: int = 200
    """Steps until the temperature is 1."""
    tolerance: float = 0.5
    """Stop when 25 steps raise the ELBO by less than this, or by less than its noise."""
    elbo_samples: int = 200
    """Points behind the ELBO by which restarts are compared."""
    restarts: int = 3
    """Starting points that are tried; the best ELBO 100 steps after cooling goes on to the end."""
    starts: tuple[StartKind, ...] = ("hard",)
    """Where the restarts start, in turn: the end of a short Hard-MCMC chain, rank scores of
    observed traces, or a draw from the prior."""
    max_seconds: float | None = None
    """Stop after this time with the best fit so far."""

    def __post_init__(self) -> None:
        check_whole(
            self,
            draws=4,
            iterations=1,
            gradient_samples=2,
            cooling=0,
            elbo_samples=2,
            restarts=1,
        )
        check_positive(self, "learning_rate", "tolerance", "max_seconds")
        _check_starts(self.starts)
        _check_even(self, "gradient_samples")
        if not self.learning_rate <= 1.0:
            raise SettingError(f"learning_rate={self.learning_rate!r} must be at most 1.")
        if not 1.0 <= self.temperature < float("inf"):
            raise SettingError(f"temperature={self.temperature!r} must be a number from 1.")
        if self.cooling >= self.iterations:
            raise SettingError(
                f"cooling={self.cooling} must be less than iterations={self.iterations}."
            )


@dataclass(frozen=True, kw_only=True)
class FlowVI:
    """A neural spline flow around the best Gaussian, fitted to the ELBO."""

    draws: int = 2000
    """Draws from the fitted flow."""
    layers: int = 4
    """Autoregressive spline layers."""
    bins: int = 8
    """Pieces of each spline."""
    width: int = 32
    """Units of the hidden layer behind each spline layer."""
    iterations: int = 600
    """Steps of Adam at most."""
    gradient_samples: int = 8
    """Points of the flow behind each step, half of them mirror images of the others."""
    elbo_samples: int = 16
    """Points behind each estimate of the ELBO, every 25 steps; the best checkpoint is kept."""
    learning_rate: float = 1e-3
    """Largest step size; it ends at a fifth of it."""
    warmup: int = 25
    """Steps over which the step size rises."""
    clip: float = 10.0
    """Largest norm of a gradient."""
    patience: int = 8
    """Estimates of the ELBO without a gain before the fit ends."""
    restarts: int = 2
    """Gaussians fitted from different starting points; the flow is built around the best."""
    starts: tuple[StartKind, ...] = ("hard",)
    """Where the Gaussians start, as for `FullRankVI`."""
    max_seconds: float | None = None
    """Stop after this time with the best checkpoint so far."""

    def __post_init__(self) -> None:
        check_whole(
            self,
            draws=4,
            layers=1,
            bins=2,
            width=1,
            iterations=1,
            gradient_samples=2,
            elbo_samples=2,
            warmup=0,
            patience=1,
            restarts=1,
        )
        check_positive(self, "learning_rate", "clip", "max_seconds")
        _check_even(self, "gradient_samples")
        _check_even(self, "elbo_samples")
        _check_starts(self.starts)


def _check_starts(starts: tuple[StartKind, ...]) -> None:
    """Refuse anything but one or more kinds of start."""
    if isinstance(starts, str) or not starts:
        raise SettingError(f"starts={starts!r} must name one or more kinds of start.")
    for kind in starts:
        choice(kind, get_args(StartKind), "starts")


def _check_even(settings: object, name: str) -> None:
    """Refuse an odd number of points: half of them mirror the others."""
    if getattr(settings, name) % 2:
        raise SettingError(f"{name}={getattr(settings, name)} must be even.")


def _check_share(settings: object, name: str) -> None:
    """Refuse a setting that lies outside (0, 1)."""
    value = getattr(settings, name)
    if not 0.0 < value < 1.0:
        raise SettingError(f"{name}={value!r} must lie between 0 and 1.")


Settings = (
    Exact
    | HardMCMC
    | RelaxedNUTS
    | FullRankVI
    | FlowVI
    | Majority
    | Maximal
    | SoftDAG
    | PlackettLuce
)


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
_RELAXED = (_HARD - {"dim_prior_mean", "dim_max"}) | {"tau", "gamma", "gamma_prior"}

METHODS: dict[str, Method] = {
    "hard": Method(HardMCMC, "posetta.infer.hard_mcmc", _HARD, reports=True),
    "nuts": Method(RelaxedNUTS, "posetta.infer.nuts", _RELAXED, reports=True),
    "fullrank": Method(FullRankVI, "posetta.infer.gaussian_vi", _RELAXED, reports=True),
    "flow": Method(FlowVI, "posetta.infer.flow_vi", _RELAXED, reports=True),
    "exact": Method(Exact, "posetta.infer.exact", _HARD),
    "majority": Method(Majority, "posetta.baselines.majority", _SCORED),
    "maximal": Method(Maximal, "posetta.baselines.maximal", _SCORED),
    "softdag": Method(SoftDAG, "posetta.baselines.softdag", _SCORED, reports=True),
    "plackett-luce": Method(
        PlackettLuce, "posetta.baselines.plackett_luce", frozenset(), reports=True
    ),
}


def settings_of(method: str | Settings) -> tuple[str, Settings]:
    """Return name and settings of a method given by name or by settings."""
    if isinstance(method, str):
        choice(method, ("auto", *METHODS), "method")
        if method == "auto":
            raise SettingError('method="auto" has no settings: it chooses by the traces. Name one.')
        return method, METHODS[method].settings()
    for name, known in METHODS.items():
        if isinstance(method, known.settings):
            return name, method
    raise SettingError(f"method={method!r} is neither a name nor the settings of a method.")
