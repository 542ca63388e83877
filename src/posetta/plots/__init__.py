"""Data in, figure out: Hasse diagrams, matrices, draws and studies, in one look.

Every function returns a matplotlib `Figure`; `save_figure` writes it as PNG, SVG or PDF. Nothing
here fits anything, and matplotlib is loaded with the first figure.
"""

from __future__ import annotations

from posetta.plots.calibration import reliability
from posetta.plots.draws import chain_traces, convergence, elbo_traces, scalar_densities
from posetta.plots.files import save_figure
from posetta.plots.hasse import hasse, hasse_panels, write_hasse_svg
from posetta.plots.matrices import agreement, precedence_maps
from posetta.plots.steps import Step, step_bars
from posetta.plots.studies import ablation, regimes, scaling

__all__ = [
    "Step",
    "ablation",
    "agreement",
    "chain_traces",
    "convergence",
    "elbo_traces",
    "hasse",
    "hasse_panels",
    "precedence_maps",
    "regimes",
    "reliability",
    "save_figure",
    "scalar_densities",
    "scaling",
    "step_bars",
    "write_hasse_svg",
]
