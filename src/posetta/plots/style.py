"""One look for every picture: colours, sizes, numbers and labels.

No global state is touched: figures are made with matplotlib's object API, and every artist gets its
look here. matplotlib is imported when the first figure is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEXT_SIZE = 8.0
"""Points, at the figure's own size: labels, ticks and legends."""
SMALL_SIZE = 6.5
TITLE_SIZE = 9.0
INK = "#222222"
FAINT = "#8A8A8A"
GRID = "#E3E3E3"
POINTS_PER_INCH = 72.0
LONGEST_LABEL = 32
PROBABILITY_MAP = "YlGnBu"
"""Paper white to dark blue: darker is surer, in grey and with any colour vision too."""

# Okabe and Ito's palette, which people with any colour vision can tell apart. Red and green never
# stand against each other, and every class has a line style or a marker of its own as well.
RECOVERED, SPURIOUS, MISSED = "#0072B2", "#D55E00", "#9A9A9A"


class MethodLook(NamedTuple):
    """Colour and marker of a method, the same in all pictures."""

    colour: str
    marker: str


METHOD_LOOKS = {
    "hard": MethodLook("#000000", "o"),
    "nuts": MethodLook("#0072B2", "s"),
    "fullrank": MethodLook("#E69F00", "^"),
    "flow": MethodLook("#009E73", "D"),
    "maximal": MethodLook("#D55E00", "v"),
    "majority": MethodLook("#CC79A7", "p"),
    "softdag": MethodLook("#56B4E9", ">"),
    "plackett-luce": MethodLook("#8C6D1F", "<"),
    "exact": MethodLook("#7F7F7F", "*"),
}
_SPARE_LOOKS = (
    MethodLook("#0072B2", "o"),
    MethodLook("#D55E00", "s"),
    MethodLook("#009E73", "^"),
    MethodLook("#CC79A7", "D"),
    MethodLook("#E69F00", "v"),
    MethodLook("#56B4E9", "p"),
    MethodLook("#000000", ">"),
)
_VARIANT_MARKERS = ("P", "X", "h", "d", "8", "*")
METHOD_NAMES = {
    "hard": "Hard-MCMC",
    "nuts": "NUTS",
    "fullrank": "FullRank-VI",
    "flow": "Flow-VI",
    "maximal": "intersection",
    "majority": "majority",
    "softdag": "SoftDAG",
    "plackett-luce": "Plackett-Luce",
    "exact": "exact",
}


def method_looks(names: Iterable[str]) -> dict[str, MethodLook]:
    """Return a look for every name, no two alike while there are enough.

    A method has its own; "hard-noise", a variant of one, its colour with another marker; any other
    name the next spare one, of a colour that no method takes if there is one.
    """
    listed = list(names)
    looks = {name: METHOD_LOOKS[name] for name in listed if name in METHOD_LOOKS}
    for name in listed:
        if name not in looks and (base := _base(name)) is not None:
            colour = METHOD_LOOKS[base].colour
            markers = [m for m in _VARIANT_MARKERS if MethodLook(colour, m) not in looks.values()]
            looks[name] = MethodLook(colour, markers[0] if markers else _VARIANT_MARKERS[0])
    colours = {look.colour for look in looks.values()}
    spare = sorted(_SPARE_LOOKS, key=lambda look: look.colour in colours)
    others = [name for name in listed if name not in looks]
    looks |= {name: spare[k % len(spare)] for k, name in enumerate(others)}
    return {name: looks[name] for name in listed}


def _base(name: str) -> str | None:
    """Return the method that a name such as "hard-noise" is a variant of."""
    return next((base for base in METHOD_LOOKS if name.startswith(f"{base}-")), None)


def method_name(name: str) -> str:
    """Return a method's name as pictures show it; other names stay as they are."""
    return METHOD_NAMES.get(name, shown(name))


def shown(label: str, longest: int = LONGEST_LABEL) -> str:
    """Return a user's label fit for a picture: no control characters, cut in the middle if long."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in label)
    if len(plain) <= longest:
        return plain
    tail = longest // 3
    return f"{plain[: longest - tail - 1]}…{plain[-tail:]}"


def text_width(text: str, size: float = TEXT_SIZE) -> float:
    """Return the width of a line of text in points."""
    import warnings

    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph that the font lacks has the width of its box
        width, _, _ = text_to_path.get_text_width_height_descent(
            text, FontProperties(size=size), ismath=False
        )
    return float(width)


def empty_figure(width: float, height: float) -> Figure:
    """Return a white figure of this size in inches; it lays its axes out when drawn."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def panels(
    n: int, *, width: float, height: float, columns: int | None = None, share_y: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure with ``n`` panels of the given size in inches, in rows of ``columns``."""
    columns = n if columns is None else min(columns, n)
    rows = -(-n // columns)
    figure = empty_figure(width * columns, height * rows)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=share_y)
    axes = list(grid.flat)
    for spare in axes[n:]:
        spare.remove()
    for ax in axes[:n]:
        dress(ax)
    return figure, axes[:n]


def dress(ax: Axes) -> None:
    """Give axes the common look."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(labelsize=TEXT_SIZE, color=FAINT, labelcolor=INK, length=3)
    ax.grid(visible=True, color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)


def title(ax: Axes, text: str) -> None:
    """Set a panel's title, as plain text."""
    ax.set_title(text, fontsize=TITLE_SIZE, color=INK, parse_math=False)


def axis_labels(ax: Axes, x: str = "", y: str = "") -> None:
    """Name the axes, as plain text."""
    ax.set_xlabel(x, fontsize=TEXT_SIZE, color=INK, parse_math=False)
    ax.set_ylabel(y, fontsize=TEXT_SIZE, color=INK, parse_math=False)


def log_scale(ax: Axes, axis: str = "y") -> None:
    """Make an axis logarithmic, with plain numbers on it: 0.1, 1, 10, 1,000."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    (ax.set_yscale if axis == "y" else ax.set_xscale)("log")
    one = ax.yaxis if axis == "y" else ax.xaxis
    low, high = ax.get_ylim() if axis == "y" else ax.get_xlim()
    decades = np.log10(high / low) if low > 0 else 3.0
    one.set_major_locator(LogLocator(subs=(1.0,) if decades > 1.5 else (1.0, 2.0, 5.0)))
    one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    one.set_minor_formatter(NullFormatter())
    ax.tick_params(axis=axis, which="minor", length=0)  # type: ignore[arg-type]


def plain_text(figure: Figure) -> Figure:
    """Make sure that no text of the figure is read as mathematics: labels are user data."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)
    return figure


def legend(target: Axes | Figure, handles: list[Any], **where: Any) -> None:
    """Add a legend in the common look, as plain text."""
    if not handles:
        return
    made = target.legend(handles=handles, fontsize=TEXT_SIZE, frameon=False, **where)
    for text in made.get_texts():
        text.set_parse_math(False)
        text.set_color(INK)
