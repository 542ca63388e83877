"""XES event logs, read as a stream: ``concept:name`` of traces and events, ``time:timestamp``.

Document type declarations are refused, and with them every entity that a hostile file could
expand. Each trace is sorted by time like a case of a long table.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from xml.parsers import expat

from posetta.data.place import named
from posetta.data.readers.contract import Columns, Format, Parsed, RawTrace
from posetta.data.source import Source
from posetta.data.times import Clock, Instant
from posetta.errors import InputError


class _Log:
    """Collects finished traces while expat walks through log > trace > event > attribute."""

    def __init__(self, source: Source, columns: Columns) -> None:
        self._source = source
        self._case_key = columns.case or "concept:name"
        self._item_key = columns.item or "concept:name"
        self._time_key = "time:timestamp" if columns.time is None else columns.time
        self._case_required = columns.case is not None
        self._time_required = bool(columns.time)
        self._clock = Clock()
        self._depth = 0
        self._prefix = ""
        self._in_trace = self._in_event = False
        self.finished: list[RawTrace] = []
        self.timed: bool | None = None
        self._unused: dict[str, None] = {}
        self.parser = parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._refuse_doctype

    def fault(self, text: str) -> InputError:
        return self._source.fault(text, self.parser.CurrentLineNumber)

    def note_unused(self) -> None:
        if self._unused:
            names = list(self._unused)
            self._source.notes[f"attribute(s) not used ({named(names)})"] += len(names)

    def _refuse_doctype(self, *_declaration: object) -> None:
        raise self.fault(
            "has a document type declaration, which could expand into anything and which XES "
            "does not need. Remove it."
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth = depth = self._depth + 1
        if depth == 4:
            if self._in_event:
                self._event_attribute(attributes)
        elif depth == 3:
            if self._in_trace:
                self._in_event = name == self._prefix + "event"
                if self._in_event:
                    self._label: str | None = None
                    self._time: Instant | None = None
                    self._lines.append(self.parser.CurrentLineNumber)
                else:
                    self._trace_attribute(attributes)
        elif depth == 2:
            self._in_trace = name == self._prefix + "trace"
            if self._in_trace:
                self._id: str | None = None
                self._labels: list[str] = []
                self._times: list[Instant] = []
                self._lines: list[int] = []
                self._line = self.parser.CurrentLineNumber
            elif name == self._prefix + "event":
                raise self.fault("has an event outside of any trace. Put it into its trace.")
        elif depth == 1:
            self._prefix, _, root = name.rpartition(":")
            self._prefix += ":" if self._prefix else ""
            if root != "log":
                raise self.fault(f"is not an XES log: its outer element is <{name}>, not <log>.")

    def _trace_attribute(self, attributes: dict[str, str]) -> None:
        key = attributes.get("key", "")
        if key != self._case_key:
            self._unused[key] = None
        elif self._id is not None:
            raise self.fault(f'gives a trace a second "{key}".')
        else:
            self._id = attributes.get("value", "")

    def _event_attribute(self, attributes: dict[str, str]) -> None:
        key = attributes.get("key", "")
        if key == self._item_key:
            if self._label is not None:
                raise self.fault(f'gives an event a second "{key}".')
            self._label = attributes.get("value", "")
        elif key == self._time_key:
            if self._time is not None:
                raise self.fault(f'gives an event a second "{key}".')
            try:
                self._time = self._clock.read(attributes.get("value", ""))
            except ValueError as error:
                raise self.fault(str(error)) from None
        else:
            self._unused[key] = None

    def _end(self, _name: str) -> None:
        self._depth = depth = self._depth - 1
        if depth == 2 and self._in_event:
            self._in_event = False
            self._end_event()
        elif depth == 1 and self._in_trace:
            self._in_trace = False
            self._end_trace()

    def _end_event(self) -> None:
        if not self._label:
            raise self.fault(
                f'an event has no "{self._item_key}". Every event needs one; pass item=... to '
                "take the item from another attribute."
            )
        timed = self._time is not None
        if self.timed is None:
            self.timed = timed
        if timed != self.timed or (self._time_required and not timed):
            raise self.fault(
                f'the time "{self._time_key}" is missing for some events. Give every event a '
                'time, or pass time="" to take the order of the file.'
            )
        self._labels.append(self._label)
        if self._time is not None:
            self._times.append(self._time)

    def _end_trace(self) -> None:
        if self._case_required and self._id is None:
            raise self.fault(f'a trace has no "{self._case_key}". Every trace needs one.')
        labels, lines, times = self._labels, self._lines, self._times
        ranks = None
        if times:
            order = sorted(range(len(times)), key=times.__getitem__)
            if order != list(range(len(times))):
                self._source.notes[
                    "case(s) sorted by time: the file had them in another order"
                ] += 1
                labels = [labels[k] for k in order]
                lines = [lines[k] for k in order]
                times = [times[k] for k in order]
            if len(set(times)) < len(times):
                rank_of = {time: rank for rank, time in enumerate(dict.fromkeys(times))}
                ranks = [rank_of[time] for time in times]
        self.finished.append(
            RawTrace(labels, id=self._id, line=self._line, ranks=ranks, item_lines=lines)
        )


def _read(source: Source, columns: Columns) -> Parsed:
    how = "" if columns.time != "" else "times not looked at: the file order counts"
    return Parsed(_traces(source, _Log(source, columns)), how)


def _traces(source: Source, log: _Log) -> Iterator[RawTrace]:
    if not source.head:
        return  # an empty file: no traces, which is said in the same words for every format
    for block in chain(source.blocks(), (b"",)):  # the empty block ends the document
        try:
            log.parser.Parse(block, not block)
        except expat.ExpatError as error:
            raise source.fault(
                f"is not well-formed XML ({expat.errors.messages[error.code]}, column "
                f"{error.offset + 1}). Is the file cut off or damaged?",
                error.lineno,
            ) from None
        except (LookupError, UnicodeError) as error:
            raise source.fault(f"its encoding cannot be read ({error}). Use UTF-8.") from None
        yield from log.finished
        log.finished.clear()
    log.note_unused()


def _looks_like(head: str) -> str:
    start = head.lstrip()
    if start.startswith("<?xml") or start.startswith("<log"):
        return "it starts like an XML document"
    return ""


XES = Format("xes", (".xes",), _read, _looks_like, has_columns=True)
