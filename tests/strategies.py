"""Hypothesis strategies: random relations, orders and traces, small enough to read."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from posetta.order import Poset

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def labels(n_items: int) -> list[str]:
    return list(LETTERS[:n_items])


@st.composite
def relations(draw, max_items=7):
    """Any bool matrix, cycles and loops included."""
    n_items = draw(st.integers(0, max_items))
    return draw(arrays(np.bool_, (n_items, n_items)))


@st.composite
def acyclic_relations(draw, min_items=0, max_items=7):
    """A bool matrix without cycles, its items in no particular order."""
    n_items = draw(st.integers(min_items, max_items))
    upper = np.triu(draw(arrays(np.bool_, (n_items, n_items))), k=1)
    shuffled = draw(st.permutations(range(n_items)))
    return upper[np.ix_(shuffled, shuffled)]


@st.composite
def latents(draw, max_items=7, max_dim=3):
    """A latent matrix with few distinct values, so that ties are common."""
    shape = (draw(st.integers(1, max_items)), draw(st.integers(1, max_dim)))
    return draw(arrays(np.float64, shape, elements=st.integers(-3, 3).map(float)))


@st.composite
def posets(draw, min_items=0, max_items=7):
    """An order on the first letters of the alphabet."""
    relation = draw(acyclic_relations(min_items, max_items))
    return Poset.from_matrix(relation, labels(len(relation)))


@st.composite
def traces(draw, items, max_traces=5):
    """A list of traces, each a list of distinct items of the given universe."""
    trace = st.lists(st.sampled_from(items), min_size=1, unique=True)
    return draw(st.lists(trace, min_size=1, max_size=max_traces))


hostile_labels = st.text(
    st.one_of(
        st.sampled_from("\"'\\<>[]{}()|#&;%`*_-\n\r\t\0\u2028$/:."),
        st.characters(exclude_categories=["Cs"]),
    ),
    min_size=1,
).filter(lambda text: text.strip())
