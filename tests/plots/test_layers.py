"""The layered layout: every line leads to a later layer, and nothing stands on anything else."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import acyclic_relations

from posetta.plots.layers import _spread, count_crossings, lay_out, longest_paths


@given(acyclic_relations(max_items=9), st.integers(0, 10_000), st.booleans())
@settings(max_examples=80, deadline=None)
def test_lines_lead_down_and_items_keep_their_distance(
    relation: np.ndarray, seed: int, bundled: bool
) -> None:
    sizes = np.random.default_rng(seed).uniform(5.0, 60.0, len(relation))
    layout = lay_out(relation, sizes.tolist(), bend=4.0, bundled=bundled)
    assert set(layout.routes) == {(i, j) for i, j in np.argwhere(relation).tolist()}
    for (i, j), places in layout.routes.items():
        assert [layer for layer, _ in places] == list(range(layout.layer[i], layout.layer[j] + 1))
        assert places[0] == (layout.layer[i], layout.across[i])
        assert places[-1] == (layout.layer[j], layout.across[j])
    for a, b in combinations(range(len(relation)), 2):
        if layout.layer[a] == layout.layer[b]:
            apart = abs(layout.across[a] - layout.across[b])
            assert apart >= (sizes[a] + sizes[b]) / 2.0 - 1e-6
    # A line passes an item of a layer in between at the item's border or further away.
    for places in layout.routes.values():
        for layer, across in places[1:-1]:
            for item in np.flatnonzero(layout.layer == layer):
                assert abs(layout.across[item] - across) >= sizes[item] / 2.0 - 1e-6


def test_layers_of_a_chain_and_of_a_late_need() -> None:
    chain = np.diag([True, True, True], k=1)
    assert longest_paths(chain).tolist() == [0, 1, 2, 3]
    late = np.zeros((5, 5), dtype=bool)
    late[:4, :4] = chain
    late[4, 3] = True  # needed by the last alone: it stands just above it
    assert lay_out(late, [10.0] * 5, bend=4.0).layer.tolist() == [0, 1, 2, 3, 2]


def test_bundled_lines_of_one_item_share_their_bends() -> None:
    relation = np.zeros((7, 7), dtype=bool)
    for i, j in [(0, 1), (1, 2), (2, 3), (2, 4), (5, 3), (5, 4), (6, 5), (6, 3), (6, 4)]:
        relation[i, j] = True
    apart, bundled = (lay_out(relation, [10.0] * 7, bend=4.0, bundled=b) for b in (False, True))
    assert apart.routes[6, 3][1:-1] != apart.routes[6, 4][1:-1]
    assert bundled.routes[6, 3][1:-1] == bundled.routes[6, 4][1:-1] != []


def crossings_by_pairs(rows: list[list[int]], below: list[list[int]]) -> int:
    """Count pairs of lines one by one."""
    total = 0
    for upper, lower in pairwise(rows):
        lines = [(upper.index(u), lower.index(v)) for u in upper for v in below[u]]
        total += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(lines, 2))
    return total


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_crossings_are_counted_as_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(5).tolist(), (5 + rng.permutation(6)).tolist()]
    below = [(5 + np.flatnonzero(rng.random(6) < 0.5)).tolist() for _ in range(5)] + [[]] * 6
    assert count_crossings(rows, below) == crossings_by_pairs(rows, below)


def test_a_drawing_without_crossings_is_found() -> None:
    # Three pairs of parallel steps, listed so that all lines cross at first.
    relation = np.zeros((9, 9), dtype=bool)
    for k, (left, right) in enumerate(((8, 7), (6, 5), (4, 3))):
        relation[k, [left, right]] = True
    layout = lay_out(relation, [10.0] * 9, bend=4.0)
    lines = [(layout.across[i], layout.across[j]) for i, j in np.argwhere(relation)]
    assert not any((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(lines, 2))


@given(st.lists(st.floats(-50.0, 50.0), min_size=1, max_size=7), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_spreading_is_least_squares(wanted: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 3.0, len(wanted))
    apart = np.concatenate([[0.0], np.cumsum(rng.uniform(1.0, 9.0, len(wanted) - 1))])
    target = np.array(wanted)
    found = _spread(target, weight, apart)
    assert (np.diff(found) >= np.diff(apart) - 1e-9).all()
    cost = weight @ (found - target) ** 2
    for _ in range(50):  # no feasible point nearby is better
        y = np.sort(found - apart + rng.normal(0.0, 1.0, len(found)))
        assert weight @ (y + apart - target) ** 2 >= cost - 1e-6


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_and_one(n: int) -> None:
    layout = lay_out(np.zeros((n, n), dtype=bool), [10.0] * n, bend=4.0)
    assert layout.n_layers == n
    assert layout.routes == {}
