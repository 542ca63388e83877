"""What do we believe? The model, its two likelihoods, the relaxed target and the simulator."""

from posetta.model.hard import (
    hard_log_likelihood,
    hard_step_log_probabilities,
    hard_trace_log_likelihood,
)
from posetta.model.latent import correlate, product_order
from posetta.model.model import Model
from posetta.model.plackett_luce import (
    plackett_luce_log_likelihood,
    plackett_luce_pairs,
    plackett_luce_step_log_probabilities,
    plackett_luce_trace_log_likelihood,
)
from posetta.model.relaxed import (
    relaxed_log_likelihood,
    relaxed_log_likelihood_and_grad,
    relaxed_step_log_probabilities,
    relaxed_trace_log_likelihood,
    soft_margins,
    soft_precedence,
)
from posetta.model.target import Parameters, Target

__all__ = [
    "Model",
    "Parameters",
    "Target",
    "correlate",
    "hard_log_likelihood",
    "hard_step_log_probabilities",
    "hard_trace_log_likelihood",
    "plackett_luce_log_likelihood",
    "plackett_luce_pairs",
    "plackett_luce_step_log_probabilities",
    "plackett_luce_trace_log_likelihood",
    "product_order",
    "relaxed_log_likelihood",
    "relaxed_log_likelihood_and_grad",
    "relaxed_step_log_probabilities",
    "relaxed_trace_log_likelihood",
    "soft_margins",
    "soft_precedence",
]
