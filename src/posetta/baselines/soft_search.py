"""SoftDAG-Frontier's search: runs of Adam, and the choice among them on held-out traces."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from posetta.baselines.point import fixed_noise
from posetta.baselines.settings import SoftDAG
from posetta.baselines.soft_graph import Objective, soft_graph, step_log_probabilities
from posetta.data import Traces
from posetta.model.model import Model
from posetta.rng import child

# The paper's start: logits N(-2, 0.1^2), so that soft edges begin sparse; and beta = 1.
_START_MEAN, _START_SD = -2.0, 0.1
# Adam's own constants (Kingma and Ba, 2015).
_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.999, 1e-8
# Bound of log beta: far beyond any choice (see `softdag`), and every number stays finite.
_LOG_BETA = 20.0
# Steps between two looks at the clock: some hundredths of a second at 100 items.
_PORTION = 10


@dataclass(frozen=True, eq=False)
class Candidate:
    """What one run of Adam came to."""

    sparsity: float
    acyclicity: float
    restart: int
    logits: NDArray[np.float64]
    beta: float
    objective: float
    """At the last step, on the traces that were fitted."""
    step_nll: float
    """On the traces that judge it."""


class Search:
    """All runs of Adam of one fit: what they share, their clock and their progress."""

    def __init__(
        self,
        traces: Traces,
        model: Model,
        settings: SoftDAG,
        seed: int,
        report: Callable[[float, str], None],
    ) -> None:
        n = traces.n_items
        self.traces, self.model, self.settings = traces, model, settings
        self.seed, self.report = seed, report
        self.noise = fixed_noise(model, "softdag")
        self.path_length = min(settings.path_length, n - 1)
        self.restarts = settings.restarts or (3 if n <= 30 else 2 if n < 100 else 1)
        self.steps = settings.steps or (600 if n <= 30 else 400 if n < 100 else 250)
        self.grid = list(product(settings.sparsity, settings.acyclicity))
        # With fewer than two traces nothing can be held out: the fit judges itself.
        self.held_out = len(traces) > 1
        self.fitted, self.judged = traces, traces
        if self.held_out:
            self.fitted, self.judged = traces.split(settings.validation, seed)
        self.refits = self.held_out and settings.refit
        self.tried: list[Candidate] = []
        self.stopped = False
        limit = settings.max_seconds
        self._deadline = np.inf if limit is None else time.perf_counter() + limit
        self._steps_done = 0
        self._steps_in_all = self.steps * self.restarts * (len(self.grid) + self.refits)

    def run(self) -> tuple[Candidate, Candidate]:
        """Return the fit that was chosen, and the final one: the same, or fitted to all traces.

        Ctrl-C and the end of the time lead to the best fit so far.
        """
        final: list[Candidate] = []
        try:
            for cell in range(len(self.grid)):
                for restart in range(self.restarts):
                    if not self.stopped:
                        self.tried.append(self.minimise(self.fitted, cell, restart))
            best = self.tried.index(min(self.tried, key=lambda c: c.step_nll))
            for restart in range(self.restarts if self.refits else 0):
                if not self.stopped:
                    again = self.minimise(self.traces, best // self.restarts, restart)
                    final += [] if self.stopped else [again]  # a run cut short is no fit
        except KeyboardInterrupt:
            if not self.tried:
                raise
            self.stopped = True
        chosen = min(self.tried, key=lambda c: c.step_nll)
        return chosen, min(final, key=lambda c: c.objective) if final else chosen

    def minimise(self, fitted: Traces, cell: int, restart: int) -> Candidate:
        """Run Adam from one random start, for one pair of penalties."""
        sparsity, acyclicity = self.grid[cell]
        n = fitted.n_items
        objective = Objective(fitted, self.path_length, sparsity, acyclicity, self.noise)
        generator = child(self.seed, "softdag", cell, restart)
        # Logits and log beta in one vector; a fixed beta has no gradient.
        position = np.zeros(n * n + 1)
        position[:-1] = generator.normal(_START_MEAN, _START_SD, n * n)
        mean, mean_square = np.zeros_like(position), np.zeros_like(position)
        gradient = np.zeros_like(position)
        value = np.nan
        for step in range(1, self.steps + 1):
            beta = self._beta(position)
            value, d_logits, d_beta = objective.value_and_gradient(
                position[:-1].reshape(n, n), beta
            )
            gradient[:-1] = d_logits.ravel()
            gradient[-1] = d_beta * beta if self.model.beta is None else 0.0
            mean += (1.0 - _DECAY) * (gradient - mean)
            mean_square += (1.0 - _SQUARE_DECAY) * (gradient**2 - mean_square)
            scale = np.sqrt(mean_square / (1.0 - _SQUARE_DECAY**step)) + _TINY
            position -= self.settings.learning_rate / (1.0 - _DECAY**step) * mean / scale
            position[-1] = np.clip(position[-1], -_LOG_BETA, _LOG_BETA)
            if step % _PORTION == 0 or step == self.steps:
                self._look_at_the_clock(step, f"sparsity {sparsity:g}, acyclicity {acyclicity:g}")
                if self.stopped and step < self.steps:
                    break
        self._steps_done += self.steps
        logits = position[:-1].reshape(n, n).copy()
        beta = self._beta(position)
        nll = self._step_nll(logits, beta)
        return Candidate(sparsity, acyclicity, restart, logits, beta, value, nll)

    def _beta(self, position: NDArray[np.float64]) -> float:
        return float(np.exp(position[-1])) if self.model.beta is None else self.model.beta

    def _step_nll(self, logits: NDArray[np.float64], beta: float) -> float:
        graph = soft_graph(logits, self.path_length)
        log_p = step_log_probabilities(graph, beta, self.judged, self.noise)
        return mean_over_steps(-log_p, self.judged)

    def _look_at_the_clock(self, step: int, words: str) -> None:
        self.stopped = self.stopped or time.perf_counter() > self._deadline
        self.report((self._steps_done + step) / self._steps_in_all, words)


def mean_over_steps(values: NDArray[np.float64], traces: Traces) -> float:
    """Return the mean over all listed steps, with the counts of their rows; 0 without steps."""
    if not len(values):
        return 0.0
    return float(np.average(values, weights=np.repeat(traces.counts, traces.n_listed)))
