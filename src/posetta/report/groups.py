"""Groups of items (offices, teams, kinds of task), and how far an order agrees with them."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posetta.errors import InputError

_ITEM_COLUMNS = ("item", "id", "label")
_GROUP_COLUMN = "group"
_NAME_COLUMN = "name"


@dataclass(frozen=True)
class Groups:
    """The group of each item, and names to show in the place of labels that are mere codes."""

    group: Mapping[str, str]
    name: Mapping[str, str] = field(default_factory=dict)

    def check(self, items: Sequence[str]) -> None:
        """Refuse groups that name none of the items; items without a group are allowed."""
        if items and self.group and not any(label in self.group for label in items):
            first = next(iter(self.group))
            raise InputError(
                f'none of the {len(items)} items has a group: the groups name "{first}", the '
                f'result "{items[0]}". The item column must hold the labels of the traces.'
            )


def read_groups(path: str | os.PathLike[str]) -> Groups:
    """Read a CSV file with a column of items and a column of groups.

    The items stand in the column ``item`` (or ``id``, ``label``), the groups in ``group`` (or a
    column whose name starts so, such as ``group_inferred``). A column ``name``, if there is one,
    is shown in the place of the labels. Other columns are ignored.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = [column or "" for column in reader.fieldnames or ()]
            item = next((name for name in _ITEM_COLUMNS if name in columns), None)
            alike = (name for name in columns if name.startswith(_GROUP_COLUMN))
            group = _GROUP_COLUMN if _GROUP_COLUMN in columns else next(alike, None)
            if item is None or group is None:
                raise InputError(
                    f"{path}: has the columns {', '.join(columns) or 'of an empty file'}; it needs "
                    '"item" (or "id") and "group".'
                )
            rows = [(reader.line_num, row) for row in reader]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (at byte {error.start}).") from error
    except csv.Error as error:
        raise InputError(f"{path}: is not CSV: {error}.") from error
    groups: dict[str, str] = {}
    names: dict[str, str] = {}
    for line, row in rows:
        label = row[item] or ""
        if not label:
            raise InputError(f'{path}, line {line}: the column "{item}" is empty.')
        if label in groups:
            raise InputError(f'{path}, line {line}: "{label}" has a group already. Keep one line.')
        groups[label] = row[group] or ""
        if row.get(_NAME_COLUMN):
            names[label] = row[_NAME_COLUMN]
    return Groups({label: name for label, name in groups.items() if name}, names)


def group_content(
    groups: Groups, items: Sequence[str], precedence: NDArray[np.float64]
) -> dict[str, Any] | None:
    """Return the groups as the page shows them, the earliest group first; None if there are none.

    ``before[g][h]`` is the mean of Pr(i before j) over i in group g and j in group h: the share of
    their pairs that g leads. Groups stand in the order of what they lead less what they follow;
    ``along`` is the share of the probability between groups that runs in that direction.
    """
    found = sorted({groups.group[label] for label in items if label in groups.group})
    if not found:
        return None
    index = {name: k for k, name in enumerate(found)}
    member = np.array([index.get(groups.group.get(label, ""), -1) for label in items])
    sizes = np.array([int((member == k).sum()) for k in range(len(found))])
    total = np.array(
        [
            [precedence[np.ix_(member == g, member == h)].sum() for h in range(len(found))]
            for g in range(len(found))
        ]
    )
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    mean = np.divide(total, pairs, out=np.zeros_like(total), where=pairs > 0)
    lead = (mean - mean.T).sum(axis=1)
    order = np.argsort(-lead, kind="stable")
    total, mean = total[np.ix_(order, order)], mean[np.ix_(order, order)]
    along, against = float(np.triu(total, 1).sum()), float(np.tril(total, -1).sum())
    place = np.argsort(order)
    return {
        "names": [found[k] for k in order],
        "sizes": sizes[order].tolist(),
        "of_item": [int(place[k]) if k >= 0 else -1 for k in member],
        "before": np.round(mean, 4).tolist(),
        "along": along / (along + against) if along + against else None,
    }
