"""Folders are written whole or not at all, and nothing of another kind is replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from posetta.cli import main
from posetta.errors import InputError
from posetta.posterior.folder import RESULT_FILES, SIMULATION_FILES, check_free, staged_folder


def write(folder, text, *, overwrite=True):
    with staged_folder(folder, ours=RESULT_FILES, overwrite=overwrite) as staging:
        (staging / "result.json").write_text(text)


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("ours", "name"),
    [(RESULT_FILES, name) for name in sorted(SIMULATION_FILES)]
    + [(SIMULATION_FILES, name) for name in sorted(RESULT_FILES)],
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_another_kind_of_folder_is_never_replaced(tmp_path, ours, name, overwrite):
    (tmp_path / name).write_text("kept")
    (tmp_path / min(ours)).write_text("kept")
    with pytest.raises(InputError, match=f'holds "{name}", which is never replaced'):
        check_free(tmp_path, ours=ours, overwrite=overwrite)
    with (
        pytest.raises(InputError, match="Choose another folder"),
        staged_folder(tmp_path, ours=ours, overwrite=overwrite),
    ):
        pytest.fail("nothing may be written")
    assert listing(tmp_path) == sorted([name, min(ours)])


def test_a_fit_does_not_take_the_place_of_its_simulation(tmp_path, capsys):
    sim = tmp_path / "sim"
    simulate = ["simulate", "--items", "5", "--out", str(sim)]
    assert main(simulate) == 0
    fit = ["fit", str(sim / "train.jsonl"), "--method", "maximal", "--force"]
    assert main([*fit, "--out", str(sim)]) == 2
    assert "never replaced" in capsys.readouterr().err
    assert listing(sim) == sorted(SIMULATION_FILES)
    assert main([*simulate, "--force"]) == 0
    result = tmp_path / "result"
    assert main([*fit, "--out", str(result)]) == 0
    assert main([*simulate[:-1], str(result), "--force"]) == 2
    assert (result / "result.json").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError, OSError])
@pytest.mark.parametrize("broken_move", [1, 2])
def test_an_interrupted_overwrite_keeps_the_old_result(tmp_path, monkeypatch, error, broken_move):
    out = tmp_path / "out"
    write(out, "old")
    moves = 0
    replace = Path.replace

    def fragile(self, target):
        nonlocal moves
        moves += 1
        if moves == broken_move:
            raise error
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fragile)
    with pytest.raises(InputError if error is OSError else error):
        write(out, "new")
    assert (out / "result.json").read_text() == "old"
    assert listing(tmp_path) == ["out"]


def test_the_old_result_is_there_until_the_new_one_is(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write(out, "old")
    found = []
    replace = Path.replace

    def watched(self, target):
        found.append(sorted(path.read_text() for path in tmp_path.glob("**/result.json")))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    write(out, "new")
    assert found == [["new", "old"]] * 2
    assert (out / "result.json").read_text() == "new"
    assert listing(tmp_path) == ["out"]


def test_an_interrupt_while_writing_leaves_nothing(tmp_path):
    with (
        pytest.raises(KeyboardInterrupt),
        staged_folder(tmp_path / "out", ours=RESULT_FILES, overwrite=False),
    ):
        raise KeyboardInterrupt
    assert listing(tmp_path) == []


def test_what_appeared_during_the_work_is_not_replaced(tmp_path):
    out = tmp_path / "out"
    with (
        pytest.raises(InputError, match="earlier results"),
        staged_folder(out, ours=RESULT_FILES, overwrite=False),
    ):
        write(out, "early")
    assert (out / "result.json").read_text() == "early"
    assert listing(tmp_path) == ["out"]


@pytest.mark.parametrize("exists", [False, True])
def test_a_link_goes_on_to_lead_to_the_result(tmp_path, exists):
    real, link = tmp_path / "disk" / "real", tmp_path / "link"
    real.parent.mkdir()
    if exists:
        write(real, "old")
    link.symlink_to(real)
    write(link, "new")
    assert link.is_symlink()
    assert (real / "result.json").read_text() == "new"
    assert listing(tmp_path) == ["disk", "link"]
    assert listing(real.parent) == ["real"]


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
@pytest.mark.parametrize("mask", [0o002, 0o022, 0o077])
def test_the_new_folder_follows_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        write(tmp_path / "out", "new")
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o777 & ~mask


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system without folders")
def test_a_place_that_takes_no_folder_is_refused_before_the_work():
    with pytest.raises(InputError, match=r"cannot be written: .*\(/proc\)"):
        check_free("/proc/result", ours=RESULT_FILES, overwrite=False)
