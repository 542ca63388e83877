"""Progress on the terminal: a bar, a few words, the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[float, str], None]
"""Called with the share that is done, 0 to 1, and a few words."""


def silent(share: float, words: str) -> None:
    """Report nothing."""


@contextmanager
def progress_bar(title: str, *, shown: bool) -> Iterator[Report]:
    """Give a `Report` that draws on standard error; one that does nothing unless ``shown``."""
    if not shown:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    screen = Console(stderr=True)
    if not screen.is_terminal:  # a file would get an empty line, and no bar
        yield silent
        return
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda share, words: bar.update(
            task, completed=share, description=f"{title}: {words}"
        )
