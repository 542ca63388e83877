"""`read_traces`: from files of any supported format to checked `Traces`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from posetta.data.gate import Gate, count_problem
from posetta.data.numbering import Numbering, Placed
from posetta.data.place import named, trace_fault
from posetta.data.policies import Policies
from posetta.data.readers.contract import Columns, Format
from posetta.data.readers.detect import detect
from posetta.data.report import ReadReport
from posetta.data.source import PathOrStream, Source, open_source, source_name
from posetta.data.traces import Traces
from posetta.errors import InputError, SettingError, choice


def read_traces(
    path: PathOrStream | Sequence[PathOrStream],
    format: str | None = None,
    items: Sequence[str] | None = None,
    repeats: str = "error",
    ties: str = "error",
    choice_set: str = "listed",
    empty: str = "error",
    case: str | None = None,
    item: str | None = None,
    time: str | None = None,
) -> Traces:
    """Read traces from a file, from ``"-"`` (standard input), from a stream, or from several files.

    ``format`` is found out from the file name or the content unless given. ``items`` fixes the
    universe. ``repeats`` (error, first, last, number), ``ties`` (error, file-order, drop) and
    ``empty`` (error, drop) say what to do with an item listed twice, with items of equal time or
    rank, and with traces that list nothing. ``choice_set="all"`` reads every trace as a top-k list
    chosen from the whole universe; ``"listed"`` keeps to the choice sets that the file states, else
    to what a trace lists. ``case``, ``item`` and ``time`` name the columns of a table or the
    attributes of an event log; ``time=""`` makes the file order count.

    Several files become one `Traces`; their ids are then prefixed with the file (``a.csv:run-1``).
    What was changed, skipped or noticed is counted in ``traces.report``.
    """
    policies = Policies(repeats, ties, empty)
    choice(choice_set, ("listed", "all"), "choice_set")
    paths = _paths(path)
    gate = Gate(items)
    files = _Files(format, Columns(case, item, time), may_be_empty=items is not None)
    if repeats == "number":  # which items repeat is known only after the last trace
        declared: list[str] = []
        everything = list(files.traces(paths, lambda labels, _: declared.extend(labels)))
        numbering = Numbering(everything, declared)
        numbering.note(files.notes)
        gate.declare(numbering.items(declared))
        placed: Iterator[Placed] = ((file, numbering.renamed(raw)) for file, raw in everything)
    else:
        placed = files.traces(paths, gate.declare)
    for number, (file, raw) in enumerate(placed, start=1):
        name = raw.id or str(number)
        if problem := count_problem(raw.count):
            raise trace_fault(file, raw.line, name, problem)
        if choice_set == "all" and raw.choice_set is not None:
            raise trace_fault(
                file,
                raw.line,
                name,
                'states its own choice_set, so choice_set="all" cannot hold for every trace. '
                'Pass choice_set="listed" to keep to what the file says.',
            )
        kept = policies.apply(file, name, raw, files.notes)
        if kept is not None:
            gate.add(
                kept.labels,
                id=f"{file}:{kept.id}" if len(paths) > 1 and kept.id is not None else kept.id,
                count=kept.count,
                choice_set=kept.choice_set,
                file=file,
                line=kept.line,
                metadata=kept.metadata,
            )
    if not gate.n_records and items is None:
        acts = "; ".join(ReadReport(notes=files.notes).lines())
        raise InputError(f"{named(files.names)}: no trace is left ({acts}). Change the policies.")
    traces = gate.close()
    if choice_set == "all":
        traces = traces.over_all_items()
    _note_items(traces, files.notes)
    return replace(traces, report=files.report())


@dataclass
class _Files:
    """Reads one file after the other and remembers what the report will say."""

    format: str | None
    columns: Columns
    may_be_empty: bool
    notes: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)
    detected: list[str] = field(default_factory=list)

    def traces(
        self, paths: Sequence[PathOrStream], declare: Callable[[Sequence[str], str], None]
    ) -> Iterator[Placed]:
        """Yield the raw traces of all files; items that a file declares go to ``declare``."""
        for path in paths:
            with open_source(path, self.notes) as source:
                format, reason = detect(source, self.format)
                _refuse_columns(format, self.columns)
                parsed = format.read(source, self.columns)
                self.names.append(source.name)
                self.formats.append(format.name)
                self.detected.append(f"{format.name} {reason}" + (parsed.how and f"; {parsed.how}"))
                declare(parsed.items, source.name)
                found_any = False
                for raw in parsed.traces:
                    found_any = True
                    yield source.name, raw
                if not found_any and not self.may_be_empty:
                    raise _no_traces(source)

    def report(self) -> ReadReport:
        return ReadReport(
            files=tuple(self.names),
            format=", ".join(dict.fromkeys(self.formats)),
            detected="; ".join(dict.fromkeys(self.detected)),
            notes=dict(self.notes),
        )


def _paths(path: PathOrStream | Sequence[PathOrStream]) -> list[PathOrStream]:
    if isinstance(path, Sequence) and not isinstance(path, str | bytes):
        paths = list(path)
    else:
        paths = [path]
    if not paths:
        raise SettingError("path is an empty list. Name at least one file.")
    names = [source_name(one) for one in paths]
    twice = [name for name, uses in Counter(names).items() if uses > 1]
    if "<stream>" in twice:
        raise SettingError(
            "several streams have no name. Give each its own (stream.name = ...), or read them one "
            "at a time."
        )
    if twice:
        raise SettingError(f"{named(twice)} is named twice. Name each file once.")
    return paths


def _refuse_columns(format: Format, columns: Columns) -> None:
    for setting, value in columns._asdict().items():
        if value == "" and setting != "time":
            raise SettingError(f"{setting}='' names nothing. Leave {setting} out, or name it.")
        if value is not None and not format.has_columns:
            raise SettingError(
                f'{setting}={value!r} cannot be honoured: the format "{format.name}" has no '
                f"columns. Leave {setting} out."
            )


def _no_traces(source: Source) -> InputError:
    what = "holds no traces" if source.head.strip() else "is empty"
    return source.fault(f"{what}. Check the file, or pass items=... to work with the prior alone.")


def _note_items(traces: Traces, notes: Counter[str]) -> None:
    """Note what a reader of the report should look at twice: rare items, short traces."""
    seen = traces.listings
    for times, what in ((1, "seen in only one trace"), (0, "never listed")):
        labels = [traces.items[i] for i in np.flatnonzero(seen == times)]
        if labels:
            notes[f"item(s) {what} ({named(labels)})"] += len(labels)
    alone = int(traces.counts[np.diff(traces.offsets) == 1].sum())
    if alone:
        notes["trace(s) of a single item, which say nothing about order"] += alone
