"""Bad use: one clear message, exit code 2, nothing half-written, no traceback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from posetta.cli import main

RUNS = "a,b,c\nb,a,c\na,b,c\n"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result, made once."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "runs.txt").write_text(RUNS)
    out = folder / "good"
    arguments = ["fit", str(folder / "runs.txt"), "--method", "maximal", "--out", str(out)]
    assert main([*arguments, "--quiet"]) == 0
    return out


@pytest.fixture
def room(tmp_path: Path, good: Path) -> Path:
    """A folder with traces, unreadable data and a good result."""
    (tmp_path / "runs.txt").write_text(RUNS)
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    (tmp_path / "broken.jsonl").write_text('{"items": ["a", "b"]\n')
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "runs.txt").write_text(RUNS)
    (tmp_path / "mixed" / "order.json").write_text('{"items": ["a", "b"], "covers": []}')
    shutil.copytree(good, tmp_path / "good")
    return tmp_path


def damaged(room: Path, damage: Callable[[Path], object]) -> None:
    shutil.copytree(room / "good", room / "bad")
    damage(room / "bad")


def _edited(key: str, value: object) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        content = json.loads((folder / "result.json").read_text())
        content[key] = value
        (folder / "result.json").write_text(json.dumps(content))

    return edit


def _halved(name: str) -> Callable[[Path], object]:
    def halve(folder: Path) -> None:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])

    return halve


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no summary": lambda folder: (folder / "result.json").unlink(),
    "no draws": lambda folder: (folder / "posterior.nc").unlink(),
    "summary cut": _halved("result.json"),
    "draws cut": _halved("posterior.nc"),
    "draws empty": lambda folder: (folder / "posterior.nc").write_bytes(b""),
    "draws text": lambda folder: (folder / "posterior.nc").write_text("no draws"),
    "summary a list": lambda folder: (folder / "result.json").write_text("[]"),
    "summary binary": lambda folder: (folder / "result.json").write_bytes(b"\xff\xfe"),
    "newer schema": _edited("schema_version", 99),
    "other items": _edited("items", ["x", "y", "z"]),
    "no threshold": _edited("threshold", None),
    "odd status": _edited("status", "splendid"),
}


@pytest.mark.parametrize("verb", ["show", "evaluate", "export"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_corrupted_result_is_said(
    verb: str, damage: str, room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged(room, DAMAGES[damage])
    more = {"show": [], "evaluate": ["--test", str(room / "runs.txt")], "export": ["--to", "dot"]}
    assert_refused(capsys, [verb, str(room / "bad"), *more[verb]], "bad", room)


def assert_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str, room: Path
) -> None:
    capsys.readouterr()
    before = {path: path.stat().st_mtime_ns for path in room.rglob("*")}
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert shown.err.strip().count("\n") == 0 or "Usage" in shown.err
    assert {path: path.stat().st_mtime_ns for path in room.rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "{room}/missing.csv"], "missing.csv"),
        (["data", "{room}/missing.csv"], "missing.csv"),
        (["fit", "{room}/runs.txt", "--method", "magic"], "'hard', 'nuts', 'fullrank', 'flow'"),
        (["fit", "{room}/binary.csv"], "binary.csv"),
        (["fit", "{room}/broken.jsonl"], "broken.jsonl, line 1"),
        (["fit", "{room}/empty.csv"], "is empty"),
        (["fit", "{room}/runs.txt", "--out", "{room}/good"], "earlier results"),
        (["demo", "--out", "{room}/good"], "earlier results"),
        (["fit", "{room}/runs.txt", "--out", "{room}"], "never replaced"),
        (["fit", "{room}/runs.txt", "--out", "{room}/runs.txt"], "is a file"),
        (["fit", "{room}/runs.txt", "--out", "{room}/runs.txt/x", "--quiet"], "cannot be written"),
        (["fit", "{room}/good"], "result.json: is the summary of a result, not traces"),
        (["data", "{room}/mixed"], "order.json: is an order, not traces"),
        (["show", "{room}/nowhere"], "nowhere"),
        (["show", "{room}/runs.txt"], "runs.txt"),
        (["show", "{room}/good", "--threshold", "7"], "--threshold 7"),
        (["evaluate", "{room}/good"], "--truth"),
        (["evaluate", "{room}/good", "--truth", "{room}/none.json"], "none.json"),
        (["evaluate", "{room}/good", "--test", "{room}/none.txt"], "none.txt"),
        (["export", "{room}/good", "--to", "latex"], "'dot', 'mermaid'"),
        (["export", "{room}/good"], "--to"),
        (["export", "{room}/good", "--to", "dot", "--out", "{room}/no/x"], "cannot be written"),
    ],
)
def test_bad_use_is_said(
    arguments: list[str], message: str, room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(capsys, [word.format(room=room) for word in arguments], message, room)


def test_unknown_items_in_test_data_are_said(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (room / "other.txt").write_text("a,stranger\n")
    arguments = ["evaluate", str(room / "good"), "--test", str(room / "other.txt")]
    assert_refused(capsys, arguments, "stranger", room)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_to_write_is_said(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked = room / "locked"
    locked.mkdir(mode=0o500)
    arguments = ["fit", str(room / "runs.txt"), "--method", "maximal", "--quiet"]
    assert_refused(capsys, [*arguments, "--out", str(locked / "x")], "cannot be written", room)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB, where the tests may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = os.geteuid() == 0 and shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True,
        check=False,
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("a small disk can be mounted by root alone")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_said(
    small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs.txt").write_text(RUNS)
    fit = ["fit", str(tmp_path / "runs.txt"), "--quiet", "--out", str(small_disk / "result")]
    assert main(fit) == 2
    shown = capsys.readouterr()
    assert "cannot be written" in shown.err
    assert "Traceback" not in shown.err
    assert list(small_disk.iterdir()) == []
    (small_disk / "filler").write_bytes(b"x" * (60 << 10))
    assert main(["simulate", "--items", "30", "--out", str(small_disk / "sim")]) == 2
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


def test_an_interrupted_fit_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "runs.txt").write_text(RUNS)
    # Stopped in the warm-up: there is no draw, so there is no result. The checkpoint, which was
    # asked for, appears when the chains start.
    started = tmp_path / "checkpoint"
    command = [sys.executable, "-m", "posetta", "fit", str(tmp_path / "runs.txt"), "--quiet"]
    options = ["--method", "hard", "--warmup", "1000000000", "--checkpoint", str(started)]
    with subprocess.Popen(
        [*command, *options, "--out", str(tmp_path / "result")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        while not started.exists() and running.poll() is None:
            time.sleep(0.2)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 2
    assert "stopped before any draw was kept" in err
    assert "Traceback" not in err
    assert out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "runs.txt"]


def test_an_interrupt_while_reading_is_said(tmp_path: Path) -> None:
    pipe = tmp_path / "never.txt"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [sys.executable, "-m", "posetta", "fit", str(pipe), "--out", str(tmp_path / "result")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        writer = pipe.open("w")  # opens once the program reads
        writer.write("a,b\n")
        writer.flush()
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
        writer.close()
    assert running.returncode == 2
    assert err.strip() == "posetta: interrupted; nothing was written."
    assert [path.name for path in tmp_path.iterdir()] == ["never.txt"]


def test_a_reader_that_goes_away_is_no_crash(room: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "posetta", "show", str(room / "good")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        err = running.stderr.read()
    assert running.returncode == 2
    assert err == ""


def test_output_that_cannot_be_written_is_said_also_if_it_is_small() -> None:
    """Small output waits in a buffer, which must not first be written as Python ends."""
    buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "posetta", "--version"],
            stdout=full, stderr=subprocess.PIPE, text=True, env=buffered, check=False,
        )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr == "posetta: cannot read or write the output: No space left on device.\n"
