"""Graphs in parts: functions called for each, and their results joined."""

import pytest

from relaxwl.kernels.levels import FAN_IN, LocalTasks, Parts, Whole
from small_graphs import collection, random_graphs


@pytest.mark.parametrize("number", [1, FAN_IN, FAN_IN + 1, FAN_IN**2 + 1])
def test_results_are_joined_in_order_a_few_at_a_time(number):
    sizes = []

    def join(results):
        sizes.append(len(results))
        return "".join(results)

    letters = [chr(ord("a") + place % 26) for place in range(number)]
    assert Parts([], None, LocalTasks()).joined("join", join, letters) == "".join(letters)
    assert max(sizes) <= FAN_IN


def test_functions_are_called_for_each_part_with_what_it_had_before():
    parts = Parts(["one", "two"], None, LocalTasks())
    found = parts.each("name", lambda part, *given: (part, *given), 3)
    assert found == [("one", 3), ("two", 3)]
    assert parts.each("name", lambda part, own, given: (own[0], given), 4, own=found) == [("one", 4), ("two", 4)]
    assert len(parts) == 2


def test_what_is_made_of_graphs_in_memory_is_made_once():
    graphs = collection(random_graphs(3))
    parts, made = Whole(graphs), []

    def prepare(given):
        made.append(given)
        return len(given)

    assert parts.known(prepare) == 3
    assert parts.each("size", lambda part: part.prepared(prepare)) == [3]
    assert made == [graphs]
