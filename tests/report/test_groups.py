from __future__ import annotations

import numpy as np
import pytest

from posetta.errors import InputError
from posetta.report import Groups, read_groups
from posetta.report.groups import group_content


def written(tmp_path, text):
    path = tmp_path / "groups.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_reads_items_groups_and_names(tmp_path) -> None:
    path = written(
        tmp_path, 'id,name,group_inferred,n\nA1,"Ada, Bishop",bishop,3\nA2,,earl,4\nA3,Cid,,1\n'
    )
    groups = read_groups(path)
    assert groups.group == {"A1": "bishop", "A2": "earl"}
    assert groups.name == {"A1": "Ada, Bishop", "A3": "Cid"}


def test_the_column_named_group_comes_before_those_named_alike(tmp_path) -> None:
    path = written(tmp_path, "item,group_size,group\na,9,earl\n")
    assert read_groups(path).group == {"a": "earl"}


def test_reads_the_plain_form_with_a_byte_order_mark(tmp_path) -> None:
    assert read_groups(written(tmp_path, "\ufeffgroup,item\ng,a\n")).group == {"a": "g"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'it needs "item"'),
        ("item,colour\na,red\n", "has the columns item, colour"),
        ("item,group\n,red\n", "line 2"),
        ("item,group\na,red\na,blue\n", 'line 3: "a" has a group already'),
    ],
)
def test_bad_files_are_named(tmp_path, text, message) -> None:
    with pytest.raises(InputError, match=message):
        read_groups(written(tmp_path, text))


def test_a_missing_file_and_other_encodings_are_input_errors(tmp_path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_groups(tmp_path / "none.csv")
    path = tmp_path / "latin.csv"
    path.write_bytes("item,group\né,ü\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_groups(path)


def test_groups_of_other_items_are_refused() -> None:
    with pytest.raises(InputError, match="none of the 2 items"):
        Groups({"x": "g"}).check(["a", "b"])


def test_agreement_by_hand() -> None:
    # a1, a2 precede b1; b2 precedes a2 only: three pairs along, one against.
    items = ["b1", "a1", "b2", "a2"]
    groups = Groups({"a1": "A", "a2": "A", "b1": "B", "b2": "B"})
    precedence = np.zeros((4, 4))
    precedence[1, 0] = precedence[3, 0] = 1.0
    precedence[1, 2] = 0.5
    precedence[2, 3] = 0.5
    found = group_content(groups, items, precedence)
    assert found["names"] == ["A", "B"]
    assert found["of_item"] == [1, 0, 1, 0]
    assert found["along"] == pytest.approx(2.5 / 3.0)
    assert found["before"] == [[0.0, 0.625], [0.125, 0.0]]


def test_items_without_a_group_count_nowhere() -> None:
    found = group_content(Groups({"a": "A"}), ["a", "b"], np.array([[0, 1.0], [0, 0]]))
    assert found["of_item"] == [0, -1]
    assert found["along"] is None
    assert group_content(Groups({}), ["a"], np.zeros((1, 1))) is None


def test_the_public_actors_file(shared_data) -> None:
    groups = read_groups(shared_data / "royal_acta" / "actors.csv")
    assert len(groups.group) == 47
    assert groups.group["A01"] == "bishop"
    assert groups.name["A01"] == "Adelulf, Bishop of Carlisle"
