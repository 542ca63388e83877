"""One chain of Hard-MCMC: made from traces and model, run in portions, frozen and thawed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.infer.hard import state
from posetta.infer.hard.likelihood import fill_weights, refresh
from posetta.infer.hard.relations import count_greater
from posetta.infer.hard.start import start_latent
from posetta.infer.hard.sweep import run_sweeps
from posetta.infer.methods import HardMCMC, Sweeps
from posetta.model.model import Model
from posetta.rng import child

# Rungs start so far apart in the log of the power, times the root of the number of coordinates:
# about a third of the trades is then accepted (20 to 50 items). The warm-up brings every pair of
# neighbours to this share.
_SPACING = 2.3
_TRADED_SHARE = 0.3
# Share of the usual work for the starting points of the rungs below power 1.
_HOT_EFFORT = 0.1
# Starting scalars stay where the moves can take them from, whatever the priors give.
_EDGE, _LARGEST_BETA = 1e-6, 20.0


class ChainRun:
    """One chain: its state, its own random stream, and the draws kept so far.

    With several rungs it is a ladder of copies that see the likelihood at falling powers. After
    every sweep neighbours may trade places (parallel tempering); the first rung, at power 1, is
    the one whose draws are kept.
    """

    def __init__(
        self,
        traces: Traces,
        rows: state.Rows,
        model: Model,
        settings: HardMCMC,
        seed: int,
        number: int,
    ) -> None:
        n = traces.n_items
        self.traces, self.model = traces, model
        self.rows, self.n_items = rows, n
        self.generator = child(seed, "hard", number)
        self.fixed = _fixed(model, n)
        sweeps = settings.sweeps(n, random_dim=model.dim == "random")
        self.plan = _plan(sweeps)
        self.largest = model.dim_max if model.dim == "random" else int(model.dim)
        self.rungs = [_chain(traces, self.largest) for _ in range(sweeps.rungs)]
        self.spacing = np.full(sweeps.rungs - 1, _SPACING / np.sqrt(n * self.largest))
        """How far below a rung the next one is, in the log of the power."""
        self.work = _work(traces, self.largest)
        self.trades = np.zeros((sweeps.rungs - 1, 2), dtype=np.int64)
        """Proposed and accepted trades between a rung and the next."""
        self.done = 0
        """Sweeps run so far."""
        self.moves_in_warmup = self.chain.moves.copy()
        self.kept = self._room(settings.draws)

    @property
    def chain(self) -> state.Chain:
        """The state at power 1."""
        return self.rungs[0]

    @property
    def powers(self) -> NDArray[np.float64]:
        """Power of the likelihood at every rung."""
        return np.exp(-np.concatenate([[0.0], np.cumsum(self.spacing)]))

    def _start(self) -> None:
        """Go to a starting point; every rung has one of its own, which hot ones soon forget."""
        generator, scalars = self.generator, (state.S_BETA, state.S_NOISE, state.S_DIM)
        for rung, chain in enumerate(self.rungs):
            chain.scalars[:] = _start_scalars(self.model, self.n_items, generator)
            beta, noise, dim = (chain.scalars[k] for k in scalars)
            effort = 1.0 if rung == 0 else _HOT_EFFORT
            latent = start_latent(self.traces, int(dim), noise > 0.0, generator, effort)
            chain.columns[: int(dim)] = latent.T
            fill_weights(beta, chain.weight, chain.log_weight)
            count_greater(chain)
            refresh(self.rows, chain)

    def _room(self, draws: int) -> state.Kept:
        n, n_rows = self.n_items, len(self.rows.counts)
        return state.Kept(
            closure_bits=np.zeros((draws, n, (n + 7) // 8), dtype=np.uint8),
            latent=np.full((draws, n, self.largest), np.nan),
            scalars=np.zeros((draws, 4)),
            row_value=np.zeros((draws, n_rows)),
            log_posterior=np.zeros(draws),
        )

    @property
    def n_kept(self) -> int:
        """Draws kept so far."""
        return max(0, self.done - self.plan.warmup) // self.plan.thin

    def sweep(self, count: int) -> None:
        """Run ``count`` more sweeps, at most to the end of the warm-up when still in it.

        The first one finds the starting point: that takes a while, and chains in threads do it side
        by side.
        """
        if self.done == 0:
            self._start()
        if self.done < self.plan.warmup:
            count = min(count, self.plan.warmup - self.done)
        if len(self.rungs) == 1:
            self._run(0, 1.0, self.done, count)
        else:
            for number in range(self.done, self.done + count):
                for rung, power in enumerate(self.powers):
                    self._run(rung, power, number, 1)
                self._trade(number)
        self.done += count
        if self.done == self.plan.warmup:
            self.moves_in_warmup = self.chain.moves.copy()

    def _run(self, rung: int, power: float, first: int, count: int) -> None:
        run_sweeps(
            self.rows, self.rungs[rung], self.work, self.fixed, self.plan, self.kept,
            power, rung == 0, first, count, self.generator,
        )  # fmt: skip

    def _trade(self, number: int) -> None:
        """Let neighbours trade places, even and odd pairs in turn.

        Step sizes and move counts belong to the rung and stay. In the warm-up neighbours that trade
        too seldom move closer, and others apart.
        """
        adapt = (number + 1.0) ** -0.6 if number < self.plan.warmup else 0.0
        for k in range(number % 2, len(self.rungs) - 1, 2):
            a, b = self.rungs[k], self.rungs[k + 1]
            power, value = state.S_POWER, state.S_VALUE
            apart = a.scalars[power] - b.scalars[power]
            log_ratio = apart * (b.scalars[value] - a.scalars[value])
            self.trades[k, 0] += 1
            self.spacing[k] *= np.exp(adapt * (np.exp(min(log_ratio, 0.0)) - _TRADED_SHARE))
            if -self.generator.standard_exponential() < log_ratio:
                self.trades[k, 1] += 1
                self.rungs[k] = b._replace(steps=a.steps, moves=a.moves)
                self.rungs[k + 1] = a._replace(steps=b.steps, moves=b.moves)

    def frozen(self) -> dict[str, Any]:
        """Return all that decides how the chain goes on, as copies, and the draws so far."""
        arrays = {
            f"rung{r}_{name}": array.copy()
            for r, chain in enumerate(self.rungs)
            for name, array in chain._asdict().items()
        }
        kept = {f"kept_{name}": array[: self.n_kept] for name, array in self.kept._asdict().items()}
        return {
            **arrays,
            **kept,
            "moves_in_warmup": self.moves_in_warmup.copy(),
            "trades": self.trades.copy(),
            "spacing": self.spacing.copy(),
            "done": self.done,
            "generator": self.generator.bit_generator.state,
        }

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Go on from a frozen state of the same chain."""
        for r, chain in enumerate(self.rungs):
            for name, array in chain._asdict().items():
                array[...] = frozen[f"rung{r}_{name}"]
        for name, array in self.kept._asdict().items():
            array[: len(frozen[f"kept_{name}"])] = frozen[f"kept_{name}"]
        self.moves_in_warmup = frozen["moves_in_warmup"]
        self.trades = frozen["trades"]
        self.spacing = frozen["spacing"]
        self.done = int(frozen["done"])
        self.generator.bit_generator.state = frozen["generator"]


def rows_of(traces: Traces) -> state.Rows:
    """Return the traces as the kernel reads them."""
    members, offsets, n_listed, counts = traces.arrays
    position = np.full((traces.n_unique, traces.n_items), -1, dtype=np.int32)
    for r in range(traces.n_unique):
        position[r, traces.choice_set(r)] = np.arange(offsets[r + 1] - offsets[r])
    holding = [np.flatnonzero(position[:, i] >= 0) for i in range(traces.n_items)]
    before = PairEvidence.of(traces).before
    left = [
        size - np.arange(listed) for size, listed in zip(np.diff(offsets), n_listed, strict=True)
    ]
    return state.Rows(
        members=members,
        offsets=offsets,
        n_listed=n_listed,
        counts=counts.astype(np.float64),
        first_step=(np.cumsum(n_listed) - n_listed).astype(np.int64),
        position=position,
        rows_of=np.concatenate(holding).astype(np.int64),
        rows_of_start=np.concatenate([[0], np.cumsum([len(h) for h in holding])]).astype(np.int64),
        chance=1.0 / np.concatenate([np.zeros(0), *left]),
        contradicted=np.ascontiguousarray(before.T > 0),
    )


def _fixed(model: Model, n: int) -> state.Fixed:
    return state.Fixed(
        infer_rho=model.rho is None,
        infer_beta=model.beta is None,
        infer_noise=model.noise is None,
        rho_prior=tuple(map(float, model.rho_prior)),  # type: ignore[arg-type]
        beta_prior=tuple(map(float, model.beta_prior)),  # type: ignore[arg-type]
        noise_prior=tuple(map(float, model.noise_prior)),  # type: ignore[arg-type]
        dim_log_prior=model.dim_log_prior(n) if model.dim == "random" else np.zeros(0),
    )


def _plan(sweeps: Sweeps) -> state.Plan:
    return state.Plan(
        warmup=sweeps.warmup,
        thin=sweeps.thin,
        mix=np.array([1.0, 1.0, 1.0, 1.0, 2.0]),
    )


def _start_scalars(model: Model, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Over-dispersed: scalars that are inferred start from their priors."""

    def drawn(fixed: float | None, value: float, most: float) -> float:
        return float(np.clip(value, _EDGE, most)) if fixed is None else fixed

    shape, rate = model.beta_prior
    rho = drawn(model.rho, generator.beta(*model.rho_prior), 1.0 - _EDGE)
    beta = drawn(model.beta, generator.gamma(shape, 1.0 / rate), _LARGEST_BETA)
    noise = drawn(model.noise, generator.beta(*model.noise_prior), 1.0 - _EDGE)
    dim = model.dim
    if dim == "random":
        weights = np.exp(model.dim_log_prior(n))
        dim = max(2, int(generator.choice(len(weights), p=weights)) + 1)
        dim = min(dim, model.dim_max)
    return np.array([rho, beta, noise, float(dim), 1.0, 0.0])


def _chain(traces: Traces, largest: int) -> state.Chain:
    n, n_rows, n_steps = traces.n_items, traces.n_unique, traces.n_steps
    return state.Chain(
        columns=np.zeros((largest, n)),
        greater=np.zeros((n, n), dtype=np.int32),
        closure=np.zeros((n, n), dtype=bool),
        scalars=np.zeros(6),
        weight=np.zeros(n),
        log_weight=np.zeros(n),
        W=np.zeros(n_steps),
        own=np.zeros(n_steps),
        row_value=np.zeros(n_rows),
        n_late=np.zeros((n_rows, n), dtype=np.int32),
        n_early=np.zeros((n_rows, n), dtype=np.int32),
        last_before=np.zeros((n_rows, n), dtype=np.int32),
        steps=np.array([0.5, 0.5]),
        moves=np.zeros((len(state.MOVES), 2), dtype=np.int64),
    )


def _work(traces: Traces, largest: int) -> state.Work:
    n, n_rows, n_steps = traces.n_items, traces.n_unique, traces.n_steps
    return state.Work(
        W=np.zeros(n_steps),
        own=np.zeros(n_steps),
        row_value=np.zeros(n_rows),
        n_late=np.zeros((n_rows, n), dtype=np.int32),
        n_early=np.zeros((n_rows, n), dtype=np.int32),
        last_before=np.zeros((n_rows, n), dtype=np.int32),
        span=np.zeros((n_rows, 2), dtype=np.int64),
        difference=np.zeros(n + 2),
        gain=np.zeros(n + 2),
        partners=np.zeros(n, dtype=np.int64),
        after=np.zeros(n, dtype=bool),
        before=np.zeros(n, dtype=bool),
        was_after=np.zeros(n, dtype=bool),
        was_before=np.zeros(n, dtype=bool),
        crossed=np.zeros(n, dtype=np.int64),
        greater=np.zeros(n, dtype=np.int32),
        proposal=np.zeros(largest),
        columns=np.zeros((largest, n)),
        closure=np.zeros((n, n), dtype=bool),
        weight=np.zeros(n),
        log_weight=np.zeros(n),
    )
