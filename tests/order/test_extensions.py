"""Linear extensions: exact counts, exactly uniform draws, and the limit."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations, pairwise, permutations
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import chisquare
from tests.order import reference
from tests.strategies import posets

from posetta.errors import InputError, SettingError
from posetta.order import Poset, count_linear_extensions, extensions, sample_linear_extensions

law = settings(derandomize=True, deadline=None, max_examples=60)


def n_poset():
    return Poset.from_pairs([("a", "c"), ("b", "c"), ("b", "d")])


def boolean_lattice(n_atoms):
    """All subsets of n atoms by inclusion."""
    atoms = range(n_atoms)
    subsets = [set(s) for k in range(n_atoms + 1) for s in combinations(atoms, k)]
    return Poset.from_matrix([[a < b for b in subsets] for a in subsets])


def grid(n_rows, n_columns):
    """The product of two chains; its extensions are the standard Young tableaux."""
    cells = [(r, c) for r in range(n_rows) for c in range(n_columns)]
    before = [[a != b and a[0] <= b[0] and a[1] <= b[1] for b in cells] for a in cells]
    return Poset.from_matrix(before)


def standard_example(n_pairs):
    """The standard example S_n: a_i before b_j for all i != j."""
    pairs = [(f"a{i}", f"b{j}") for i, j in permutations(range(n_pairs), 2)]
    items = [f"{side}{k}" for side in "ab" for k in range(n_pairs)]
    return Poset.from_pairs(pairs, items)


def fence(n_items):
    """The zigzag 0 < 1 > 2 < 3 > ...; its extensions are the alternating permutations."""
    pairs = [(str(k + k % 2), str(k + 1 - k % 2)) for k in range(n_items - 1)]
    return Poset.from_pairs(pairs, [str(k) for k in range(n_items)])


def comb_tree(n_teeth):
    """A chain with a further leaf after every item: nests one deep per tooth."""
    spine = [f"s{k}" for k in range(n_teeth)]
    teeth = [(f"s{k}", f"t{k}") for k in range(n_teeth)]
    return Poset.from_pairs(chain(pairwise(spine), teeth))


# -- counts --------------------------------------------------------------------------------------


@law
@given(posets(max_items=6))
def test_count_matches_brute_force(order):
    assert count_linear_extensions(order) == len(reference.linear_extensions(order))


@pytest.mark.parametrize(
    ("order", "count"),
    [
        (Poset.antichain([]), 1),
        (Poset.antichain(["a"]), 1),
        (Poset.antichain([str(k) for k in range(30)]), factorial(30)),
        (Poset.from_chain([str(k) for k in range(50)]), 1),
        (n_poset(), 5),
        (boolean_lattice(3), 48),
        (boolean_lattice(4), 1_680_384),  # OEIS A046873
        (grid(3, 3), 42),  # hook length formula
        (grid(4, 4), 24_024),
        (standard_example(3), 48),
    ],
)
def test_known_counts(order, count):
    assert order.count_linear_extensions() == count


@pytest.mark.parametrize("n_columns", [1, 2, 5, 40])
def test_two_row_grids_are_counted_by_the_catalan_numbers(n_columns):
    catalan = comb(2 * n_columns, n_columns) // (n_columns + 1)
    assert grid(2, n_columns).count_linear_extensions() == catalan


def test_fences_are_counted_by_the_zigzag_numbers():
    zigzag = [1, 1, 2, 5, 16, 61, 272, 1385, 7936]  # OEIS A000111, from one item on
    assert [fence(n).count_linear_extensions() for n in range(1, 10)] == zigzag


def test_a_deeply_nested_order_needs_no_recursion():
    """Knuth's formula for forests: n! over the product of the subtree sizes."""
    n_teeth = 150
    subtree_sizes = [2 * (n_teeth - k) for k in range(n_teeth)]
    expected = factorial(2 * n_teeth)
    for size in subtree_sizes:
        expected //= size
    assert comb_tree(n_teeth).count_linear_extensions() == expected


def test_parts_multiply():
    first = n_poset()
    second = [(a.upper(), b.upper()) for a, b in first.closure_pairs]
    parallel = Poset.from_pairs([*first.closure_pairs, *second])
    assert parallel.count_linear_extensions() == comb(8, 4) * 25
    joined = [(a, b.upper()) for a in first.items for b in first.items]
    series = Poset.from_pairs([*first.closure_pairs, *second, *joined])
    assert series.count_linear_extensions() == 25


# -- the limit -----------------------------------------------------------------------------------


def test_beyond_the_limit_is_refused_with_the_limit_and_the_way_out(monkeypatch):
    monkeypatch.setattr(extensions, "MAX_DOWN_SETS", 50)
    assert grid(3, 3).count_linear_extensions() == 42
    with pytest.raises(InputError, match=r"limit of 50\. Count a smaller suborder"):
        grid(4, 4).count_linear_extensions()


def test_a_wide_part_is_refused_before_any_counting(monkeypatch):
    monkeypatch.setattr(extensions, "_count_down_sets", None)
    with pytest.raises(InputError, match="a part of 100 items"):
        fence(100).sample_linear_extensions(1, seed=0)


def test_the_limit_holds_for_all_parts_together(monkeypatch):
    twice = [(f"{a}{k}", f"{b}{k}") for k in range(2) for a, b in n_poset().closure_pairs]
    order = Poset.from_pairs(twice)
    n_down_sets = 8  # of one N
    monkeypatch.setattr(extensions, "MAX_DOWN_SETS", 2 * n_down_sets)
    assert order.count_linear_extensions() == comb(8, 4) * 25
    monkeypatch.setattr(extensions, "MAX_DOWN_SETS", 2 * n_down_sets - 1)
    with pytest.raises(InputError, match="too many down-sets"):
        order.count_linear_extensions()


# -- draws ---------------------------------------------------------------------------------------


@law
@given(posets(max_items=7))
def test_draws_are_linear_extensions(order):
    draws = order.sample_linear_extensions(5, seed=3)
    assert len(draws) == 5
    assert all(order.is_linear_extension(draw) for draw in draws)


@pytest.mark.parametrize(
    "order",
    [
        n_poset(),
        fence(6),
        boolean_lattice(3),
        standard_example(3),
        Poset.antichain(list("abcd")),
        comb_tree(4),
        # ((N beside e) before y) before z: all kinds of parts, nested.
        Poset.from_pairs([*n_poset().closure_pairs, *[(x, "y") for x in "abcde"], ("y", "z")]),
    ],
    ids=["N", "fence", "B3", "S3", "antichain", "comb", "mixed"],
)
def test_draws_are_uniform(order):
    """Pearson's chi-square over all extensions, at least 95 draws expected for each.

    The seed is fixed, so the test cannot flicker. The bound is the 1 - 1e-4 quantile: under fresh
    seeds an exact sampler would fail one of the seven cases once in 1,400 runs. A sampler that
    takes the next item uniformly from the frontier, the usual mistake, fails wherever it is wrong.
    """
    n_draws = 10_000
    all_extensions = [tuple(listing) for listing in reference.linear_extensions(order)]
    drawn = Counter(map(tuple, order.sample_linear_extensions(n_draws, seed=11)))
    assert uniformity_p_value(drawn, all_extensions) > 1e-4


@pytest.mark.parametrize("order", [n_poset(), boolean_lattice(3)], ids=["N", "B3"])
def test_the_uniformity_test_notices_frontier_draws(order):
    rng = np.random.default_rng(11)
    drawn = Counter()
    for _ in range(10_000):
        remaining, listing = list(order.items), []
        while remaining:
            listing.append(str(rng.choice(order.frontier(remaining))))
            remaining.remove(listing[-1])
        drawn[tuple(listing)] += 1
    all_extensions = [tuple(listing) for listing in reference.linear_extensions(order)]
    assert uniformity_p_value(drawn, all_extensions) < 1e-4


def uniformity_p_value(drawn, all_extensions):
    assert set(drawn) <= set(all_extensions)
    return chisquare([drawn[listing] for listing in all_extensions]).pvalue


def test_draws_depend_on_the_seed_alone():
    order = boolean_lattice(3)
    assert order.sample_linear_extensions(4, seed=5) == order.sample_linear_extensions(4, seed=5)
    assert order.sample_linear_extensions(4, seed=5) != order.sample_linear_extensions(4, seed=6)
    rng = np.random.default_rng(5)
    first, second = (sample_linear_extensions(order, 4, rng) for _ in range(2))
    assert first != second


def test_large_counts_are_drawn_without_rounding():
    order = grid(2, 60)  # about 1e33 extensions, beyond 64 bits
    assert all(order.is_linear_extension(draw) for draw in order.sample_linear_extensions(3, 1))


def test_no_draws_and_a_negative_number_of_draws():
    assert n_poset().sample_linear_extensions(0, seed=1) == []
    with pytest.raises(SettingError, match="n=-1 is not a number of draws"):
        n_poset().sample_linear_extensions(-1, seed=1)
