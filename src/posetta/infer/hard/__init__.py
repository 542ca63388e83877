"""The parts of Hard-MCMC: state, likelihood engines, moves, starts. `hard_mcmc` runs them."""
