"""Event tables and XES logs: columns, times, order."""

from __future__ import annotations

import gzip
import io
from datetime import UTC, datetime, timedelta

import pytest

from posetta.data import read_traces
from posetta.data.times import Clock
from posetta.errors import InputError, SettingError


def read(text: str, name: str = "log.csv", **settings):
    stream = io.StringIO(text)
    stream.name = name
    return read_traces(stream, **settings)


def xes(*traces: str) -> str:
    return '<?xml version="1.0"?>\n<log>\n' + "\n".join(traces) + "\n</log>\n"


def trace(name: str, *events: tuple[str, str]) -> str:
    """One trace of (activity, timestamp) pairs; an empty timestamp is left out."""
    lines = [f'<trace><string key="concept:name" value="{name}"/>']
    for activity, time in events:
        stamp = f'<date key="time:timestamp" value="{time}"/>' if time else ""
        lines.append(f'<event><string key="concept:name" value="{activity}"/>{stamp}</event>')
    return "\n".join([*lines, "</trace>"])


@pytest.mark.parametrize(
    "header",
    [
        "case:concept:name,concept:name,time:timestamp",
        "case_id,activity,timestamp",
        "Case ID,Activity,Timestamp",
        "CASE,ITEM,TIME",
        "trace_id,Event Name,date",
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("named", [True, False])
def test_usual_names_in_any_case_with_any_separator(header, separator, named):
    rows = f"{header}\n1,a,2024-01-01\n2,b,2024-01-01\n1,b,2024-01-02\n".replace(",", separator)
    name = ("log.tsv" if separator == "\t" else "log.csv") if named else "log"
    traces = read(rows, name)
    assert list(traces) == [["a", "b"], ["b"]]
    assert traces.ids == ("1", "2")
    assert traces.source == ((name, 2), (name, 3))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_surrounding_spaces_are_removed_and_counted(separator):
    rows = 'case,item\n1 ,pay\n1,ship \n2,"\u00a0pay"\n2, ship\n'.replace(",", separator)
    traces = read(rows, "log.tsv" if separator == "\t" else "log.csv")
    assert traces.items == ("pay", "ship")
    assert traces.ids == ("1", "2")
    assert traces.n_unique == 1
    assert "3 cell(s) had surrounding spaces removed" in traces.report.lines()
    plain = read("case,item\n1,pay by card\n")
    assert not any("spaces" in line for line in plain.report.lines())


def test_standard_names_win_over_the_others():
    traces = read("case,case:concept:name,concept:name,event\nx,1,a,q\nx,2,b,q\n")
    assert traces.ids == ("1", "2")
    assert traces.report.notes['column(s) not used ("case", "event")'] == 2


def test_two_candidates_are_not_guessed_between():
    with pytest.raises(InputError, match=r'line 1: several columns could be the item .+task"'):
        read("case,activity,task\n1,a,b\n")
    assert list(read("case,activity,task\n1,a,b\n", item="task")) == [["b"]]


def test_cases_are_sorted_by_time_and_counted():
    traces = read("case,item,time\n1,b,2\n2,a,1\n1,a,1\n2,b,2\n1,c,3\n")
    assert list(traces) == [["a", "b", "c"], ["a", "b"]]
    assert traces.report.lines()[0].startswith("1 case(s) sorted by time")


@pytest.mark.parametrize("unit", ["1", "0.5", "-0.25"])
def test_only_cases_that_were_out_of_order_are_counted(unit):
    early, late = sorted([float(unit), float(unit) + 0.25])
    ordered = read(f"case,item,time\n1,a,{early}\n2,a,{early}\n1,b,{late}\n")
    assert not any("sorted by time" in note for note in ordered.report.notes)
    turned = read(f"case,item,time\n1,b,{late}\n2,a,{early}\n1,a,{early}\n")
    assert turned.report.lines()[0].startswith("1 case(s) sorted by time")


def test_the_file_order_counts_without_a_time_column_or_on_request():
    text = "case,item,time\n1,b,2\n1,a,1\n"
    assert list(read(text, time="")) == [["b", "a"]]
    assert list(read("case,item\n1,b\n1,a\n")) == [["b", "a"]]


def test_quoted_fields_may_hold_separators_and_lines():
    with pytest.raises(InputError, match=r"log.csv, line 5: the time \"x\" is neither"):
        read('case,item,time\n1,"a,\nb",1\n\n1,c,x\n')
    traces = read('case,item,time\n1,"a,\nb",1\n\n1,c,2\n')
    assert traces.items == ("a,\nb", "c")


def test_a_repeat_is_reported_on_the_line_of_the_second_event():
    with pytest.raises(
        InputError, match=r'log.csv, line 4: trace "A-7" lists "ship" twice \(positions 1 and 3\)'
    ):
        read("case,item\nA-7,ship\nA-7,pay\nA-7,ship\n")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("1", "2"),
        ("9", "10"),
        ("-1.5", "-1.25"),
        ("-0.5", "0.25"),
        ("1e3", "1001"),
        (str(2**62), str(2**62 + 1)),
        ("0.1234567890123", "0.1234567890124"),
        ("1135-06-01", "1135-06-02"),
        ("2024-01-01T12:00:00Z", "2024-01-01T12:30:00+00:00"),
        ("2024-01-01T12:30:00+01:00", "2024-01-01T12:00:00+00:00"),
        ("2024-01-01 12:00:00", "2024-01-01T12:00:00.001"),
        ("2024-01-01T00:00:00.123456788Z", "2024-01-01T00:00:00.123456789Z"),
        ("2024-01-01T00:00:00.123456Z", "2024-01-01T00:00:00.1234560001Z"),
        ("20240101T000000.123456788", "20240101T000000.123456789"),
        ("9999-12-31T23:59:59", "9999-12-31T23:59:59.000001"),
    ],
)
def test_times_keep_their_order_exactly(earlier, later):
    clock = Clock()
    assert clock.read(earlier) < clock.read(later)
    traces = read(f"case,item,time\n1,b,{later}\n1,a,{earlier}\n")
    assert list(traces) == [["a", "b"]]


def test_an_instant_is_seconds_since_1970():
    moment = datetime(2024, 2, 29, 13, 5, 7, 250_000, tzinfo=UTC)
    assert Clock().read("2024-02-29T15:05:07.25+02:00") == (
        (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1),
        250_000 * 10**12,
    )


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("2024-01-01", "2024-01-01T00:00Z", "with a time zone, but .* without a time zone"),
        ("5", "2024-01-01", "a date without a time zone, but .* a number"),
        ("1", "nan", "is not finite"),
        ("1", "-Infinity", "is not finite"),
        ("1", "", "is missing"),
        ("1", "1_000", "neither an ISO 8601 date nor a number"),
        ("1", "1/2/2024", "neither an ISO 8601 date nor a number"),
        ("1", "1e30", "is beyond"),
        ("1", "9" * 5000, "is beyond"),
    ],
)
def test_times_that_cannot_be_compared(first, second, message):
    with pytest.raises(InputError, match=f"log.csv, line 3: the time .*{message}"):
        read(f"case,item,time\n1,a,{first}\n1,b,{second}\n")


def test_equal_times_are_a_tie_within_a_case_only():
    text = "case,item,time\n1,a,5\n2,a,5\n2,b,5.0\n1,b,6\n"
    with pytest.raises(InputError, match=r'line 4: trace "2" has "a" and "b" tied'):
        read(text)
    kept = read(text, ties="file-order")
    assert len(kept) == 2
    assert kept.report.notes["trace(s) with ties kept in the order of the file"] == 1
    dropped = read(text, ties="drop")
    assert dropped.ids == ("1",)
    assert dropped.report.notes["trace(s) with ties dropped"] == 1


# -- XES -------------------------------------------------------------------------------------------


def test_xes_is_sorted_by_time_like_a_table():
    first = trace("p", ("b", "2024-01-02"), ("a", "2024-01-01"))
    traces = read(xes(first, trace("q", ("a", "2024-01-01"))), "log.xes")
    assert list(traces) == [["a", "b"], ["a"]]
    assert traces.ids == ("p", "q")
    assert traces.records.line.tolist() == [3, 7]
    assert traces.report.lines()[0].startswith("1 case(s) sorted by time")


def test_xes_compressed_and_without_a_name():
    data = gzip.compress(xes(trace("p", ("a", ""), ("b", ""))).encode())
    traces = read_traces(io.BytesIO(data))
    assert traces.report.format == "xes"
    assert list(traces) == [["a", "b"]]


def test_xes_takes_only_direct_attributes():
    nested = (
        '<trace><string key="concept:name" value="p"><string key="concept:name" value="no"/>'
        '</string><event><list key="x"><values><string key="concept:name" value="no"/></values>'
        '</list><string key="concept:name" value="a"/></event></trace>'
    )
    decoy = '<global scope="event"><string key="concept:name" value="no"/></global>'
    traces = read(xes(decoy, nested), "log.xes")
    assert list(traces) == [["a"]]
    assert traces.ids == ("p",)
    assert traces.report.notes['attribute(s) not used ("x")'] == 1


def test_xes_with_a_namespace_prefix_and_other_attributes():
    text = xes(trace("p", ("a", ""), ("b", ""))).replace("<", "<x:").replace("<x:/", "</x:")
    text = text.replace("<x:?xml", "<?xml").replace("<x:log", '<x:log xmlns:x="u"')
    assert list(read(text, "log.xes")) == [["a", "b"]]
    swapped = xes('<trace><event><string key="Activity" value="z"/></event></trace>')
    assert list(read(swapped, "log.xes", item="Activity")) == [["z"]]


def test_xes_times_must_be_complete_unless_left_out():
    text = xes(trace("p", ("b", "2024-01-02"), ("a", "")))
    with pytest.raises(InputError, match=r'log.xes, line 5: the time "time:timestamp" is missing'):
        read(text, "log.xes")
    assert list(read(text, "log.xes", time="")) == [["b", "a"]]


def test_xes_names_that_were_asked_for_must_be_there():
    with pytest.raises(InputError, match=r'log.xes, line 5: a trace has no "run"'):
        read(xes(trace("p", ("a", ""))), "log.xes", case="run")


@pytest.mark.parametrize("name", ["log.csv", "log.xes"])
@pytest.mark.parametrize("setting", ["case", "item"])
def test_an_empty_column_name_is_refused(name, setting):
    with pytest.raises(SettingError, match=f"{setting}='' names nothing"):
        read("x", name, **{setting: ""})


@pytest.mark.parametrize("setting", ["case", "item", "time"])
@pytest.mark.parametrize("name", ["x.txt", "x.json", "x.jsonl", "x.soc"])
def test_columns_cannot_be_set_where_there_are_none(name, setting):
    with pytest.raises(SettingError, match=f"{setting}='q' cannot be honoured"):
        read("[]", name, **{setting: "q"})


def test_numbers_that_look_like_dates_and_blanks_around_dates_are_read() -> None:
    clock = Clock()
    assert clock.read("20240131.12") < clock.read("20240131.75")
    assert Clock().read(" 2024-03-01T09:00:00 ") == Clock().read("2024-03-01T09:00:00")


def test_streams_without_names_cannot_be_told_apart() -> None:
    with pytest.raises(SettingError, match="several streams have no name"):
        read_traces([io.StringIO("a,b\n"), io.StringIO("b,a\n")], format="text")
