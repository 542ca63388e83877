"""Chains side by side: a thread for each, a loop that watches them, and one way to end them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event

_LOOK_SECONDS = 0.2


def run_side_by_side(chains: Sequence[Callable[[Event], None]], look: Callable[[], None]) -> bool:
    """Run every one of ``chains`` in a thread of its own; return whether Ctrl-C ended them.

    A chain is called with an event that says when to stop: after Ctrl-C, or when another one has
    failed, which is raised when all have stopped. ``look`` is called some times a second. There is
    a thread for every chain, also with fewer cores: stopped early, all have come equally far.
    """
    stop = Event()
    interrupted = False
    with ThreadPoolExecutor(len(chains)) as pool:
        futures = [pool.submit(chain, stop) for chain in chains]
        try:
            pending = set(futures)
            while pending:
                done, pending = wait(pending, timeout=_LOOK_SECONDS, return_when=FIRST_EXCEPTION)
                if any(future.exception() for future in done):
                    break
                look()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            stop.set()
        for future in futures:
            future.result()
    return interrupted
