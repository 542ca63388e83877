"""Posteriors without a fit: draws around a latent matrix, traces that keep to its order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posetta.data import Traces
from posetta.model import Model
from posetta.model.latent import product_order
from posetta.posterior import Draws, Posterior

HOSTILE = (
    '<script>window.hacked = "label"</script>',
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror=window.hacked=2>",
    "\"><svg onload='window.hacked=3'>",
    "' onmouseover='window.hacked=4",
    "<!-- <script> &amp; &lt; {{script}} {{data}}",
    "שלום \u202eevil\u202c abc",
    "🧪👩‍👩‍👧‍👦 é\u0301",
    "line\u2028para\u2029tab\tnew\nline",
    "javascript:window.hacked=5",
    "long " + "x" * 495,
    "\\u003c ${window.hacked=6} `",
)


def labels(n: int) -> list[str]:
    return [f"step {k:02d}" for k in range(n)]


def drawn_posterior(
    n_items=6, n_draws=40, n_chains=2, n_traces=12, seed=0, items=None, spread=0.4, **changes
) -> Posterior:
    generator = np.random.default_rng(seed)
    items = labels(n_items) if items is None else list(items)
    n = len(items)
    centre = generator.standard_normal((n, 1)) + 0.6 * generator.standard_normal((n, 2))
    noise = generator.standard_normal((n_chains * n_draws, n, 2))
    closures = product_order(centre + spread * noise)
    # Greater is earlier; a noisy sum of the columns keeps most traces to the order.
    scores = centre.sum(axis=1) + 0.3 * generator.standard_normal((n_traces, n))
    lists = [
        [items[i] for i in np.argsort(-row) if generator.random() < 0.9] or [items[0]]
        for row in scores
    ]
    traces = Traces.from_lists(lists, items=items)
    shape = (n_chains, n_draws)
    draws = Draws(
        closure_bits=Draws.pack(closures).reshape(*shape, n, -1),
        scalars={
            "rho": generator.beta(2, 2, shape),
            "beta": generator.gamma(2, 1, shape),
            "noise": np.full(shape, 0.05),
            "dim": np.full(shape, 2.0),
        },
        log_likelihood=-generator.gamma(3, 1, (*shape, traces.n_unique)),
    )
    quantities = ("log_posterior", "rho")
    given = {
        "items": traces.items,
        "method": "hard",
        "likelihood": "hard",
        "model": Model(dim=2, noise=0.05),
        "settings": {"draws": n_draws, "warmup": 10, "chains": n_chains},
        "seed": 3,
        "traces": traces,
        "draws": draws,
        "precedence": draws.mean_closure(n),
        "diagnostics": {
            "r_hat": dict.fromkeys(quantities, 1.01),
            "ess": dict.fromkeys(quantities, 321.0),
            "r_hat_max": 1.01,
            "ess_min": 321.0,
        },
        "seconds": {"compile": 0.1, "run": 1.5},
    }
    return Posterior(**{**given, **changes})


def point_posterior(closure, items=None, lists=None) -> Posterior:
    closure = np.asarray(closure, dtype=bool)
    items = labels(len(closure)) if items is None else items
    traces = Traces.from_lists([items] if lists is None else lists, items=items)
    return Posterior(
        items=traces.items,
        method="maximal",
        likelihood="hard",
        model=Model(),
        settings={},
        seed=0,
        traces=traces,
        draws=Draws(
            closure_bits=Draws.pack(closure)[None, None],
            scalars={"beta": np.ones((1, 1)), "noise": np.zeros((1, 1))},
            log_likelihood=np.zeros((1, 1, traces.n_unique)),
        ),
        precedence=closure.astype(float),
        diagnostics={"impossible_traces": 0},
        is_point=True,
    )


def with_status(posterior: Posterior, status: str, warning: str) -> Posterior:
    return replace(posterior, status=status, warnings=(warning,))
