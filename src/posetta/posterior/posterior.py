"""`Posterior`: what a fit learned. Plain arrays and labels; it does not know who drew them."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from posetta.data import Traces
from posetta.errors import InputError, SettingError, choice
from posetta.model.model import Model
from posetta.order import Poset
from posetta.posterior.decode import decode

if TYPE_CHECKING:
    import networkx
    import xarray

Status = Literal["ok", "approximate", "budget_reached", "unmixed", "diverged"]
Rule = Literal["threshold", "medoid", "most-frequent", "least-loss", "best-f1"]
"""How `Posterior.decode` chooses one order."""

_ROUNDING = 1e-9


def versions() -> dict[str, str]:
    """Return the versions of what runs now, and the kind of machine."""
    named = {name: version(name) for name in ("posetta", "numpy", "numba")}
    return {**named, "python": platform.python_version(), "machine": platform.machine()}


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of the order and of the scalars, indexed (chain, draw, ...).

    The closures are kept as bits: ``closure_bits[c, s, i]`` packs the row "i before ..." of draw s
    of chain c, eight items to the byte. The arrays are read-only.
    """

    closure_bits: NDArray[np.uint8]
    scalars: Mapping[str, NDArray[np.float64]]
    """Of rho, beta, gamma, dim and noise those that the method knows, fixed values included."""
    log_likelihood: NDArray[np.float64]
    """(chain, draw, unique row): log probability of ONE copy of each training row."""
    latent: NDArray[np.float64] | None = None
    """(chain, draw, item, dim), the centred U; NaN-padded when the dimension is random. Under the
    Plackett-Luce likelihood (chain, draw, item, component), the log supports."""
    statistics: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """(chain, draw) each: what the sampler says of its draws, under ArviZ's names; ``lp`` is the
    log density."""

    def __post_init__(self) -> None:
        for name in ("closure_bits", "log_likelihood", "latent"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _read_only(getattr(self, name)))
        for name in ("scalars", "statistics"):
            kept = {key: _read_only(values) for key, values in getattr(self, name).items()}
            object.__setattr__(self, name, kept)

    @staticmethod
    def pack(closures: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Pack closures (..., item, item) into bits."""
        return np.packbits(closures, axis=-1)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.closure_bits.shape[0]

    @property
    def n_draws(self) -> int:
        """Number of draws of each chain."""
        return self.closure_bits.shape[1]

    @property
    def n_relations(self) -> NDArray[np.int64]:
        """(chain, draw): number of related pairs of every draw."""
        return np.bitwise_count(self.closure_bits).sum(axis=(2, 3), dtype=np.int64)

    def check_shapes(self, n_items: int, n_rows: int) -> None:
        """Refuse arrays that do not fit each other, the items and the unique rows of traces."""
        at_draw = self.closure_bits.shape[:2]
        if self.closure_bits.dtype != np.uint8:
            raise InputError(f"closure_bits holds {self.closure_bits.dtype}; it needs uint8.")
        if 0 in at_draw:
            raise InputError("there are no draws.")
        expected: dict[str, tuple[NDArray[Any], tuple[int, ...]]] = {
            "closure_bits": (self.closure_bits, (*at_draw, n_items, -(-n_items // 8))),
            "log_likelihood": (self.log_likelihood, (*at_draw, n_rows)),
            **{name: (values, at_draw) for name, values in self.scalars.items()},
            **{name: (values, at_draw) for name, values in self.statistics.items()},
        }
        if self.latent is not None:
            expected["latent"] = (self.latent, (*at_draw, n_items, self.latent.shape[-1]))
        for name, (array, shape) in expected.items():
            if array.shape != shape:
                raise InputError(
                    f"{name} has the shape {array.shape}; {n_items} items and {n_rows} distinct "
                    f"traces need {shape}."
                )

    def closures(self, n_items: int) -> Iterator[NDArray[np.bool_]]:
        """Iterate over the closures of all chains, one draw after another."""
        for rows in self.closure_bits.reshape(-1, *self.closure_bits.shape[2:]):
            yield np.unpackbits(rows, axis=-1, count=n_items).astype(bool)

    def scalar(self, name: str) -> NDArray[np.float64]:
        """Return the draws of one scalar, chains one after another."""
        return self.scalars[name].reshape(-1)

    def mean_closure(self, n_items: int) -> NDArray[np.float64]:
        """Return the share of draws in which i precedes j."""
        total = np.zeros((n_items, n_items), dtype=np.int64)
        for chain in self.closure_bits:
            for block in np.array_split(chain, max(1, len(chain) // 256)):
                total += np.unpackbits(block, axis=-1, count=n_items).sum(axis=0, dtype=np.int64)
        return total / (self.n_chains * self.n_draws)


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """The result of a fit: a probability for every "i before j", and what stands behind it.

    A baseline gives a single order: then ``is_point`` is true, ``precedence`` is 0 or 1, and there
    is one draw.
    """

    items: tuple[str, ...]
    method: str
    likelihood: Literal["hard", "relaxed", "plackett-luce"]
    """Which likelihood scores new traces under these draws."""
    model: Model
    settings: Mapping[str, Any]
    seed: int
    traces: Traces
    draws: Draws
    precedence: NDArray[np.float64]
    """``precedence[i, j]`` = Pr(item i precedes item j | data)."""
    status: Status = "ok"
    warnings: tuple[str, ...] = ()
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    is_point: bool = False
    made_with: Mapping[str, str] = field(default_factory=versions)
    """Versions of what fitted it, and the kind of machine; a loaded result keeps its own."""

    def __post_init__(self) -> None:
        choice(self.status, get_args(Status), "status")
        n = len(self.items)
        if self.items != self.traces.items:
            raise InputError("the items of a posterior must be those of its traces, in that order.")
        self.draws.check_shapes(n, self.traces.n_unique)
        precedence = np.asarray(self.precedence, dtype=np.float64)
        if precedence.shape != (n, n):
            raise InputError(f"precedence has the shape {precedence.shape}; it needs {(n, n)}.")
        # Sums of probabilities may pass 1 by a rounding error; NaN fails either comparison.
        if not ((precedence >= -_ROUNDING) & (precedence <= 1.0 + _ROUNDING)).all():
            raise InputError("precedence holds values that are no probabilities.")
        if precedence.diagonal().any():
            raise InputError("the diagonal of precedence must be 0: no item precedes itself.")
        object.__setattr__(self, "precedence", _read_only(np.clip(precedence, 0.0, 1.0)))

    def decode(self, threshold: float | None = None, rule: Rule = "threshold") -> Poset:
        """Return one order.

        "threshold" keeps the pairs more probable than ``threshold`` (1/2 unless given), breaks
        cycles at their least probable pair, and closes. The other rules have no threshold:
        "medoid" is the draw nearest to all draws, "most-frequent" the order drawn most often,
        "least-loss" a search for the least expected number of wrong pairs, "best-f1" one for the
        largest expected F1.
        """
        choice(rule, get_args(Rule), "rule")
        if rule == "threshold":
            closure = decode(self.precedence, 0.5 if threshold is None else threshold)
        elif threshold is not None:
            raise SettingError(f"rule={rule!r} has no threshold: leave one of the two out.")
        else:
            closure = self._decode_draws(rule)
        return Poset.from_closure(closure, self.items)

    def _decode_draws(self, rule: Rule) -> NDArray[np.bool_]:
        from posetta.posterior import decoders  # compiled: only where it is used

        if rule == "medoid":
            return decoders.medoid(self.draws, len(self.items))
        if rule == "most-frequent":
            return decoders.most_frequent(self.draws, len(self.items))
        if rule == "least-loss":
            return decoders.least_loss(self.draws, self.precedence)
        return decoders.best_f1(self.draws, self.precedence)

    def orders(self) -> Iterator[Poset]:
        """Iterate over the draws as orders."""
        for closure in self.draws.closures(len(self.items)):
            yield Poset.from_closure(closure, self.items)

    def probability(self, first: str, second: str) -> float:
        """Return Pr(``first`` precedes ``second`` | data)."""
        return float(self.precedence[self._position(first), self._position(second)])

    @cached_property
    def incomparable(self) -> NDArray[np.float64]:
        """Probability that neither item precedes the other; the diagonal is 0."""
        neither = np.clip(1.0 - self.precedence - self.precedence.T, 0.0, 1.0)
        np.fill_diagonal(neither, 0.0)
        return neither

    @cached_property
    def cover_probability(self) -> NDArray[np.float64]:
        """``[i, j]``: share of draws in which i precedes j with nothing between them.

        Never above ``precedence``, also where that is known better than the draws tell it.
        """
        from posetta.posterior.summaries import count_covers

        n_draws = self.draws.n_chains * self.draws.n_draws
        share = count_covers(self.draws.closure_bits, len(self.items)) / n_draws
        return _read_only(np.minimum(share, self.precedence))

    @cached_property
    def precedence_se(self) -> NDArray[np.float64]:
        """Monte Carlo standard error of every entry of ``precedence``.

        From the effective number of draws over all chains; NaN with fewer than four draws a chain.
        A pair that is the same in all draws has 0, which says that its probability is within
        about 3 over the number of effective draws of 0 or 1, not that it is known. A single order
        has no such error. Exact probabilities have the oracle's own: at most the largest of them,
        ``diagnostics["precedence_se_max"]``, which then stands for all.
        """
        n = len(self.items)
        if self.is_point:
            return _read_only(np.zeros((n, n)))
        if "precedence_se_max" in self.diagnostics:
            open_pairs = (self.precedence > 0.0) & (self.precedence < 1.0)
            bound = float(self.diagnostics["precedence_se_max"])
            return _read_only(np.where(open_pairs, bound, 0.0))
        if self.likelihood == "plackett-luce" and self.draws.latent is not None:
            from posetta.posterior.support_pairs import support_pairs

            return _read_only(support_pairs(self.draws.latent).standard_error)
        from posetta.posterior.diagnostics import pair_standard_errors

        return _read_only(pair_standard_errors(self.draws.closure_bits))

    @cached_property
    def n_relations(self) -> NDArray[np.int64]:
        """(chain, draw): number of related pairs of every draw."""
        return self.draws.n_relations

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """(chain, draw): number of items in a longest chain of every draw."""
        from posetta.posterior.summaries import depths

        return depths(self.draws.closure_bits, len(self.items))

    @cached_property
    def scalar_summary(self) -> dict[str, dict[str, float]]:
        """Mean, sd, 5 % and 95 % of every scalar."""
        summary = {}
        for name in self.draws.scalars:
            values = self.draws.scalar(name)
            low, high = np.quantile(values, [0.05, 0.95])
            summary[name] = {
                "mean": float(values.mean()),
                "sd": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
                "q5": float(low),
                "q95": float(high),
            }
        return summary

    def to_datatree(self) -> xarray.DataTree:
        """Return the draws as a labelled tree (groups posterior, log_likelihood, ...)."""
        from posetta.posterior.tree import to_datatree

        return to_datatree(self)

    def to_networkx(
        self, threshold: float | None = None, *, rule: Rule = "threshold", closure: bool = False
    ) -> networkx.DiGraph[Any]:
        """Return the decoded order as a graph of its covers, or of all its pairs.

        Nodes are labels. Edges carry ``probability``, that the first precedes the second, and
        ``cover_probability``, that it does so with nothing between.
        """
        graph = self.decode(threshold, rule).to_networkx(closure=closure)
        index = {label: k for k, label in enumerate(self.items)}
        for first, second, data in graph.edges(data=True):
            pair = index[first], index[second]
            data["probability"] = float(self.precedence[pair])
            data["cover_probability"] = float(self.cover_probability[pair])
        return graph

    def _position(self, label: str) -> int:
        try:
            return self.items.index(label)
        except ValueError:
            raise InputError(f'there is no item "{label}" among the {len(self.items)}.') from None

    def __repr__(self) -> str:
        kind = "one order" if self.is_point else f"{self.draws.n_chains}x{self.draws.n_draws} draws"
        return f"Posterior({self.method}, {len(self.items)} items, {kind}, status {self.status!r})"


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written through; the caller's own array stays as it is."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
