"""`Clock`: times of events, exact and comparable, from ISO 8601 dates or plain numbers.

A time becomes two integers, whole units and 10**-18ths of a unit: nanosecond stamps and large
counters keep their order, which a float would lose, and both columns pack into plain arrays.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Context, Decimal

Instant = tuple[int, int]

_PART_DIGITS = 18
_WHOLE_LIMIT = 2**63
_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_NON_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
# `datetime` keeps six digits of a fraction; the digits after them are read here.
_BELOW_MICROSECONDS = re.compile(r"\d[.,]\d{6}(\d+)", re.ASCII)
_WIDEST = Context(prec=60)


class Clock:
    """Reads the times of one file, all of one kind: the first one decides which."""

    def __init__(self) -> None:
        self._kind = ""

    def read(self, text: str) -> Instant:
        """Return the instant; a `ValueError` says in words what is wrong with the text."""
        kind, instant = self._parse(text)
        if kind != self._kind:
            if self._kind:
                raise ValueError(
                    f'the time "{text}" is {kind}, but the times before it are {self._kind}. '
                    "Write all times of a file in one way."
                )
            self._kind = kind
        return instant

    @staticmethod
    def _parse(text: str) -> tuple[str, Instant]:
        # A run of digits ("20240131") is also a valid ISO date, but far more often a number.
        text = text.strip()
        if text.isdecimal() and len(text) <= _PART_DIGITS:
            return "a number", (int(text), 0)
        if _NUMBER.fullmatch(text):  # as would "20240131.12"
            return "a number", _number(text)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return "a number", _number(text)
        if moment.tzinfo is None:
            kind, since = "a date without a time zone", moment - _EPOCH
        else:
            kind, since = "a date with a time zone", moment - _EPOCH_UTC
        part = since.microseconds * 10**12
        if len(text) > 22 and (extra := _BELOW_MICROSECONDS.search(text)):
            part += int(extra[1][:12].ljust(12, "0"))
        return kind, (since.days * 86_400 + since.seconds, part)


def _number(text: str) -> Instant:
    if not text:
        raise ValueError("the time is missing. Give every event a time, or none.")
    if _NON_FINITE.fullmatch(text):
        raise ValueError(f'the time "{text}" is not finite. Give every event a finite time.')
    if not _NUMBER.fullmatch(text):
        shown = text if len(text) <= 40 else text[:40] + "..."
        raise ValueError(
            f'the time "{shown}" is neither an ISO 8601 date nor a number. '
            "Write times like 2024-01-31T12:00:00 or as numbers."
        )
    value = Decimal(text)
    if abs(value) >= _WHOLE_LIMIT:
        raise ValueError(f"the time is beyond {_WHOLE_LIMIT:,}. Write times as smaller numbers.")
    whole = int(value)  # towards zero: below zero both integers are negative, and still in order
    part = _WIDEST.multiply(_WIDEST.subtract(value, Decimal(whole)), Decimal(10**_PART_DIGITS))
    return whole, int(part)
