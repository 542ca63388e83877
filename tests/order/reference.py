"""Slow definitions, in plain Python, that settle what the kernels of posetta.order must return."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np


def closure(relation):
    """Add i before k wherever i is before j and j before k, until nothing is missing."""
    pairs = {(int(i), int(j)) for i, j in np.argwhere(relation)}
    while True:
        implied = {(i, k) for i, j in pairs for j2, k in pairs if j == j2} - pairs
        if not implied:
            return matrix(pairs, len(relation))
        pairs |= implied


def covers(closed):
    """Keep the pairs with nothing between them."""
    n_items = len(closed)
    return matrix(
        {
            (i, j)
            for i, j in np.argwhere(closed)
            if not any(closed[i, k] and closed[k, j] for k in range(n_items))
        },
        n_items,
    )


def matrix(pairs, n_items):
    result = np.zeros((n_items, n_items), dtype=bool)
    for i, j in pairs:
        result[i, j] = True
    return result


def linear_extensions(order):
    """Try all permutations."""
    return [list(listing) for listing in permutations(order.items) if extends(order, listing)]


def extends(order, listing):
    return all(listing.index(a) < listing.index(b) for a, b in order.closure_pairs)


def is_chain(order, labels):
    related = set(order.closure_pairs)
    return all((a, b) in related or (b, a) in related for a, b in combinations(labels, 2))


def is_antichain(order, labels):
    related = set(order.closure_pairs)
    return not any((a, b) in related or (b, a) in related for a, b in combinations(labels, 2))


def longest(order, test):
    """Return the size of the largest set of items that passes ``test(order, labels)``."""
    sizes = range(order.n_items, 0, -1)
    return next((k for k in sizes if any(test(order, c) for c in combinations(order.items, k))), 0)


def level(order, label):
    """Return the number of items in the longest chain that ends just before ``label``."""
    return max((level(order, a) + 1 for a, b in order.closure_pairs if b == label), default=0)


def frontier(order, remaining):
    related = set(order.closure_pairs)
    return {b for b in remaining if not any((a, b) in related for a in remaining)}
