"""The runner: every job once, whatever dies on the way."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.suite.studies import slow_jobs, tiny

from posetta import InputError, SettingError, fit, simulate
from posetta.posterior import predictive
from posetta.suite import run_study, score_in_shards
from posetta.suite import runner as runner_module
from posetta.suite.executors import Crew, open_crew
from posetta.suite.expand import jobs_of
from posetta.suite.pinning import cores_here
from posetta.suite.progress import LiveWatcher, Progress, Watcher, duration
from posetta.suite.store import Store
from posetta.suite.table import tidy_rows
from posetta.suite.work import Outcome


class Counting(Watcher):
    """Counts the jobs that ended; does something once, after the first."""

    def __init__(self, after_first: Any = None) -> None:
        self.ended: Counter[str] = Counter()
        self.after_first = after_first

    def finished(self, progress: Progress, record: Any) -> None:  # noqa: ARG002
        self.ended[record["hash"]] += 1
        if self.after_first is not None:
            self.after_first()
            self.after_first = None


def stamps(folder: Path) -> dict[str, int]:
    """When each finished job was written; a folder that is still being written has a dot."""
    return {p.parent.name: p.stat().st_mtime_ns for p in folder.glob("jobs/[!.]*/job.json")}


def test_a_study_runs_and_is_not_run_again(tmp_path: Path):
    study = tiny(reference="maximal", second_reference="majority")
    ended = run_study(study, tmp_path / "out")
    assert (ended.n_jobs, ended.n_ran, ended.n_failed, ended.n_left) == (4, 4, 0, 0)
    before = stamps(tmp_path / "out")
    assert len(before) == 4
    again = run_study(study, tmp_path / "out")
    assert (again.n_ran, again.n_failed) == (0, 0)
    assert stamps(tmp_path / "out") == before
    rows = tidy_rows(Store(tmp_path / "out"))
    assert [row["mae_reference"] == 0.0 for row in rows] == [True, False] * 2
    assert [row["mae_second"] == 0.0 for row in rows] == [False, True] * 2
    assert rows[0]["mae_second"] == rows[1]["mae_reference"]
    assert all(row["alone"] and row["cores"] >= 1 for row in rows)


def test_a_job_folder_holds_all_that_made_it(tmp_path: Path):
    run_study(tiny(keep="draws", methods={"maximal": {"eps": 0.1}}), tmp_path)
    folder = sorted((tmp_path / "jobs").iterdir())[0]
    assert {p.name for p in folder.iterdir()} == {
        "job.json", "result.json", "posterior.nc", "train.jsonl", "test.jsonl", "order.json",
    }  # fmt: skip
    record = json.loads((folder / "job.json").read_text())
    assert record["settings"] == {"eps": 0.1}
    assert record["model"]["dim"] == 4
    assert record["data"]["ip_cov"] == 1.0
    assert record["row"]["seconds"] >= 0.0
    assert record["row"]["peak_mb"] is None or record["row"]["peak_mb"] > 1.0


def test_a_failed_job_stops_nobody_and_can_be_tried_again(tmp_path: Path):
    study = tiny(methods={"nosuch": {"anything": 1}, "maximal": {}})
    ended = run_study(study, tmp_path)
    assert (ended.n_ran, ended.n_failed) == (4, 2)
    rows = tidy_rows(Store(tmp_path))
    assert [row["outcome"] for row in rows] == ["failed", "done"] * 2
    assert "'nosuch' is unknown" in rows[0]["error"]
    assert run_study(study, tmp_path).n_ran == 0
    assert run_study(study, tmp_path, retry=True).n_ran == 2


def test_other_code_runs_again_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run_study(tiny(), tmp_path)
    monkeypatch.setattr(runner_module, "code_version", lambda: "0" * 8)
    assert run_study(tiny(), tmp_path, any_code=True).n_ran == 0
    ended = run_study(tiny(), tmp_path)
    assert ended.n_ran == 4
    # The work was done by the code there is, not by the one that was asked for.
    assert ended.n_failed == 4
    assert "runs other code" in tidy_rows(Store(tmp_path))[0]["error"]


def test_part_of_a_study(tmp_path: Path):
    ended = run_study(tiny(), tmp_path, where={"method": "maximal", "n": "6"})
    assert (ended.n_ran, ended.n_left) == (1, 3)
    assert run_study(tiny(), tmp_path, where={"n": [4, 5]}).n_ran == 2  # numbers as well as text
    assert run_study(tiny(), tmp_path, where={"n": 6}).n_ran == 1
    assert run_study(tiny(), tmp_path).n_ran == 0
    with pytest.raises(SettingError, match="no job has these values"):
        run_study(tiny(), tmp_path, where={"method": "nuts"})


def test_a_folder_is_for_one_study(tmp_path: Path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="something else"):
        run_study(tiny(), tmp_path / "full")
    run_study(tiny(), tmp_path / "out")
    with pytest.raises(InputError, match="holds study 'tiny'"):
        run_study(tiny(study="other"), tmp_path / "out")
    with pytest.raises(InputError, match="holds no study"):
        tidy_rows(Store(tmp_path / "nowhere"))


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path):
    out = tmp_path / "out"
    spec = tmp_path / "slow.toml"
    spec.write_text(
        'study = "tiny"\ntitle = "A tiny study"\nkind = "simulated"\n'
        "axes = {n = [40], seed = [0, 1, 2, 3, 4, 5]}\n[methods.maximal]\n"
    )
    command = [sys.executable, "-m", "posetta", "suite", "run", str(spec), "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        while not stamps(out) and process.poll() is None:
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
    before = stamps(out)
    assert 1 <= len(before) < 6, errors
    from posetta.suite import read_study

    ended = run_study(read_study(spec), out)
    assert ended.n_ran == 6 - len(before)
    after = stamps(out)
    assert len(after) == 6
    assert before.items() <= after.items()


def test_ctrl_c_records_nothing_of_the_job_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real = runner_module.run_job

    def interrupted(spec: Any, *arguments: Any) -> Outcome:
        if spec["method"] == "majority":
            try:  # a sampler answers Ctrl-C with what it has
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
            except KeyboardInterrupt:
                pass
        return real(spec, *arguments)

    monkeypatch.setattr(runner_module, "run_job", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_study(tiny(), tmp_path)
    assert [record["columns"]["method"] for record in Store(tmp_path).records()] == ["maximal"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Fragile:
    """A pool that breaks whenever a certain job is in it."""

    def __init__(self, killer: str) -> None:
        self.killer = killer
        self.broken = False

    def submit(self, work: Any, spec: Any, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.broken:
            raise BrokenExecutor
        if spec["method"] == self.killer:
            self.broken = True
            future.set_exception(BrokenExecutor())
        else:
            future.set_result(work(spec, *arguments))
        return future


class FragileCrew(Crew):
    def renew(self) -> None:
        self._executor.broken = False


def test_the_job_that_kills_workers_is_found_and_only_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    crew = FragileCrew(Fragile("majority"), size=3)
    monkeypatch.setattr("posetta.suite.executors._crew", lambda *_: crew)
    watcher = Counting()
    ended = run_study(tiny(), tmp_path, watcher=watcher)
    assert ended.n_failed == 2
    assert set(watcher.ended.values()) == {1}
    rows = tidy_rows(Store(tmp_path))
    assert {(row["method"], row["outcome"]) for row in rows} == {
        ("maximal", "done"), ("majority", "failed"),
    }  # fmt: skip
    assert "the worker died twice" in next(r["error"] for r in rows if r["error"])


def test_a_job_that_kills_its_worker_late_is_found_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The driver looks several times before the pool breaks, and starts nothing beside it."""

    class Slow:
        def __init__(self) -> None:
            self.running: list[tuple[Future[Any], Any, Any]] = []
            self.killers_company: set[int] = set()
            self.looks = self.broke = 0

        def submit(self, work: Any, *arguments: Any) -> Future[Any]:
            self.running.append((Future(), work, arguments))
            return self.running[-1][0]

        def look(self) -> None:
            self.looks += 1
            if self.looks % 4:
                return
            running, self.running = self.running, []
            deadly = any(spec["method"] == "majority" for _, _, (spec, *_) in running)
            self.broke += deadly
            if self.broke > 1 and deadly:
                self.killers_company.add(len(running))
            for future, work, arguments in running:
                if deadly:
                    future.set_exception(BrokenExecutor())
                else:
                    future.set_result(work(*arguments))

    pool = Slow()
    monkeypatch.setattr("posetta.suite.executors._crew", lambda *_: FragileCrew(pool, size=2))
    monkeypatch.setattr(runner_module, "_LOOK_SECONDS", 0.001)

    class Looking(Counting):
        def waiting(self, progress: Progress) -> None:  # noqa: ARG002
            assert pool.looks < 200, "the job that kills workers is tried again and again"
            pool.look()

    watcher = Looking()
    ended = run_study(tiny(), tmp_path, watcher=watcher)
    assert (ended.n_ran, ended.n_failed) == (4, 2)
    assert set(watcher.ended.values()) == {1}
    assert pool.killers_company == {1, 2}  # alone on trial; the second job's first time is beside


def test_an_executor_that_broke_is_not_ours_to_mend(tmp_path: Path):
    """One death there must not look like the failure of every job that is left."""
    with pytest.raises(BrokenExecutor, match="finished jobs are kept"):
        run_study(tiny(), tmp_path, executor=Fragile("majority"))
    assert [record["outcome"] for record in Store(tmp_path).records()] == ["done"]


def test_a_model_of_one_dimension_can_be_fitted(tmp_path: Path):
    study = tiny(
        data={"dim": 1},
        axes={"n": [3], "seed": [7]},
        model={"dim": 1},
        methods={"hard": {"draws": 10, "warmup": 10, "chains": 1}},
    )
    assert run_study(study, tmp_path).n_failed == 0


def test_a_reference_is_that_of_the_same_model(tmp_path: Path):
    study = tiny(
        axes={"n": [4], "seed": [7], "model": {"tau": [0.1, 1.0]}},
        model={"dim": 2},
        methods={
            "fullrank": {"draws": 50, "iterations": 30, "cooling": 0, "restarts": 1},
            "maximal": {},
        },
        reference="fullrank",
        second_reference="maximal",
    )
    run_study(study, tmp_path)
    rows = tidy_rows(Store(tmp_path))
    assert [(row["method"], row.get("tau")) for row in rows] == [
        ("fullrank", 0.1), ("maximal", None), ("fullrank", 1.0),
    ]  # fmt: skip
    assert rows[0]["mae_reference"] == rows[2]["mae_reference"] == 0.0
    assert rows[0]["mae_second"] > 0.0 < rows[2]["mae_second"]
    assert "mae_reference" not in rows[1]  # of which tau?


def test_processes_give_the_same_rows_and_survive_a_kill(tmp_path: Path):
    study = slow_jobs(6)
    run_study(study, tmp_path / "serial", where={"seed": "3"})

    def kill_one() -> None:
        os.kill(multiprocessing.active_children()[0].pid or 0, signal.SIGKILL)

    watcher = Counting(after_first=kill_one)
    ended = run_study(study, tmp_path / "local", executor="local:2", watcher=watcher)
    assert (ended.n_ran, ended.n_failed) == (6, 0)
    assert watcher.ended == Counter(job.hash for job in jobs_of(study))
    (serial,) = tidy_rows(Store(tmp_path / "serial"))
    local = tidy_rows(Store(tmp_path / "local"))[3]
    timings = {
        "seconds",
        "held_mb",
        "cpu_seconds",
        "compile_seconds",
        "wall_seconds",
        "peak_mb",
        "cores",
        "alone",
    }
    assert {k: v for k, v in local.items() if k not in timings} == {
        k: v for k, v in serial.items() if k not in timings
    }
    assert local["alone"] is False
    assert local["cores"] == max(1, len(cores_here()) // 2)


def test_a_dask_cluster_survives_the_death_of_a_worker(tmp_path: Path):
    distributed = pytest.importorskip("distributed")
    study = slow_jobs(8)

    def kill_one() -> None:
        pids = distributed.default_client().run(os.getpid)
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    watcher = Counting(after_first=kill_one)
    with open_crew("dask-local:2"):
        address = f"dask:{distributed.default_client().scheduler.address}"
        ended = run_study(study, tmp_path, executor=address, watcher=watcher)
        sim = simulate(5, seed=3, n_test=50)
        posterior = fit(sim.train, "maximal")
        scored = score_in_shards(posterior, sim.test, executor=address, shards=3)
    assert (ended.n_ran, ended.n_failed) == (8, 0)
    assert watcher.ended == Counter(job.hash for job in jobs_of(study))
    assert len(stamps(tmp_path)) == 8
    np.testing.assert_array_equal(scored.trace, predictive(posterior, sim.test).trace)


def test_a_timing_study_runs_one_job_at_a_time(tmp_path: Path):
    class Wide(Crew):
        most = 0

        def submit(self, work: Any, *arguments: Any) -> Future[Any]:
            future = super().submit(work, *arguments)
            Wide.most = max(Wide.most, len(self._executor.waiting))
            return future

    class Lazy:
        """Works only when asked for the result."""

        def __init__(self) -> None:
            self.waiting: list[Any] = []

        def submit(self, work: Any, *arguments: Any) -> Future[Any]:
            self.waiting.append((Future(), work, arguments))
            return self.waiting[-1][0]

        def work(self) -> None:
            for future, work, arguments in self.waiting:
                future.set_result(work(*arguments))
            self.waiting.clear()

    lazy = Lazy()

    class Working(Watcher):
        def waiting(self, progress: Progress) -> None:  # noqa: ARG002
            lazy.work()

    for side_by_side, most in ((False, 1), (True, 4)):
        crew, Wide.most = Wide(lazy, size=4), 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("posetta.suite.executors._crew", lambda *_, crew=crew: crew)
            patch.setattr(runner_module, "_LOOK_SECONDS", 0.01)
            out = tmp_path / str(side_by_side)
            run_study(tiny(timing=True), out, side_by_side=side_by_side, watcher=Working())
        assert Wide.most == most
        assert {row["alone"] for row in tidy_rows(Store(out))} == {not side_by_side}


def test_a_worker_sets_its_threads_before_numpy_is_there():
    # The start of a worker is all that is unpickled before; it must not bring numpy along.
    probe = (
        "import pickle, sys\n"
        "from posetta.suite.executors import _start_worker\n"
        "pickle.loads(pickle.dumps(_start_worker))\n"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", ["lokal:2", "local:0", "dask-local:0", "local:x", 7])
def test_unknown_executors_are_refused(name: Any):
    with pytest.raises(SettingError), open_crew(name):
        pass
    with pytest.raises(SettingError, match="threads=0"), open_crew("serial", 0):
        pass


@pytest.mark.parametrize("executor", ["dask:tcp://127.0.0.1:1", ThreadPoolExecutor(1)])
def test_workers_that_others_started_take_no_threads(executor: Any):
    with pytest.raises(SettingError, match="threads=2 is for workers that are started here"):
        open_crew(executor, 2).__enter__()


def test_the_time_left_is_that_of_the_same_method_and_size():
    jobs = jobs_of(tiny(axes={"n": [4, 6], "seed": [1, 2]}))
    progress = Progress(n_jobs=len(jobs), n_before=0)
    progress.expect(jobs, 2)
    assert duration(progress.seconds_left) == "some time"
    for job, seconds in zip(jobs[:2], (1.0, 5.0), strict=True):
        progress.add(
            {"hash": job.hash, "columns": job.columns, "outcome": "done", "wall_seconds": seconds}
        )
    # Three of each method are left, two at a time.
    assert progress.seconds_left == (3 * 1.0 + 3 * 5.0) / 2
    assert [duration(s) for s in (5.0, 600.0, 9000.0)] == ["5 s", "10 min", "2.5 h"]


def test_the_live_table_shows_rows_and_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run_study(tiny(methods={"maximal": {}, "nosuch": {}}), tmp_path, watcher=LiveWatcher())
    shown = capsys.readouterr().err
    assert "4 of 4 jobs, 2 failed" in shown
    assert "maximal" in shown
