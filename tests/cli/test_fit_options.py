"""`posetta fit`: inputs, hold-out, settings files, and what is printed."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from posetta.cli import main
from posetta.cli.config import parse_assignments, read_config, to_toml
from posetta.cli.words import in_our_words, warning_words
from posetta.data import read_traces
from posetta.data.inputs import find_inputs
from posetta.errors import InputError, SettingError
from posetta.posterior.io import load

RUNS = "a,b,c\nb,a,c\n2: a,b,c\nb,a,c\n"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.txt"
    path.write_text(RUNS)
    return path


def test_folders_and_patterns_are_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("b.txt", "a.txt", ".hidden.txt", "notes.md"):
        (folder / name).write_text("a,b\n")
    (folder / "deeper").mkdir()
    assert find_inputs([str(folder)]) == [str(folder / "a.txt"), str(folder / "b.txt")]
    assert find_inputs([str(folder / "[ab].txt"), "-", "gone.txt"]) == [
        str(folder / "a.txt"), str(folder / "b.txt"), "-", "gone.txt",
    ]  # fmt: skip
    odd = tmp_path / "what[1].txt"  # a file of this name is the file, not a pattern
    odd.write_text("a,b\n")
    assert find_inputs([str(odd)]) == [str(odd)]
    assert main(["data", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_traces"] == 2


def test_the_summary_says_what_is_required_free_and_open(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(runs), "--seed", "1", "--set", "prior_draws=5000"]) == 0
    printed = capsys.readouterr().out
    for text in (
        "5 traces, 2 distinct, 3 items",
        "Strongest prerequisites:",
        'Surely reorderable pairs: 1\n  "a" and "b" can be swapped (probability 1.00; 3 traces',
        "Pairs that the data cannot decide:",
        "Status: ok",
    ):
        assert text in printed


def test_holdout_is_seeded_scored_and_saved(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result"
    quick = ["--set", "prior_draws=5000"]
    fit = ["fit", str(runs), "--holdout", "0.4", "--seed", "3", *quick]
    assert main([*fit, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Held out 2 traces; fitting the other 3." in printed
    assert "-log probability of a trace" in printed
    posterior = load(out)
    test = read_traces(out / "held-out.jsonl", items=posterior.items)
    assert (len(posterior.traces), len(test)) == (3, 2)
    assert sorted([*posterior.traces, *test]) == sorted(read_traces(runs))
    assert main([*fit, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["data"]["hash"] == posterior.traces.hash
    assert main(["evaluate", str(out), "--test", str(out / "held-out.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["test"] == told["test"]


def test_effective_settings_make_the_same_result_again(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    options = ["--beta", "0", "--seed", "5", "--threshold", "0.3", "--set", "prior_draws=2000"]
    assert main(["fit", str(runs), *options, "--out", str(first)]) == 0
    settings = tomllib.loads((first / "settings.toml").read_text())
    assert settings["method"] == "exact"  # what auto chose
    assert settings["inputs"] == [str(runs)]
    assert settings["settings"] == {"prior_draws": 2000}
    assert main(["fit", "--config", str(first / "settings.toml"), "--out", str(second)]) == 0
    told = [json.loads((folder / "result.json").read_text()) for folder in (first, second)]
    for one in told:
        del one["seconds"]
    assert told[0] == told[1]


def test_the_command_line_wins_over_the_file(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('method = "exact"\nseed = 4\nbeta = 0\nmax-seconds = 5\n')
    assert main(["fit", str(runs), "--config", str(config), "--method", "maximal"]) == 2
    assert "--max-seconds" in capsys.readouterr().err  # the file's, which maximal has not
    config.write_text('method = "exact"\nseed = 4\nbeta = 0\n')
    arguments = ["fit", str(runs), "--config", str(config), "--method", "maximal", "--json"]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["method"], told["seed"], told["model"]["beta"]) == ("maximal", 4, 0.0)


def test_a_setting_with_an_option_of_its_own_may_also_be_set(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(runs), "--method", "maximal", "--set", "draws=7"]) == 2
    assert "--draws" in capsys.readouterr().err
    assert main(["fit", str(runs), "--method", "hard", "--set", "draws=0"]) == 2
    assert "--draws 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("methode = 'hard'", "methode is no setting"),
        ("method = ", "not TOML"),
        ("[method]\na = 1", "is a table"),
        ("tau = [1, 2]", "is a list"),
        ("tau = 'warm'", "--tau"),
        ("draws = true", "draws = true: expected a value that is neither true nor false"),
        ("strict = 1", "strict = 1: expected true or false"),
    ],
)
def test_bad_settings_files_are_refused(
    text: str, message: str, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "settings.toml"
    config.write_text(text)
    assert main(["fit", str(runs), "--config", str(config)]) == 2
    assert message in capsys.readouterr().err
    assert main(["fit", str(runs), "--config", str(tmp_path / "none.toml")]) == 2


def test_toml_goes_there_and_back(tmp_path: Path) -> None:
    odd = 'a "quoted" \\ label\n\x7f é'
    path = tmp_path / "settings.toml"
    path.write_text(to_toml({"inputs": [odd], "seed": 3, "tau": None}, {"starts": ("hard",)}))
    given, of_the_method = read_config(str(path), {"inputs": False, "seed": False, "tau": False})
    assert given == {"inputs": [odd], "seed": "3"}
    assert parse_assignments(of_the_method) == {"starts": ("hard",)}
    assert parse_assignments(["share=0.5", "name=plain text"]) == {
        "share": 0.5, "name": "plain text",
    }  # fmt: skip
    with pytest.raises(SettingError, match="--set draws is there twice"):
        parse_assignments(["draws=3", "draws=4"])
    with pytest.raises(SettingError, match="name=value"):
        parse_assignments(["=3"])
    with pytest.raises(InputError, match="cannot be read"):
        read_config(str(tmp_path), {"seed": False})


@pytest.mark.parametrize(
    ("message", "options", "told"),
    [
        ('pass repeats="first" to keep', ["repeats"], "pass --repeats first to keep"),
        ('ties="file-order" or ties="drop".', ["ties"], "--ties file-order or --ties drop."),
        ("format='xml' is unknown.", ["format"], "--format xml is unknown."),
        ('pass time="" to', ["time"], 'pass --time "" to'),
        ("max_seconds=-1 must", ["max-seconds"], "--max-seconds -1 must"),
        ("n_items=0 must", ["items"], "--items 0 must"),
        ("or pass items=... to", ["items"], "or pass --items ITEMS to"),
        ("with --force (overwrite=True).", [], "with --force."),
        ("lifetime=3, a time= b", ["time"], "lifetime=3, a time= b"),
        ("tau=0 must", ["noise"], "tau=0 must"),
        ("rungs='x' must", ["draws"], "--set rungs=x must"),
        ("beta=-1 must lie in [0, inf), or be None to infer.", ["beta"],
         "--beta -1 must lie in [0, inf), or be left out to be inferred."),
        ("noise=2 must lie in [0, 1), or be None to infer.", ["noise"],
         "--noise 2 must lie in [0, 1), or be the word infer."),
        ("Use noise=None, or a larger dim.", ["noise", "dim"],
         "Use --noise infer, or a larger --dim."),
        ("no draw was kept. Raise max_seconds, or lower warmup.", ["max-seconds", "warmup"],
         "no draw was kept. Raise --max-seconds, or lower --warmup."),
        ("Raise draws and rungs. The draws differ.", ["draws"],
         "Raise --draws and --set rungs. The draws differ."),
        ('the item "draws=3" and "Raise draws" too', ["draws"],
         'the item "draws=3" and "Raise draws" too'),
    ],
)  # fmt: skip
def test_messages_speak_the_words_of_the_command_line(
    message: str, options: list[str], told: str
) -> None:
    assert in_our_words(message, options, settings=["rungs"]) == told


def test_warnings_name_the_options_of_their_method() -> None:
    warning = "the chains have not mixed. Raise warmup and thin, or rungs."
    told = "the chains have not mixed. Raise --warmup and --thin, or --set rungs."
    assert warning_words(warning, "hard") == told
    assert warning_words(warning, "a method of another version") == warning


def test_a_repeat_is_reported_with_the_option_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs.txt").write_text("a,b,a\n")
    assert main(["fit", str(tmp_path / "runs.txt")]) == 2
    assert "pass --repeats first to keep the first" in capsys.readouterr().err


def test_quiet_prints_nothing_when_nothing_is_wrong(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(runs), "--method", "maximal", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


def test_the_command_line_wins_setting_by_setting(runs: Path, tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text("method = 'exact'\n[settings]\ndraws = 20\nprior_draws = 3000\n")
    out = tmp_path / "out"
    given = ["--config", str(config), "--set", "prior_draws=4000", "--out", str(out)]
    assert main(["fit", str(runs), *given, "--quiet"]) == 0
    settings = tomllib.loads((out / "settings.toml").read_text())["settings"]
    assert settings == {"draws": 20, "prior_draws": 4000}
    assert load(out).settings["draws"] == 20


@pytest.mark.parametrize("place", ["", "[settings]\n"])
@pytest.mark.parametrize("words", [["--set", "draws=30"], ["--draws", "30"]])
def test_the_command_line_wins_over_the_file_whatever_the_form(
    runs: Path, tmp_path: Path, place: str, words: list[str]
) -> None:
    config, out = tmp_path / "settings.toml", tmp_path / "out"
    config.write_text(f"method = 'exact'\n{place}draws = 20\n")
    given = ["--config", str(config), *words, "--set", "prior_draws=3000", "--out", str(out)]
    assert main(["fit", str(runs), *given, "--quiet"]) == 0
    assert load(out).settings["draws"] == 30
    written = (out / "settings.toml").read_text()
    assert written.count("\ndraws = ") == 1
    assert "\ndraws = 30" in written


def test_a_setting_that_is_given_twice_is_refused(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(runs), "--method", "exact", "--draws", "5", "--set", "draws=10"]) == 2
    assert "draws is given twice, by --draws and by --set" in capsys.readouterr().err


def test_a_path_is_not_read_as_an_option() -> None:
    for path in ("data/noise=0.1/seed=7.jsonl", "noise=0.1/a.csv", "out/dim=4"):
        message = f"{path}: there is no such file."
        assert in_our_words(message, ["noise", "seed", "dim"], []) == message
    assert in_our_words("noise=0.1 is bad", ["noise"], []) == "--noise 0.1 is bad"


def test_a_file_name_that_is_not_utf8_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = os.fsdecode(os.fsencode(str(tmp_path)) + b"/runs\xff.txt")
    Path(path).write_text(RUNS)
    assert main(["fit", path, "--method", "maximal", "--out", str(tmp_path / "out")]) == 2
    assert "runs\\xff.txt: this file name is not UTF-8" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
