"""Draw the pictures of the documentation into docs/pictures with Posetta's own code.

Run from the project's root: ``python tools/make_pictures.py``. The pictures of public data need the
folder that holds them in $POSETTA_DATA; without it they stay as they are.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import posetta as po
from posetta.plots import Step, hasse, hasse_panels, save_figure, step_bars

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"

# The diamond: 1 before 2 and 3, both before 4; 2 and 3 are free. Rows are items, columns are d = 2.
ITEMS = ["1", "2", "3", "4"]
LATENT = np.array([[1.2, 1.2], [0.4, -0.2], [-0.2, 0.4], [-1.2, -1.2]])
BETA, GAMMA, TAU = 1.0, 2.0, 0.3
TRACE = ["1", "2", "3", "4"]


def diamond_steps() -> list[Step]:
    """Return the probabilities of all candidates at every step of the trace 1, 2, 3, 4."""
    closure = po.model.product_order(LATENT)
    steps = []
    for t in range(3):  # at the last step one item is left
        placed, remaining = TRACE[:t], TRACE[t:]
        hard, relaxed = [], []
        for candidate in remaining:
            listed = [*placed, candidate]
            traces = po.Traces.from_lists([listed], items=ITEMS, choice_sets=[ITEMS])
            hard.append(po.model.hard_step_log_probabilities(closure, BETA, traces)[-1])
            relaxed.append(
                po.model.relaxed_step_log_probabilities(LATENT, BETA, GAMMA, TAU, traces)[-1]
            )
        steps.append(Step(placed, remaining, np.exp(hard).tolist(), np.exp(relaxed).tolist()))
    return steps


def draw_model() -> None:
    """Draw the diamond and its steps."""
    diamond = po.Poset.from_latent(LATENT, ITEMS)
    save_figure(hasse(diamond, direction="down"), PICTURES / "diamond.svg")
    save_figure(step_bars(diamond_steps()), PICTURES / "diamond-steps.svg")


def draw_demo() -> None:
    """Draw what `posetta demo` finds, and how it differs from the truth."""
    traces = po.demo_traces()
    post = po.fit(traces, method="hard", seed=1)
    save_figure(hasse(post), PICTURES / "demo.svg")
    results = {"hard": post, "majority": po.fit(traces, method="majority")}
    save_figure(hasse_panels(results, truth=po.demo_order()), PICTURES / "demo-truth.svg")


def draw_public_data(folder: Path) -> None:
    """Draw the two large examples: 47 actors of witness lists, 103 tasks of a workflow."""
    bishops = po.read_traces(folder / "royal_acta" / "bishops.traces.jsonl")
    settings = po.HardMCMC(warmup=2000, thin=10, chains=2)
    post = po.fit(bishops, method=settings, model=po.Model(dim=3, beta=0.0), seed=1)
    save_figure(hasse(post), PICTURES / "bishops.svg")
    order = po.read_order(folder / "wfcommons" / "montage-chameleon-2mass-01d-001.order.json")
    save_figure(hasse(order), PICTURES / "workflow.svg")


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    draw_model()
    draw_demo()
    if "POSETTA_DATA" in os.environ:
        draw_public_data(Path(os.environ["POSETTA_DATA"]))
