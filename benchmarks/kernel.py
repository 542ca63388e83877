"""Relaxed log-likelihood and gradient: our fused kernel against JAX autodiff, in one run.

    python benchmarks/kernel.py

Both see the same traces and the same double-precision likelihood; the values and gradients are
compared before anything is timed. JAX gets two formulations (suffix sums by a matrix product with
a triangular mask, and by a reverse scan over steps); the faster one counts. The comparison is made
with both on one core, and again with both allowed all cores (our kernel still uses one: its
callers run chains side by side). Times are the best of many repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

CASES = ((10, 10), (20, 20), (50, 50), (100, 122))
DIM, TAU, BETA, GAMMA = 4, 0.3, 1.0, 2.0


def best_seconds(call: Callable[[], Any], budget: float = 3.0) -> float:
    """Return the fastest of the repeats that fit the budget (at least five)."""
    call()
    best, spent, repeats = float("inf"), 0.0, 0
    while spent < budget or repeats < 5:
        start = time.perf_counter()
        call()
        taken = time.perf_counter() - start
        best, spent, repeats = min(best, taken), spent + taken, repeats + 1
    return best


def jax_forms(sequences: Any) -> dict[str, Callable[..., Any]]:
    """Return value-and-gradient functions of JAX for full traces, jitted."""
    import jax
    import jax.numpy as jnp

    def precedence(latent: Any, gamma: Any) -> tuple[Any, Any]:
        difference = latent[:, None, :] - latent[None, :, :]
        margin = -TAU * jax.nn.logsumexp(-difference / TAU, axis=-1)
        off = 1.0 - jnp.eye(latent.shape[0])
        return jax.nn.sigmoid(gamma * margin) * off, -jax.nn.softplus(gamma * margin) * off

    def score(A: Any, S: Any, beta: Any, inside: Any) -> Any:
        return jnp.where(inside, A + beta * jnp.log1p(S), -jnp.inf)

    def by_matrix(latent: Any, beta: Any, gamma: Any) -> Any:
        D, free = precedence(latent, gamma)
        n = sequences.shape[1]
        suffix = jnp.triu(jnp.ones((n, n)))  # suffix[t, b] = 1 where b >= t

        def one(y: Any) -> Any:
            A = suffix @ free[y][:, y]
            S = suffix @ D[y][:, y].T
            s = score(A, S, beta, suffix > 0)
            return jnp.sum(jnp.diagonal(s) - jax.nn.logsumexp(s, axis=1))

        return jnp.sum(jax.vmap(one)(sequences))

    def by_scan(latent: Any, beta: Any, gamma: Any) -> Any:
        D, free = precedence(latent, gamma)
        n = sequences.shape[1]

        def one(y: Any) -> Any:
            L, P = free[y][:, y], D[y][:, y]

            def step(carry: Any, t: Any) -> Any:
                A, S = carry
                A, S = A + L[t], S + P[:, t]
                s = score(A, S, beta, jnp.arange(n) >= t)
                return (A, S), s[t] - jax.nn.logsumexp(s)

            _, terms = jax.lax.scan(step, (jnp.zeros(n), jnp.zeros(n)), jnp.arange(n)[::-1])
            return jnp.sum(terms)

        return jnp.sum(jax.vmap(one)(sequences))

    return {
        name: jax.jit(jax.value_and_grad(form, argnums=(0, 1, 2)))
        for name, form in (("matrix", by_matrix), ("scan", by_scan))
    }


def measure() -> list[dict[str, Any]]:
    """Time all cases in this process."""
    import jax
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    from posetta.data import Traces
    from posetta.model import relaxed_kernel

    rows = []
    for n, n_traces in CASES:
        generator = np.random.default_rng(0)
        sequences = np.array([generator.permutation(n) for _ in range(n_traces)])
        items = [str(i) for i in range(n)]
        traces = Traces.from_lists([[items[i] for i in y] for y in sequences], items=items)
        latent = generator.normal(size=(n, DIM))
        gradient = np.empty_like(latent)
        arrays = traces.arrays

        def ours(
            latent: Any = latent, arrays: Any = arrays, gradient: Any = gradient
        ) -> tuple[float, ...]:
            return relaxed_kernel.value_and_gradient(
                latent, BETA, GAMMA, TAU, 0.0, *arrays, gradient
            )

        margins = np.empty((n, n))
        D, free, zero = np.empty((n, n)), np.empty((n, n)), np.zeros((n, n))

        def pairs(
            latent: Any = latent, margins: Any = margins, D: Any = D, free: Any = free,
            zero: Any = zero, gradient: Any = gradient,
        ) -> None:  # fmt: skip
            relaxed_kernel.soft_margins(latent, TAU, margins)
            relaxed_kernel.soft_precedence(margins, GAMMA, D, free)
            relaxed_kernel.margin_gradient(latent, margins, TAU, GAMMA, zero, zero, gradient)

        forms = jax_forms(jax.numpy.asarray(sequences))
        value = ours()[0]
        seconds = {}
        for name, form in forms.items():
            other, (d_latent, d_beta, d_gamma) = form(latent, BETA, GAMMA)
            np.testing.assert_allclose(float(other), value, rtol=1e-9)
            np.testing.assert_allclose(np.asarray(d_latent), gradient, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose([d_beta, d_gamma], ours()[1:3], rtol=1e-6, atol=1e-8)
            seconds[name] = best_seconds(
                lambda form=form, u=latent: jax.block_until_ready(form(u, BETA, GAMMA))
            )
        rows.append(
            {
                "n": n,
                "traces": n_traces,
                "ours_ms": 1e3 * best_seconds(ours),
                "pair_part_ms": 1e3 * best_seconds(pairs, 1.0),
                **{f"jax_{name}_ms": 1e3 * value for name, value in seconds.items()},
            }
        )
    return rows


def main() -> None:
    """Run the cases on one core and on all cores, each in a fresh process, and print ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", action="store_true")
    if parser.parse_args().worker:
        print(json.dumps(measure()))
        return
    cores = sorted(os.sched_getaffinity(0))
    for allowed in ([cores[0]], cores) if len(cores) > 1 else (cores,):
        names = "one core" if len(allowed) == 1 else f"{len(allowed)} cores allowed"
        done = subprocess.run(
            [sys.executable, __file__, "--worker"],
            preexec_fn=lambda allowed=allowed: os.sched_setaffinity(0, allowed),
            capture_output=True,
            text=True,
            check=True,
        )
        print(f"\nRelaxed log-likelihood and gradient, dim {DIM}, full traces, {names}")
        print("   n  traces   ours ms  pair part   JAX matrix ms  JAX scan ms   best JAX / ours")
        for row in json.loads(done.stdout.splitlines()[-1]):
            best = min(row["jax_matrix_ms"], row["jax_scan_ms"])
            print(
                f"{row['n']:4d} {row['traces']:7d} {row['ours_ms']:9.3f} "
                f"{row['pair_part_ms'] / row['ours_ms']:10.1%} {row['jax_matrix_ms']:15.2f} "
                f"{row['jax_scan_ms']:12.2f} {best / row['ours_ms']:16.1f}x"
            )


if __name__ == "__main__":
    main()
