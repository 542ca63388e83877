"""Hard-MCMC: draws from p(Z, rho, beta | data) under the exact frontier likelihood."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.data.evidence import PairEvidence
from posetta.errors import SettingError
from posetta.infer.hard import state
from posetta.infer.hard.likelihood import refresh
from posetta.infer.hard.relations import count_greater
from posetta.infer.hard.start import start_latent
from posetta.infer.hard.sweep import sweeps
from posetta.infer.methods import HardMCMC
from posetta.infer.progress import Report
from posetta.model.model import Model
from posetta.posterior import Draws, Posterior
from posetta.posterior.diagnostics import effective_size, split_r_hat
from posetta.posterior.posterior import Status
from posetta.rng import child

R_HAT_LIMIT = 1.05
ESS_LIMIT = 100.0


class ChainRun:
    """One chain: its state, its own random stream, and the draws kept so far."""

    def __init__(
        self, traces: Traces, rows: state.Rows, model: Model, settings: HardMCMC, seed: int, c: int
    ) -> None:
        n = traces.n_items
        self.generator = child(seed, "hard", c)
        self.rows, self.model, self.settings = rows, model, settings
        self.fixed = _fixed(model, n)
        largest = model.dim_max if model.dim == "random" else int(model.dim)
        n_steps, n_rows = traces.n_steps, traces.n_unique
        scalars = self._start_scalars(n)
        dim = int(scalars[3])
        latent = np.zeros((n, largest))
        latent[:, :dim] = start_latent(traces, dim, scalars[2] > 0.0, c, self.generator)
        self.chain = state.Chain(
            columns=np.ascontiguousarray(latent.T),
            greater=np.zeros((n, n), dtype=np.int32),
            closure=np.zeros((n, n), dtype=bool),
            scalars=scalars,
            weight=np.exp(scalars[1] * np.log1p(np.arange(n))),
            log_weight=scalars[1] * np.log1p(np.arange(n)),
            W=np.zeros(n_steps),
            own=np.zeros(n_steps),
            row_value=np.zeros(n_rows),
            n_after=np.zeros((n_rows, n), dtype=np.int32),
            last_before=np.zeros((n_rows, n), dtype=np.int32),
            steps=np.array([0.5, 0.5]),
            moves=np.zeros((len(state.MOVES), 2), dtype=np.int64),
        )
        self.work = state.Work(
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
        count_greater(self.chain)
        refresh(rows, self.chain)
        draws = settings.draws
        self.moves_in_warmup = self.chain.moves.copy()
        self.n_kept = 0
        self.bits = np.zeros((draws, n, (n + 7) // 8), dtype=np.uint8)
        self.latents = np.full((draws, n, largest), np.nan)
        self.scalars = np.zeros((draws, 4))
        self.row_values = np.zeros((draws, n_rows))
        self.log_posterior = np.zeros(draws)

    def _start_scalars(self, n: int) -> NDArray[np.float64]:
        """Over-dispersed: scalars that are inferred start from their priors."""
        model, generator = self.model, self.generator
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

    def sweep(self, first: int, count: int) -> None:
        """Run ``count`` sweeps; ``first`` is the number of the first one since the start."""
        sweeps(
            self.rows,
            self.chain,
            self.work,
            self.fixed,
            first,
            count,
            self.settings.warmup,
            self.generator,
        )

    def keep(self) -> None:
        """Store the present state as a draw."""
        s, chain = self.n_kept, self.chain
        dim = int(chain.scalars[3])
        self.bits[s] = np.packbits(chain.closure, axis=-1)
        self.latents[s, :, :dim] = chain.columns[:dim].T
        self.scalars[s] = chain.scalars[:4]
        self.row_values[s] = chain.row_value
        self.log_posterior[s] = float(chain.row_value @ self.rows.counts) + self._log_prior()
        self.n_kept += 1

    def _log_prior(self) -> float:
        """Log prior of the state, up to constants."""
        rho, beta, noise, dim = self.chain.scalars[:4]
        u = self.chain.columns[: int(dim)].T
        along = 1.0 + (dim - 1) * rho
        quadratic = ((u**2).sum() - rho / along * (u.sum(axis=1) ** 2).sum()) / (1.0 - rho)
        determinant = (dim - 1) * np.log1p(-rho) + np.log(along)
        value = -0.5 * (len(u) * (determinant + dim * np.log(2 * np.pi)) + quadratic)
        model = self.model
        if model.rho is None:
            a, b = model.rho_prior
            value += (a - 1) * np.log(rho) + (b - 1) * np.log1p(-rho)
        if model.beta is None:
            a, b = model.beta_prior
            value += (a - 1) * np.log(beta) - b * beta
        if model.noise is None:
            a, b = model.noise_prior
            value += (a - 1) * np.log(noise) + (b - 1) * np.log1p(-noise)
        if model.dim == "random":
            value += self.fixed.dim_log_prior[int(dim) - 1]
        return float(value)


def run(
    traces: Traces,
    model: Model,
    settings: HardMCMC,
    seed: int,
    report: Report,
) -> Posterior:
    """Fit by Metropolis-Hastings: several chains in threads, each with its own stream.

    Ctrl-C and ``max_seconds`` end the run with what was drawn; the status says so.
    """
    _check(traces, model)
    started = time.perf_counter()
    rows = _rows(traces)
    chains = [ChainRun(traces, rows, model, settings, seed, c) for c in range(settings.chains)]
    _warm_up_the_compiler(traces, rows, model, settings)
    compiled = time.perf_counter()
    stop = Event()
    deadline = np.inf if settings.max_seconds is None else compiled + settings.max_seconds
    total = settings.warmup + settings.draws * settings.thin
    done = [0] * settings.chains

    def work(c: int) -> None:
        chain = chains[c]
        while done[c] < total and not stop.is_set() and time.perf_counter() < deadline:
            warming = done[c] < settings.warmup
            left = settings.warmup - done[c]
            count = min(left, settings.thin) if warming else settings.thin
            chain.sweep(done[c], count)
            done[c] += count
            if done[c] == settings.warmup:
                chain.moves_in_warmup = chain.chain.moves.copy()
            if not warming:
                chain.keep()

    interrupted = False
    # A thread for every chain, also with fewer cores: stopped early, all have come equally far.
    with ThreadPoolExecutor(settings.chains) as pool:
        futures = [pool.submit(work, c) for c in range(settings.chains)]
        try:
            pending = set(futures)
            while pending:
                _, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
                report(sum(done) / (total * settings.chains), _words(chains))
        except KeyboardInterrupt:
            interrupted = True
            stop.set()
        for future in futures:
            future.result()
    seconds = time.perf_counter() - compiled
    return _posterior(
        traces, model, settings, seed, chains, interrupted or min(done) < total,
        {"compile": compiled - started, "run": seconds},
    )  # fmt: skip


def _check(traces: Traces, model: Model) -> None:
    if model.beta is not None and model.beta * np.log(max(traces.n_items, 2)) > 600.0:
        raise SettingError(f"beta={model.beta} is too large for {traces.n_items} items.")


def _fixed(model: Model, n: int) -> state.Fixed:
    random_dim = model.dim == "random"
    return state.Fixed(
        infer_rho=model.rho is None,
        infer_beta=model.beta is None,
        infer_noise=model.noise is None,
        rho_prior=tuple(map(float, model.rho_prior)),  # type: ignore[arg-type]
        beta_prior=tuple(map(float, model.beta_prior)),  # type: ignore[arg-type]
        noise_prior=tuple(map(float, model.noise_prior)),  # type: ignore[arg-type]
        dim_log_prior=model.dim_log_prior(n) if random_dim else np.zeros(0),
    )


def _rows(traces: Traces) -> state.Rows:
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
        first_step=np.concatenate([[0], np.cumsum(n_listed)[:-1]]).astype(np.int64)
        if len(n_listed)
        else np.zeros(0, dtype=np.int64),
        position=position,
        rows_of=np.concatenate(holding).astype(np.int64),
        rows_of_start=np.concatenate([[0], np.cumsum([len(h) for h in holding])]).astype(np.int64),
        contradicted=np.ascontiguousarray(before.T > 0),
    )


def _warm_up_the_compiler(
    traces: Traces, rows: state.Rows, model: Model, settings: HardMCMC
) -> None:
    """Compile (or load) the kernel on a throw-away chain, so that its time is reported apart."""
    ChainRun(traces, rows, model, settings, 0, settings.chains).sweep(0, 1)


def _words(chains: list[ChainRun]) -> str:
    kept = min(chain.n_kept for chain in chains)
    return f"{kept} draws a chain" if kept else "warming up"


def _posterior(
    traces: Traces,
    model: Model,
    settings: HardMCMC,
    seed: int,
    chains: list[ChainRun],
    stopped: bool,
    seconds: dict[str, float],
) -> Posterior:
    n_draws = min(chain.n_kept for chain in chains)
    if n_draws == 0:
        raise SettingError(
            "the run was stopped before any draw was kept. Raise max_seconds, or lower warmup."
        )

    def stacked(name: str) -> NDArray[Any]:
        return np.stack([getattr(chain, name)[:n_draws] for chain in chains])

    scalars = stacked("scalars")
    named = {name: scalars[:, :, k] for k, name in enumerate(("rho", "beta", "noise", "dim"))}
    draws = Draws(
        closure_bits=stacked("bits"),
        scalars=named,
        log_likelihood=stacked("row_values"),
        latent=stacked("latents"),
    )
    inferred = [name for name in ("rho", "beta", "noise") if getattr(model, name) is None]
    inferred += ["dim"] if model.dim == "random" else []
    diagnostics = _diagnose(draws, stacked("log_posterior"), inferred, traces.n_items)
    moves = np.sum([chain.chain.moves for chain in chains], axis=0)
    sampling = moves - np.sum([chain.moves_in_warmup for chain in chains], axis=0)
    diagnostics["acceptance"] = {
        name: round(float(accepted / proposed), 4)
        for name, (proposed, accepted) in zip(state.MOVES, sampling, strict=True)
        if proposed
    }
    diagnostics["proposals_per_second"] = round(float(moves[:, 0].sum() / seconds["run"]))
    status, warnings = _status(diagnostics, stopped)
    return Posterior(
        items=traces.items,
        method="hard",
        likelihood="hard",
        model=model,
        settings=asdict(settings),
        seed=seed,
        traces=traces,
        draws=draws,
        precedence=draws.mean_closure(traces.n_items),
        status=status,
        warnings=warnings,
        diagnostics=diagnostics,
        seconds=seconds,
    )


def _diagnose(
    draws: Draws, log_posterior: NDArray[np.float64], inferred: list[str], n: int
) -> dict[str, Any]:
    """Split R-hat and ESS of the log posterior and scalars; plain R-hat of uncertain pairs."""
    quantities = {"log_posterior": log_posterior}
    quantities |= {name: draws.scalars[name] for name in inferred}
    r_hat = {name: split_r_hat(values) for name, values in quantities.items()}
    ess = {name: effective_size(values) for name, values in quantities.items()}
    closures = np.unpackbits(draws.closure_bits, axis=-1, count=n)
    share = closures.mean(axis=(0, 1))
    uncertain = np.argwhere((share > 0.02) & (share < 0.98))
    pair_r_hat = [
        split_r_hat(closures[:, :, i, j].astype(float), by_rank=False) for i, j in uncertain
    ]
    by_chain = closures.mean(axis=1).reshape(draws.n_chains, -1)
    apart = [
        np.abs(a - b).sum() / max(n * (n - 1), 1)
        for k, a in enumerate(by_chain)
        for b in by_chain[k + 1 :]
    ]
    return {
        "r_hat": r_hat,
        "ess": ess,
        "r_hat_max": float(np.nanmax(list(r_hat.values()))),
        "ess_min": float(np.nanmin([*ess.values(), np.inf])),
        "pair_r_hat_99": float(np.sort(pair_r_hat)[int(0.99 * len(pair_r_hat))])
        if pair_r_hat
        else 1.0,
        "chain_mae_max": float(max(apart, default=0.0)),
    }


def _status(diagnostics: dict[str, Any], stopped: bool) -> tuple[Status, tuple[str, ...]]:
    warnings = []
    r_hat, ess = diagnostics["r_hat_max"], diagnostics["ess_min"]
    mixed = r_hat <= R_HAT_LIMIT and ess >= ESS_LIMIT
    if not mixed:
        warnings.append(
            f"the chains have not mixed: R-hat {r_hat:.2f} (at most {R_HAT_LIMIT}), effective "
            f"draws {ess:.0f} (at least {ESS_LIMIT:.0f}). Raise warmup and thin."
        )
    if stopped:
        warnings.append("the run was stopped early; raise max_seconds for the full run.")
    return ("budget_reached" if stopped else "ok" if mixed else "unmixed"), tuple(warnings)
