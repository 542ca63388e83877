"""`Source`: the bytes of one input, decompressed and checked, whatever they come from.

Readers see lines of text (or blocks of bytes) and never an `OSError`, a decoding error or a zlib
error: each of these becomes one `InputError` that names the file and the place.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from posetta.data.place import place
from posetta.errors import InputError, SettingError

HEAD_BYTES = 1 << 16
"""How much of an input the format is guessed from."""
LONGEST_LINE = 1 << 28
"""Longer lines are refused: a small compressed file may unfold into one endless line."""
_BLOCK_BYTES = 1 << 18
_UTF8_MARK = b"\xef\xbb\xbf"
_OTHER_MARKS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
_READ_ERRORS = (OSError, EOFError, zlib.error)

PathOrStream = str | os.PathLike[str] | IO[str] | IO[bytes]


class Source:
    """One opened input: its name for messages, its first bytes, and its content, once.

    ``notes`` takes a count of everything that is skipped or changed while reading it.
    """

    def __init__(self, name: str, stream: IO[bytes] | IO[str], notes: Counter[str]) -> None:
        self.name = name
        self.notes = notes
        try:
            self.head, self._stream = _with_head(stream)
            if self.head.startswith(b"\x1f\x8b"):
                # BufferedReader reads lines in C; GzipFile alone would do so in Python.
                self.head, self._stream = _with_head(gzip.GzipFile(fileobj=self._stream))
        except _READ_ERRORS as error:
            raise self._cannot_read(error) from None

    def fault(self, text: str, line: int = 0) -> InputError:
        """Return an error about this input."""
        return InputError(f"{place(self.name, line)}{text}")

    def head_text(self) -> str:
        """Return the first bytes as text for guessing the format; wrong bytes do no harm."""
        return self.head.removeprefix(_UTF8_MARK).decode("utf-8", errors="replace")

    def lines(self) -> Iterator[str]:
        """Yield the lines with their line ends, as UTF-8 text free of NUL bytes."""
        self._refuse_other_encodings()
        number = offset = 0
        while raw := self._readline():
            number += 1
            if number == 1 and raw.startswith(_UTF8_MARK):
                raw = raw.removeprefix(_UTF8_MARK)
                offset = len(_UTF8_MARK)
                self.notes["byte-order mark(s) removed"] += 1
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                raise self.fault(
                    f"byte 0x{raw[error.start]:02x} (offset {offset + error.start:,} in the file) "
                    "is not UTF-8. Save the file as UTF-8.",
                    number,
                ) from None
            if "\0" in text:
                raise self.fault(
                    f"holds a NUL byte (offset {offset + raw.index(0):,} in the file), so this is "
                    "binary or UTF-16, not UTF-8 text. Save the file as UTF-8.",
                    number,
                )
            if "\r" in text and "\r" in text.removesuffix("\n").removesuffix("\r"):
                raise self.fault(
                    "holds a carriage return that does not end the line. "
                    "Save the file with line ends of the kind LF or CR LF.",
                    number,
                )
            if len(raw) >= LONGEST_LINE:
                raise self.fault(f"is longer than {LONGEST_LINE:,} bytes. Split it.", number)
            offset += len(raw)
            yield text

    def blocks(self) -> Iterator[bytes]:
        """Yield the content as blocks of bytes, for parsers that decode by themselves."""
        while True:
            try:
                block = self._stream.read(_BLOCK_BYTES)
            except _READ_ERRORS as error:
                raise self._cannot_read(error) from None
            if not block:
                return
            yield block

    def _readline(self) -> bytes:
        try:
            return self._stream.readline(LONGEST_LINE)
        except _READ_ERRORS as error:
            raise self._cannot_read(error) from None

    def _refuse_other_encodings(self) -> None:
        for mark, encoding in _OTHER_MARKS:
            if self.head.startswith(mark):
                raise self.fault(
                    f"starts with the byte-order mark of {encoding}; UTF-8 is expected. "
                    "Save the file as UTF-8.",
                    line=1,
                )

    def _cannot_read(self, error: Exception) -> InputError:
        return _cannot_read(self.name, error)


@contextmanager
def open_source(path: PathOrStream, notes: Counter[str]) -> Iterator[Source]:
    """Open a path, ``"-"`` for standard input, or a stream that the caller keeps open."""
    name = source_name(path)
    if isinstance(path, str) and path == "-":
        yield Source(name, sys.stdin.buffer, notes)
    elif isinstance(path, str | os.PathLike):
        try:
            file = Path(path).open("rb")  # noqa: SIM115 (closed below)
        except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
            raise _cannot_read(name, error) from None
        with file:
            yield Source(name, file, notes)
    else:
        yield Source(name, path, notes)


def source_name(path: PathOrStream) -> str:
    """Return what messages call this input."""
    if isinstance(path, str) and path == "-":
        return "<stdin>"
    if isinstance(path, str | os.PathLike):
        return os.fspath(path)
    if not hasattr(path, "read"):
        raise SettingError(
            f"path={path!r} is neither a path nor a stream. Pass a path, '-' for standard input, "
            "an open file, or a list of paths."
        )
    name = getattr(path, "name", None)
    return name if isinstance(name, str) else "<stream>"


class _Replayed(io.RawIOBase):
    """A stream whose first bytes were already taken: gives them again, then the rest."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = memoryview(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(block)] = block
        return len(block)


def _with_head(stream: Any) -> tuple[bytes, io.BufferedReader]:
    """Return the first bytes of a stream, and a stream that still begins with them."""
    if isinstance(stream.read(0), str):  # a text stream: small by nature, so it is read at once
        stream = io.BytesIO(stream.read().encode("utf-8", errors="surrogatepass"))
    head = b""
    while len(head) < HEAD_BYTES and (block := stream.read(HEAD_BYTES - len(head))):
        head += block
    return head, io.BufferedReader(_Replayed(head, stream), _BLOCK_BYTES)


def _cannot_read(name: str, error: Exception) -> InputError:
    if isinstance(error, FileNotFoundError):
        text = "there is no such file. Check the path."
    elif isinstance(error, IsADirectoryError):
        text = "is a directory. Pass a file, or a list of the files in it."
    elif isinstance(error, PermissionError):
        text = "may not be read (permission denied). Change its permissions, or copy it."
    elif isinstance(error, EOFError):
        text = "the compressed data end too early: the file is truncated. Copy it again."
    elif isinstance(error, gzip.BadGzipFile | zlib.error):
        text = f"the compressed data are damaged ({error}). Copy the file again."
    else:
        text = f"cannot be read ({getattr(error, 'strerror', None) or error}). Check the path."
    return InputError(f"{place(name)}{text}")
