"""Pictures on disk: PNG for screens, SVG and PDF with text that stays text."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posetta.atomic import atomic_bytes
from posetta.errors import choice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
_DOTS_PER_INCH = 150


def save_figure(figure: Figure, path: str | os.PathLike[str], *, dpi: int = _DOTS_PER_INCH) -> Path:
    """Write a figure as PNG, SVG or PDF, by the ending of ``path``; whole or not at all.

    SVG and PDF keep text as text, so it can be searched and copied. Nothing in the file depends on
    the time of writing: the same figure gives the same bytes.
    """
    import matplotlib

    target = Path(path)
    kind = choice(target.suffix.lower().removeprefix("."), FORMATS, "the ending of the picture")
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    # fonttype 42 embeds the font itself, where 3 would embed drawings of its letters.
    how: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "posetta", "pdf.fonttype": 42}
    with (
        matplotlib.rc_context(how),
        warnings.catch_warnings(),
        atomic_bytes(target) as file,
    ):
        # A label may hold letters that the font lacks; in SVG the viewer's fonts show them.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        figure.savefig(file, format=kind, dpi=dpi, metadata=metadata[kind])
    return target
