"""Chains of NUTS, each run to its end by one call: nutpie's, and one that moves items too."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import SettingError
from posetta.infer import compiled_callbacks as callbacks
from posetta.infer.item_moves import Rows, move_items, rows_of
from posetta.infer.methods import RelaxedNUTS
from posetta.infer.natural_gradient import Gaussian
from posetta.infer.no_u_turn import Place, transition
from posetta.model.model import Model
from posetta.model.target import Target
from posetta.rng import child

with warnings.catch_warnings():
    # ArviZ, which nutpie loads, announces its next major version at every import.
    warnings.simplefilter("ignore", FutureWarning)
    import nutpie
    from nutpie.compile_pymc import CompiledPyMCModel

Drawn = dict[str, NDArray[Any]]
"""What a chain drew, the warm-up left out: under "point" the draws that are kept, by nutpie's names
statistics of every iteration."""
_LOOK_SECONDS, _PAUSE = 0.05, 0.005
_JUMPING_SHARE = 0.2
"""Of the warm-up, when step size and masses are found: draws begin where jumps have led."""
_JUMPS_AT_ONCE = 1000
"""Proposals between two looks at the clock: some tenths of a second on 200 items."""
_STATISTICS = ("logp", "diverging", "maxdepth_reached", "n_steps")


class Chain:
    """One chain of nutpie. Called with an event, it runs until it is done or the event is set.

    With a frame it walks in the coordinates of that Gaussian, and starts from a draw of it.
    """

    def __init__(
        self,
        target: Target,
        settings: RelaxedNUTS,
        start: NDArray[np.float64],
        seed: int,
        c: int,
        frame: Gaussian | None = None,
        deadline: float = np.inf,
    ) -> None:
        size = target.n_parameters
        self.target, self.settings, self.frame, self.deadline = target, settings, frame, deadline
        self.generator = child(seed, "nuts", c)
        noise = self.generator.standard_normal(size)
        # nutpie refuses a gradient that is exactly 0 anywhere, as at the mode of a prior.
        self.start = start + 1e-3 * noise if frame is None else noise
        self.block = callbacks.pack(target, frame)
        self.thin = settings.thin_of(target.traces.n_items)
        self.total = settings.warmup + settings.draws * self.thin
        self.finished = False
        self.drawn: Drawn = {}
        """What was drawn, once the chain has ended."""
        self._lock = Lock()
        self._sampler: Any = None

    @property
    def n_done(self) -> int:
        """Iterations so far, warm-up included."""
        return int(self.block[callbacks.DRAWS_SO_FAR])

    @property
    def n_gradients(self) -> int:
        """Gradients so far, warm-up included."""
        return int(self.block[callbacks.GRADIENTS_SO_FAR])

    def __call__(self, stop: Event) -> None:
        """Run; `drawn` then holds what was drawn, and `finished` says whether that is all."""
        warmup = self.settings.warmup
        found, self.finished = self._sample(warmup, self.total - warmup, stop)
        points = found["posterior"]["point"].to_numpy()[0, self.thin - 1 :: self.thin]
        self.drawn = {"point": points, **_statistics(found, *_STATISTICS)}

    def so_far(self) -> Drawn:
        """Return log densities and divergences of the draws so far, the warm-up left out."""
        with self._lock:
            if self.drawn:
                return self.drawn
            if self._sampler is not None:  # else the thread is about to begin, or about to end
                # Its `inspect` fails once the last draw is made, until `wait` has taken them all.
                with suppress(AttributeError), _without_arviz_warnings():
                    return _statistics(self._sampler.inspect(), "logp", "diverging")
            return {"logp": np.empty(0), "diverging": np.empty(0, dtype=bool)}

    def _is_late(self) -> bool:
        return time.perf_counter() >= self.deadline

    def _sample(self, warmup: int, draws: int, stop: Event, **more: Any) -> tuple[Any, bool]:
        """Run nutpie; return what it found, and whether it came to its end."""
        size = self.target.n_parameters
        # One sampler for each chain: chain 2 is the same whether two or eight of them run.
        model = CompiledPyMCModel(
            dims={},
            compiled_logp_func=callbacks.log_density_callback,
            compiled_expand_func=callbacks.keep_callback,
            initial_point_func=lambda _: self.start,
            shared_data={},
            user_data=self.block,
            n_expanded=size,
            shape_info=(["point"], [slice(0, size)], [(size,)]),
            logp_func=None,
            expand_func=None,
            _n_dim=size,
            _shapes={"point": (size,)},
            _coords={},
        )
        sampler: Any = nutpie.sample(
            model,
            draws=draws,
            tune=warmup,
            chains=1,
            cores=1,
            seed=int(self.generator.integers(2**32)),
            low_rank_modified_mass_matrix=self.settings.mass_matrix == "low-rank",
            target_accept=self.settings.target_accept,
            maxdepth=self.settings.max_depth,
            progress_bar=False,
            blocking=False,
            **more,
        )
        self._sampler = sampler
        found = None
        # A pause without the lock lets `so_far` have its turn.
        while found is None and not stop.wait(_PAUSE) and not self._is_late():
            # Its `is_finished` raises as long as the answer is no, so this is the way to ask.
            with self._lock, suppress(TimeoutError):
                found = sampler.wait(timeout=_LOOK_SECONDS)
        with self._lock:
            self._sampler = None
            if found is not None:
                return found, True
            sampler.cancel()  # ends the draw under way: here, so that chains do so side by side
            with _without_arviz_warnings():
                return sampler.abort(), False


class JumpingChain(Chain):
    """A chain that moves single items between two trajectories, as `RelaxedNUTS.jumps` says.

    nutpie finds step size and masses in the first part of the warm-up.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        n_items = self.target.traces.n_items
        self.n_jumps = self.settings.jumps_of(n_items) * n_items
        self._points: list[NDArray[np.float64]] = []
        self._statistics: dict[str, list[Any]] = {name: [] for name in (*_STATISTICS, "n_moved")}

    def __call__(self, stop: Event) -> None:
        """Run; `drawn` then holds what was drawn, and `finished` says whether that is all."""
        tune = self.settings.warmup - int(_JUMPING_SHARE * self.settings.warmup)
        # nutpie's first draw after its warm-up is an iteration of ours like any other.
        found, adapted = self._sample(tune - 1, 1, stop, store_mass_matrix=True)
        if adapted:
            self._walk(found, stop)
        points = np.array(self._points).reshape(-1, self.target.n_parameters)
        self.drawn = {"point": points, **self._so_far(*self._statistics)}
        self.finished = self.n_done == self.total

    def so_far(self) -> Drawn:
        """Return log densities and divergences of the draws so far, the warm-up left out."""
        return self._so_far("logp", "diverging")

    def _so_far(self, *names: str) -> Drawn:
        length = len(self._statistics["n_moved"])  # the last that an iteration writes
        found = {name: np.array(self._statistics[name][:length]) for name in names}
        return found | {"diverging": found["diverging"].astype(bool)}

    def _walk(self, found: Any, stop: Event) -> None:
        adapted = found["sample_stats"]
        step_size = float(adapted["step_size_bar"].to_numpy()[0, -1])
        variance = np.ascontiguousarray(adapted["mass_matrix_inv"].to_numpy()[0, -1])
        if not (np.isfinite([step_size, *variance]).all() and min(step_size, *variance) > 0.0):
            raise SettingError(
                "the warm-up found no step size and scales to go on with: raise warmup, or turn "
                "the moves off with jumps=0."
            )
        w = found["posterior"]["point"].to_numpy()[0, -1].copy()
        rows = rows_of(self.target.traces)
        place = Place(np.empty_like(w), np.empty_like(w))
        log_density = self._arrive(place, w)
        while self.n_done < self.total and not stop.is_set() and not self._is_late():
            log_density, n_steps, diverging, saturated = transition(
                self.block,
                place,
                log_density,
                variance,
                step_size,
                self.settings.max_depth,
                self.generator,
            )
            w, n_moved = self._move(rows, self._leave(place), stop)
            if n_moved:
                log_density = self._arrive(place, w)
            self.block[callbacks.GRADIENTS_SO_FAR] += n_steps + (n_moved > 0)
            self.block[callbacks.DRAWS_SO_FAR] += 1
            n_kept = self.n_done - self.settings.warmup
            if n_kept > 0:
                if n_kept % self.thin == 0:
                    self._points.append(w)
                told = (log_density, diverging, saturated, n_steps, n_moved)
                for values, value in zip(self._statistics.values(), told, strict=True):
                    values.append(value)

    def _move(
        self, rows: Rows, w: NDArray[np.float64], stop: Event
    ) -> tuple[NDArray[np.float64], int]:
        """Make the moves between two trajectories; return where they end, and their number."""
        n_moved = 0
        for done in range(0, self.n_jumps, _JUMPS_AT_ONCE):
            if stop.is_set() or self._is_late():
                break
            count = min(_JUMPS_AT_ONCE, self.n_jumps - done)
            w, moved = move_items(rows, self.target, w, count, self.generator)
            n_moved += moved
        return w, n_moved

    def _arrive(self, place: Place, w: NDArray[np.float64]) -> float:
        """Bring ``place`` to ``w``; return the log density there."""
        if self.frame is None:
            place.point[:] = w
        else:
            callbacks.into_frame(self.block, w, place.point)
        return float(callbacks.packed_log_density(self.block, place.point, place.gradient))

    def _leave(self, place: Place) -> NDArray[np.float64]:
        """Return the coordinates w of ``place``."""
        w = place.point.copy()
        if self.frame is not None:
            callbacks.from_frame(self.block, place.point, w)
        return w


_FILTERS = Lock()
"""Filters of warnings belong to all threads: two chains would put back each other's."""


def compile_walk() -> float:
    """Compile, or load, what a jumping chain calls; return the seconds that took."""
    began = time.perf_counter()
    target = Target(Model(dim=1), Traces.from_lists([], items=["a", "b"]))
    size, generator = target.n_parameters, np.random.default_rng(0)
    w, point, gradient = np.zeros(size), np.empty(size), np.empty(size)
    block = callbacks.pack(target, Gaussian(w, np.eye(size)))
    callbacks.into_frame(block, w, point)
    value = callbacks.packed_log_density(block, point, gradient)
    transition(block, Place(point, gradient), value, np.ones(size), 0.1, 1, generator)
    callbacks.from_frame(block, point, w)
    move_items(rows_of(target.traces), target, w, 1, generator)
    return time.perf_counter() - began


@contextmanager
def _without_arviz_warnings() -> Iterator[None]:
    """Silence ArviZ, which finds it odd that a chain has no draws; `nuts._stacked` says it."""
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _statistics(found: Any, *names: str) -> Drawn:
    return {name: found["sample_stats"][name].to_numpy()[0] for name in names}
