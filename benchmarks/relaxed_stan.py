"""The relaxed model in Stan, driven by `relaxed.py` in an environment that has pystan.

Reads a problem as JSON from standard input and answers with JSON. Stan's own log density at the
points that are sent along shows that both sides sample the same model.
"""

from __future__ import annotations

import json
import sys
import time

PROGRAM = """
data {
  int n;
  int dim;
  int n_traces;
  array[n_traces, n] int y;
  real tau;
}
parameters {
  matrix[dim, n] z;
  real<lower=0, upper=1> rho;
  real<lower=0> beta;
  real<lower=0> gamma;
}
model {
  matrix[n, n] D = rep_matrix(0, n, n);
  matrix[n, n] free = rep_matrix(0, n, n);
  {
    matrix[dim, n] u;
    real a = sqrt(1 - rho);
    real c = (sqrt(1 + (dim - 1) * rho) - a) / dim;
    for (i in 1:n) u[ : , i] = a * z[ : , i] + c * sum(z[ : , i]);
    for (i in 1:n) {
      for (j in 1:n) {
        if (i != j) {
          real m = -gamma * tau * log_sum_exp((u[ : , j] - u[ : , i]) / tau);
          D[i, j] = inv_logit(m);
          free[i, j] = log1m_inv_logit(m);
        }
      }
    }
  }
  target += std_normal_lpdf(to_vector(z));
  target += beta_lpdf(rho | 2, 2);
  target += gamma_lpdf(beta | 2, 1);
  target += gamma_lpdf(gamma | 2, 1);
  for (r in 1:n_traces) {
    vector[n] A = rep_vector(0, n);
    vector[n] S = rep_vector(0, n);
    for (back in 1:n) {
      int t = n + 1 - back;
      int x = y[r, t];
      if (t < n) {
        array[n - t] int tail = y[r, (t + 1):n];
        A[(t + 1):n] += free[x, tail]';
        S[(t + 1):n] += D[tail, x];
        A[t] = sum(free[tail, x]);
        S[t] = sum(D[x, tail]);
        vector[n - t + 1] score = A[t:n] + beta * log1p(S[t:n]);
        target += score[1] - log_sum_exp(score);
      }
    }
  }
}
"""


def main() -> None:
    import stan

    problem = json.load(sys.stdin)
    began = time.perf_counter()
    posterior = stan.build(PROGRAM, data=problem["data"], random_seed=1)
    built = time.perf_counter()
    values = [posterior.log_prob(point, adjust_transform=True) for point in problem["points"]]
    started = time.perf_counter()
    fit = posterior.sample(
        num_chains=problem["chains"],
        num_warmup=problem["warmup"],
        num_samples=problem["draws"],
        save_warmup=True,
    )
    seconds = time.perf_counter() - started
    warmup, chains = problem["warmup"], problem["chains"]
    by_chain = {
        # (iteration, chain) flattened with the chain running fastest.
        name: fit[name].reshape(-1, chains).T[:, warmup:].tolist()
        for name in ("rho", "beta", "gamma", "lp__")
    }
    gradients = fit["n_leapfrog__"].sum()
    json.dump(
        {
            "build": built - began,
            "log_density": values,
            "seconds": seconds,
            "gradients": float(gradients),
            "draws": by_chain,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
