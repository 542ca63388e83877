"""Whatever the bytes are: a `Traces` that keeps its laws, or an error of ours. Nothing else.

And the other way round: whatever the traces are, a file that says them is read back unchanged.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posetta.data import Traces, read_traces
from posetta.data.policies import EMPTY, REPEATS, TIES
from posetta.data.readers import FORMATS
from posetta.errors import InputError, SettingError

NAMES = [f.name for f in FORMATS]
VALID = {
    "xes": '<?xml version="1.0" encoding="UTF-8"?>\n<log xmlns="u">\n<trace>\n<string '
    'key="concept:name" value="p"/>\n<event><string key="concept:name" value="a&amp;"/><date '
    'key="time:timestamp" value="2024-01-01T00:00:00.5+01:00"/></event>\n<event><string '
    'key="concept:name" value="b"/><date key="time:timestamp" value="2024-01-02T00:00:00Z"/>'
    "</event>\n</trace>\n<trace><event><string key='concept:name' value='b'/><date "
    "key='time:timestamp' value='2024-01-01T00:00:00Z'/></event></trace>\n</log>",
    "jsonl": '{"id": "p", "items": ["a", "é"], "count": 2, "choice_set": ["c", "é", "a"], '
    '"x": 1.5}\n["a"]\n\n{"items": ["b", "a"], "y": {"z": [null, true]}}\n',
    "json": '{"traces": [["a", "b"], {"id": 7, "items": ["b"], "count": 3}, ["c"]], "by": "x"}',
    "preflib": "# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 6\n# ALTERNATIVE NAME 1: x\n"
    "# ALTERNATIVE NAME 2: y\n# ALTERNATIVE NAME 3: z\n3: 1,2\n2: {1,3},2\n1: 3\n",
    "csv": 'case,item,time,"who, why"\n1,"a ""b""\n",2024-01-01T00:00:00,x\n2,c,2024-01-02,\n'
    "1,c,2023-12-31,é\n",
    "tsv": "case_id\tactivity\ttime\n1\ta\t1.5\n1\tb\t-2e3\n2\ta\t10\n",
    "text": "# comment\n3: a, b, c\nb, é\n\n1: c\n",
}
OLD_PREFLIB = "3\n1,x\n2,y\n3,z\n6,6,3\n3,1,2\n2,{1,3},2\n1,3\n"
POLICIES = st.fixed_dictionaries(
    {
        "repeats": st.sampled_from(REPEATS),
        "ties": st.sampled_from(TIES),
        "empty": st.sampled_from(EMPTY),
        "choice_set": st.sampled_from(["listed", "all"]),
    }
)
FUZZ = settings(deadline=None, derandomize=True, max_examples=150)


def check(traces: Traces) -> None:
    """Assert what `Traces` promises."""
    assert len(set(traces.items)) == traces.n_items
    assert all(isinstance(label, str) and label.strip() for label in traces.items)
    assert len(traces) == traces.counts.sum() == traces.records.count.sum() > 0
    assert traces.n_unique == len(traces.n_listed) == len(traces.offsets) - 1
    assert len(set(traces.ids)) == len(traces.ids) == len(traces.source)
    seen = set()
    for r in range(traces.n_unique):
        members = traces.choice_set(r).tolist()
        listed = int(traces.n_listed[r])
        assert 1 <= listed <= len(members) == len(set(members))
        assert set(members) <= set(range(traces.n_items))
        assert members[listed:] == sorted(members[listed:])
        seen.add((tuple(members), listed))
    assert len(seen) == traces.n_unique
    per_row = Counter()
    for row, count in zip(traces.records.row.tolist(), traces.records.count.tolist(), strict=True):
        per_row[row] += count
    assert [per_row[r] for r in range(traces.n_unique)] == traces.counts.tolist()
    assert traces.hash
    assert all(count > 0 for count in traces.report.notes.values())


def read_or_refuse(data: bytes, **given) -> None:
    try:
        traces = read_traces(io.BytesIO(data), **given)
    except (InputError, SettingError):
        return
    check(traces)


@pytest.mark.parametrize("format", [None, *NAMES])
@FUZZ
@given(data=st.binary(max_size=200))
def test_any_bytes(format, data):
    read_or_refuse(data, format=format)


@pytest.mark.parametrize("format", [None, *NAMES])
@FUZZ
@given(text=st.text(st.sampled_from('ab1,;>{}[]":#\n\t \\-.é<&/\r\0\u2028\ud800'), max_size=60))
def test_any_text_of_telling_characters(format, text):
    read_or_refuse(text.encode("utf-8", errors="surrogatepass"), format=format)


INSERTIONS = (
    b'|\n|,|"|{|}|<|>|0|-1|1e999|nan|99999999999999999999|[]|null|\xff|\0|#|a|:|\x1c|\r'.split(b"|")
)


@st.composite
def mutated(draw, valid: str) -> bytes:
    """A valid file after a few cuts, copies, swaps and insertions."""
    data = valid.encode()
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 30)))
        to = draw(st.integers(0, len(data)))
        insert = draw(st.sampled_from(INSERTIONS))
        data = draw(
            st.sampled_from(
                [
                    data[:start] + insert + data[end:],
                    data[:to] + data[start:end] + data[to:],
                    data[:start],
                ]
            )
        )
    return data


@pytest.mark.parametrize("format", NAMES)
@settings(FUZZ, max_examples=400)
@given(data=st.data(), policies=POLICIES)
def test_mutations_of_valid_files(format, data, policies):
    valid = VALID[format]
    if format == "preflib" and data.draw(st.booleans()):
        valid = OLD_PREFLIB
    content = data.draw(mutated(valid))
    read_or_refuse(content, format=format, **policies)
    if data.draw(st.booleans()):
        packed = gzip.compress(content, mtime=0)
        cut = data.draw(st.integers(2, len(packed)))
        read_or_refuse(packed[:cut], **policies)


@pytest.mark.parametrize("format", NAMES)
def test_the_files_that_are_mutated_are_valid(format):
    check(read_traces(io.BytesIO(VALID[format].encode()), format=format, ties="drop"))
    check(read_traces(io.BytesIO(OLD_PREFLIB.encode()), format="preflib", ties="drop"))


# -- round trips -----------------------------------------------------------------------------------

PLAIN = st.text(st.sampled_from("abcé漢 ._'"), min_size=1, max_size=6).map(str.strip).filter(bool)
# Everything that an XML or CSV file can hold; XML cannot hold most control characters.
ANY = st.text(
    st.characters(blacklist_categories=["Cs", "Cc", "Co", "Cn"]) | st.just("\n"),
    min_size=1,
    max_size=6,
).filter(lambda label: label.strip() == label)


def trace_lists(labels):
    return st.lists(st.lists(labels, min_size=1, max_size=6, unique=True), min_size=1, max_size=5)


@pytest.mark.parametrize("separator", [",", ";", "\t", " > ", "->"])
@FUZZ
@given(lists=trace_lists(PLAIN), counts=st.data())
def test_round_trip_text(separator, lists, counts):
    numbers = counts.draw(st.lists(st.integers(1, 9), min_size=len(lists), max_size=len(lists)))
    if all(len(labels) == 1 for labels in lists):
        return  # nothing in such a file tells what separates items
    text = "".join(
        f"{n}: {separator.join(labels)}\n" for n, labels in zip(numbers, lists, strict=True)
    )
    traces = read_traces(io.StringIO(text), format="text")
    assert list(traces) == [
        labels for n, labels in zip(numbers, lists, strict=True) for _ in range(n)
    ]


@pytest.mark.parametrize("format", ["csv", "tsv"])
@pytest.mark.parametrize("timed", [True, False])
@FUZZ
@given(lists=trace_lists(ANY), random=st.randoms(use_true_random=False))
@example(lists=[['a"b', "a\nb", "a,b;\tc"]], random=None)
def test_round_trip_table(format, timed, lists, random):
    """Events of all cases mixed; with times, each case in any order."""
    rows = [
        (f"case {k}", label, str(step))
        for k, labels in enumerate(lists)
        for step, label in enumerate(labels)
    ]
    if random is not None:
        random.shuffle(rows)
    if not timed:
        rows.sort(key=lambda row: int(row[2]))
    out = io.StringIO()
    table = csv.writer(out, delimiter="\t" if format == "tsv" else ",", lineterminator="\n")
    table.writerow(["case", "item", "time"])
    table.writerows(rows)
    traces = read_traces(io.StringIO(out.getvalue()), format=format, time=None if timed else "")
    found = dict(zip(traces.ids, traces, strict=True))
    assert found == {f"case {k}": labels for k, labels in enumerate(lists)}


@FUZZ
@given(lists=trace_lists(st.text(min_size=1, max_size=6).filter(str.strip)))
def test_round_trip_json(lists):
    """JSON can hold any text at all."""
    assert list(read_traces(io.StringIO(json.dumps(lists)), format="json")) == lists
    lines = "\n".join(json.dumps({"items": labels}, ensure_ascii=False) for labels in lists)
    assert list(read_traces(io.StringIO(lines), format="jsonl")) == lists


@FUZZ
@given(lists=trace_lists(ANY))
def test_round_trip_xes(lists):
    out = ["<log>"]
    for k, labels in enumerate(lists):
        out.append(f'<trace><string key="concept:name" value="{k}"/>')
        out += [
            f'<event><string key="concept:name" value={quoteattr(label)}/></event>'
            for label in labels
        ]
        out.append("</trace>")
    traces = read_traces(io.StringIO("\n".join([*out, "</log>"])), format="xes")
    assert list(traces) == lists
    assert traces.ids == tuple(map(str, range(len(lists))))


@FUZZ
@given(lists=trace_lists(PLAIN), tie=st.booleans())
def test_round_trip_preflib(lists, tie):
    universe = sorted({label for labels in lists for label in labels})
    number = {label: str(k) for k, label in enumerate(universe, start=1)}
    rankings = [[number[label] for label in labels] for labels in lists]
    if tie and len(rankings[0]) > 1:
        rankings[0][0] = "{" + rankings[0][0]
        rankings[0][1] += "}"
    head = [f"# NUMBER ALTERNATIVES: {len(universe)}"]
    head += [f"# ALTERNATIVE NAME {k}: {label}" for label, k in number.items()]
    new = "\n".join(head + [f"2: {','.join(ranking)}" for ranking in rankings])
    old_head = [str(len(universe))] + [f"{k},{label}" for label, k in number.items()]
    sizes = f"{2 * len(lists)},{2 * len(lists)},{len(lists)}"
    old = "\n".join([*old_head, sizes] + [f"2,{','.join(ranking)}" for ranking in rankings])
    for text in (new, old):
        traces = read_traces(io.StringIO(text), format="preflib", ties="file-order")
        assert traces.items == tuple(universe)
        assert list(traces) == [labels for labels in lists for _ in range(2)]
