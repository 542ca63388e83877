from threading import Event, Lock

import pytest

from posetta.side_by_side import run_side_by_side


def test_every_chain_runs_to_its_end_and_is_looked_at():
    lock, ended, looks = Lock(), [], []

    def chain(_: Event) -> None:
        with lock:
            ended.append(1)

    assert not run_side_by_side([chain] * 5, lambda: looks.append(1))
    assert len(ended) == 5
    assert looks


def test_a_failure_ends_the_others_and_is_raised():
    def fails(_: Event) -> None:
        raise ValueError("chain 1")

    stopped = []

    def waits(stop: Event) -> None:
        stopped.append(stop.wait(30.0))

    with pytest.raises(ValueError, match="chain 1"):
        run_side_by_side([waits, fails], lambda: None)
    assert stopped == [True]


def test_ctrl_c_ends_all_chains_and_is_told():
    stopped = []

    def waits(stop: Event) -> None:
        stopped.append(stop.wait(30.0))

    def look() -> None:
        raise KeyboardInterrupt

    assert run_side_by_side([waits, waits], look)
    assert stopped == [True, True]
