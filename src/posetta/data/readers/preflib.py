"""PrefLib rankings: ``.soc .soi .toc .toi``, with the header of 2022 and later or the older one.

Newer: ``# ALTERNATIVE NAME 1: x`` comments, then ``count: 1,2,{3,4}``. Older: the number of
alternatives, one ``1,x`` line for each, a line ``voters,sum,unique``, then ``count,1,2,{3,4}``.
Braces hold ties. The alternatives of the header are the universe, whether ranked or not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from posetta.data.place import named
from posetta.data.readers.contract import Columns, Format, Parsed, RawTrace
from posetta.data.source import Source

_NAME = re.compile(r"#\s*ALTERNATIVE NAME\s+(\d{1,9})\s*:(.*)", re.IGNORECASE)
_ANNOUNCED = re.compile(r"#\s*NUMBER (ALTERNATIVES|VOTERS)\s*:\s*(\d{1,15})\s*", re.IGNORECASE)
_OLD_HEAD = re.compile(r"\s*\d{1,9}\s*\n\s*1\s*,")

Numbered = Iterator[tuple[int, str]]


def _read(source: Source, _columns: Columns) -> Parsed:
    lines = _content(source)
    line, first = next(lines, (1, ""))
    if first.startswith("#"):
        names, voters, rankings = _new_header(source, line, first, lines)
        separator, how = ":", "the PrefLib header of 2022 and later"
    else:
        names, voters = _old_header(source, line, first, lines)
        rankings, separator, how = lines, ",", "the older PrefLib header"
    _check_names(source, names)
    traces = _rankings(source, rankings, separator, names, voters)
    return Parsed(traces, how, tuple(names.values()))


def _content(source: Source) -> Numbered:
    for line, text in enumerate(source.lines(), start=1):
        if stripped := text.strip():
            yield line, stripped
        else:
            source.notes["blank line(s) skipped"] += 1


def _new_header(
    source: Source, line: int, text: str, lines: Numbered
) -> tuple[dict[int, str], int | None, Numbered]:
    names: dict[int, str] = {}
    announced: dict[str, int] = {}
    while text.startswith("#"):
        if match := _NAME.fullmatch(text):
            number = int(match[1])
            if number in names:
                raise source.fault(f"names alternative {number} a second time.", line)
            names[number] = match[2].strip()
        elif match := _ANNOUNCED.fullmatch(text):
            announced[match[1].upper()] = int(match[2])
        line, text = next(lines, (line, ""))
    expected = announced.get("ALTERNATIVES", len(names))
    if expected != len(names) or not names:
        raise source.fault(
            f"the header announces {expected:,} alternatives and names {len(names):,}. "
            'Each needs a line like "# ALTERNATIVE NAME 1: x".'
        )
    rankings = chain([(line, text)], lines) if text else iter(())
    return names, announced.get("VOTERS"), rankings


def _old_header(
    source: Source, line: int, text: str, lines: Numbered
) -> tuple[dict[int, str], int | None]:
    n_alternatives = _number(text)
    if n_alternatives is None:
        raise source.fault(
            "is not a PrefLib file: it should start with a # header or with the number of "
            'alternatives. For plain rankings, one per line, pass format="text".',
            line,
        )
    names: dict[int, str] = {}
    for _ in range(n_alternatives):
        line, row = next(lines, (line, ""))
        before, comma, name = row.partition(",")
        number = _number(before)
        if not comma or number is None or number in names:
            raise source.fault(
                f'the header announces {text} alternatives, so a line like "{len(names) + 1},name" '
                "should stand here.",
                line,
            )
        names[number] = name.strip()
    line, row = next(lines, (line, ""))
    sizes = [_number(size) for size in row.split(",")]
    if len(sizes) != 3 or None in sizes:
        raise source.fault(
            'a line like "voters,sum,unique" with three numbers should follow the alternatives.',
            line,
        )
    return names, sizes[0]


def _check_names(source: Source, names: dict[int, str]) -> None:
    twice = [name for name, uses in Counter(names.values()).items() if uses > 1]
    if twice:
        raise source.fault(f"the header uses the name(s) {named(twice)} for two alternatives.")
    if "" in names.values():
        raise source.fault("the header leaves an alternative without a name. Name each of them.")


def _rankings(
    source: Source,
    lines: Numbered,
    separator: str,
    names: dict[int, str],
    voters: int | None,
) -> Iterator[RawTrace]:
    total = 0
    for line, text in lines:
        if text.startswith("#"):
            source.notes["comment line(s) skipped"] += 1
            continue
        before, found, body = text.partition(separator)
        count = _number(before)
        if count is None or not (found or separator == ","):
            raise source.fault(
                f'a ranking starts with its count, like "3{separator} 1,2,{{3,4}}"; this line '
                f'starts with "{text[:20]}".',
                line,
            )
        total += count
        labels, ranks = _ranking(source, line, body, names)
        tied = bool(ranks) and ranks[-1] + 1 < len(ranks)
        yield RawTrace(labels, count=count, line=line, ranks=ranks if tied else None)
    if voters is not None and voters != total:
        source.notes[f"ranking(s) in the file, where its header announces {voters:,}"] += total


def _ranking(
    source: Source, line: int, text: str, names: dict[int, str]
) -> tuple[list[str], list[int]]:
    """Split ``1,{2,3},4`` into labels and ranks 0, 1, 1, 2."""
    labels: list[str] = []
    ranks: list[int] = []
    rank = -1
    in_braces = False
    for token in text.split(",") if text.strip() else ():
        token = token.strip()
        opens, closes = token.startswith("{"), token.endswith("}")
        number = _number(token.removeprefix("{").removesuffix("}"))
        if (opens and in_braces) or (closes and not (opens or in_braces)):
            raise source.fault("has a brace without its partner.", line)
        if number is None:
            raise source.fault(f'"{token[:20]}" should be the number of an alternative.', line)
        label = names.get(number)
        if label is None:
            raise source.fault(
                f"ranks alternative {number}, which the header does not name "
                f"(it names {len(names):,}).",
                line,
            )
        rank += opens or not in_braces
        in_braces = (in_braces or opens) and not closes
        labels.append(label)
        ranks.append(rank)
    if in_braces:
        raise source.fault("has a brace without its partner.", line)
    return labels, ranks


def _number(text: str) -> int | None:
    """Return a plain whole number, or None: `int` alone would also take ``1_0`` and ``+1``."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def _looks_like(head: str) -> str:
    start = head[:4096].upper()
    if "# ALTERNATIVE NAME 1:" in start or "# NUMBER ALTERNATIVES:" in start:
        return "it has a PrefLib header"
    if _OLD_HEAD.match(head):
        return "it starts with the number of alternatives and their names, as PrefLib files do"
    return ""


PREFLIB = Format("preflib", (".soc", ".soi", ".toc", ".toi"), _read, _looks_like)
