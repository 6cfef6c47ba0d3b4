"""Every interleaving of a few acts, each of which may be killed at any step, keeps the promises; and each rule is needed."""

from __future__ import annotations

import random
from itertools import combinations_with_replacement

import pytest

from support.protocol import WRITERS, Broken, Play, Protocol, World

pytestmark = pytest.mark.only("parquet")  # it needs no Spark
FORMATS = [pytest.param(False, id="parquet"), pytest.param(True, id="log")]
THREE = list(combinations_with_replacement(WRITERS, 3))


@pytest.mark.parametrize("has_log", FORMATS)
def test_any_three_acts_lose_nothing_and_double_nothing(has_log: bool) -> None:
    assert Play(Protocol(has_log), THREE).play() > 40_000


@pytest.mark.parametrize("has_log", FORMATS)
def test_any_three_acts_that_find_no_tables_lose_nothing_and_double_nothing(has_log: bool) -> None:
    for blocks in (0, 1):
        assert Play(Protocol(has_log), THREE, World(landed=blocks)).play() > 3_000


@pytest.mark.full
@pytest.mark.parametrize("has_log", FORMATS)
def test_any_four_acts_lose_nothing_and_double_nothing(has_log: bool) -> None:
    assert Play(Protocol(has_log), combinations_with_replacement(WRITERS, 4)).play() > 1_000_000


@pytest.mark.full
@pytest.mark.parametrize("has_log", FORMATS)
def test_five_acts_lose_nothing_and_double_nothing(has_log: bool) -> None:
    """A sample of the sets that have a run and a projection's run."""
    others = [*combinations_with_replacement(WRITERS, 3)]
    for acts in random.Random(20261129).sample(others, 8):
        Play(Protocol(has_log), [("run", "projection's run", *acts)]).play()


def test_a_reader_whom_one_act_overtakes_sees_a_state_that_was() -> None:
    """Of plain parquet; with a log a query reads one snapshot."""
    overtaken = [(act, reader) for act in WRITERS for reader in ("reader", "projection's reader")]
    assert Play(Protocol(False), overtaken).play() > 200


@pytest.mark.parametrize("acts", [("optimize", "optimize"), ("undo", "run")])
def test_a_reader_whom_two_acts_overtake_is_not_covered(acts: tuple[str, str]) -> None:
    """Before it has listed what it reads; docs/crash_safety.md names it."""
    with pytest.raises(Broken, match="a reader of the ledger has seen"):
        Play(Protocol(False), [(*acts, "reader")]).play()


# Each rule that can be left out, whether the format has a log, and acts that show that it is needed.
NEEDED = [
    ("looks", False, THREE),
    ("looks", True, THREE),
    ("asks_identity", False, THREE),
    ("asks_identity", True, [("run", "optimize", "created again", "created again")]),
    ("guards_all", True, THREE),
    ("takes_empties", False, THREE),
    ("spares_newer", True, THREE),
    ("sees_gaps", False, THREE),
    ("sees_gaps", True, THREE),
]


@pytest.mark.parametrize(("rule", "has_log", "sets"), NEEDED, ids=[f"{rule}-{log}" for rule, log, _ in NEEDED])
def test_a_rule_that_is_left_out_breaks_a_promise(rule: str, has_log: bool, sets: list) -> None:
    with pytest.raises(Broken, match="(?s)\nafter .*publish"):
        Play(Protocol(has_log, **{rule: False}), sets).play()
