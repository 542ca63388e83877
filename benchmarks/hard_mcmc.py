"""Hard-MCMC: proposals and effective draws a second, and what four chains agree on.

    python benchmarks/hard_mcmc.py            # rates on one core, about a minute
    python benchmarks/hard_mcmc.py --converge # four chains on synthetic data, several minutes

Data: the paper's generator (dim 4, beta 1), n full traces chosen for coverage. A proposal is one
attempted change of any kind; effective draws are of the log posterior.
"""

from __future__ import annotations

import argparse

import posetta as po


def rates() -> None:
    """One chain on one core."""
    print("one chain, rho 0.5, seed 7")
    print("   n   proposals/s   effective draws/s (log posterior)")
    for n, sweeps in ((10, 20_000), (20, 8_000), (50, 1_500)):
        sim = po.simulate(n, rho=0.5, seed=7)
        settings = po.HardMCMC(draws=sweeps // 5, warmup=sweeps // 4, chains=1, thin=5)
        post = po.fit(sim.train, settings, seed=1)
        found = post.diagnostics
        per_second = found["ess"]["log_posterior"] / post.seconds["run"]
        print(f"{n:4d} {found['proposals_per_second']:13,.0f} {per_second:12.2f}")


def converge() -> None:
    """Four chains: status, agreement, and F1 beside the intersection of the traces."""
    print("four chains on all cores")
    print("   n  rho seed  status    seconds  R-hat  ESS  chain MAE     F1  intersection")
    for n, thin, warmup in ((10, 5, 1000), (20, 10, 2000), (30, 20, 4000)):
        for rho in (0.5, 0.9):
            sim = po.simulate(n, rho=rho, seed=7)
            settings = po.HardMCMC(draws=1000, warmup=warmup, chains=4, thin=thin)
            post = po.fit(sim.train, settings, seed=1, progress=True)
            found = post.diagnostics
            f1 = po.evaluate.closure_scores(post.decode(), sim.order).f1
            simple = po.fit(sim.train, method="maximal").decode()
            print(
                f"{n:4d} {rho:4.1f} {7:4d}  {post.status:9s} {post.seconds['run']:6.1f} "
                f"{found['r_hat_max']:7.3f} {found['ess_min']:5.0f} {found['chain_mae_max']:9.4f} "
                f"{f1:8.3f} {po.evaluate.closure_scores(simple, sim.order).f1:8.3f}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--converge", action="store_true")
    converge() if parser.parse_args().converge else rates()
