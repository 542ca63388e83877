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
from posetta.infer.methods import HardMCMC
from posetta.model.model import Model
from posetta.rng import child


class ChainRun:
    """One chain: its state, its own random stream, and the draws kept so far."""

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
        self.rows, self.n_items = rows, n
        self.generator = child(seed, "hard", number)
        self.fixed = _fixed(model, n)
        self.plan = _plan(traces, settings)
        self.largest = model.dim_max if model.dim == "random" else int(model.dim)
        scalars = _start_scalars(model, n, self.generator)
        dim, noisy = int(scalars[state.S_DIM]), scalars[state.S_NOISE] > 0.0
        columns = np.zeros((self.largest, n))
        columns[:dim] = start_latent(traces, dim, noisy, number, self.generator).T
        self.chain = _chain(traces, columns, scalars)
        self.work = _work(traces, self.largest)
        fill_weights(scalars[state.S_BETA], self.chain.weight, self.chain.log_weight)
        count_greater(self.chain)
        refresh(rows, self.chain)
        self.done = 0
        """Sweeps run so far."""
        self.moves_in_warmup = self.chain.moves.copy()
        self.kept = self._room(settings.draws)

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
        """Run ``count`` more sweeps, at most to the end of the warm-up when still in it."""
        if self.done < self.plan.warmup:
            count = min(count, self.plan.warmup - self.done)
        run_sweeps(
            self.rows, self.chain, self.work, self.fixed, self.plan, self.kept,
            self.done, count, self.generator,
        )  # fmt: skip
        self.done += count
        if self.done == self.plan.warmup:
            self.moves_in_warmup = self.chain.moves.copy()

    def frozen(self) -> dict[str, Any]:
        """Return all that decides how the chain goes on, as copies, and the draws so far."""
        arrays = {f"chain_{name}": array.copy() for name, array in self.chain._asdict().items()}
        kept = {f"kept_{name}": array[: self.n_kept] for name, array in self.kept._asdict().items()}
        return {
            **arrays,
            **kept,
            "moves_in_warmup": self.moves_in_warmup.copy(),
            "done": self.done,
            "generator": self.generator.bit_generator.state,
        }

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Go on from a frozen state of the same chain."""
        for name, array in self.chain._asdict().items():
            array[...] = frozen[f"chain_{name}"]
        for name, array in self.kept._asdict().items():
            array[: len(frozen[f"kept_{name}"])] = frozen[f"kept_{name}"]
        self.moves_in_warmup = frozen["moves_in_warmup"]
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
    return state.Rows(
        members=members,
        offsets=offsets,
        n_listed=n_listed,
        counts=counts.astype(np.float64),
        first_step=(np.cumsum(n_listed) - n_listed).astype(np.int64),
        position=position,
        rows_of=np.concatenate(holding).astype(np.int64),
        rows_of_start=np.concatenate([[0], np.cumsum([len(h) for h in holding])]).astype(np.int64),
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


def _plan(traces: Traces, settings: HardMCMC) -> state.Plan:
    return state.Plan(
        warmup=settings.warmup,
        heated=int(settings.heat * settings.warmup),
        # All traces together weigh as one: close to the prior.
        first_power=1.0 / max(len(traces), 1),
        thin=settings.thin,
        mix=np.array([1.0, 1.0, 1.0, 1.0, 2.0, 1.0]),
    )


def _start_scalars(model: Model, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Over-dispersed: scalars that are inferred start from their priors."""
    rho = generator.beta(*model.rho_prior) if model.rho is None else model.rho
    shape, rate = model.beta_prior
    beta = generator.gamma(shape, 1.0 / rate) if model.beta is None else model.beta
    noise = generator.beta(*model.noise_prior) if model.noise is None else model.noise
    dim = model.dim
    if dim == "random":
        weights = np.exp(model.dim_log_prior(n))
        dim = max(2, int(generator.choice(len(weights), p=weights)) + 1)
        dim = min(dim, model.dim_max)
    return np.array([rho, beta, noise, float(dim), 1.0, 0.0])


def _chain(
    traces: Traces, columns: NDArray[np.float64], scalars: NDArray[np.float64]
) -> state.Chain:
    n, n_rows, n_steps = traces.n_items, traces.n_unique, traces.n_steps
    return state.Chain(
        columns=columns,
        greater=np.zeros((n, n), dtype=np.int32),
        closure=np.zeros((n, n), dtype=bool),
        scalars=scalars,
        weight=np.zeros(n),
        log_weight=np.zeros(n),
        W=np.zeros(n_steps),
        own=np.zeros(n_steps),
        row_value=np.zeros(n_rows),
        n_after=np.zeros((n_rows, n), dtype=np.int32),
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
        n_after=np.zeros((n_rows, n), dtype=np.int32),
        last_before=np.zeros((n_rows, n), dtype=np.int32),
        span=np.zeros((n_rows, 2), dtype=np.int64),
        rows=np.zeros(n_rows, dtype=np.int64),
        n_rows=np.zeros(1, dtype=np.int64),
        difference=np.zeros(n + 2),
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
