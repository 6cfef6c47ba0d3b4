"""The protocol of docs/crash_safety.md as a model without Spark, played exhaustively: every interleaving of a few acts.

A world has one ledger, one projection and the blocks that have landed. An act is a chain of steps. A step is what no other act
can interrupt: a listing, what one statement reads, or one commit. An act that is killed takes no further step; so each world
that is reached must be made whole by one plain run of both tables, as if all acts had died there.

`Broken` is raised where a promise does not hold: a run is committed on the state that it was computed on, no block is folded
twice, the state at a number never changes, an undo leaves the state before its batch, a projection adds up to the ledger's state
at the projection's number, and a reader sees a state that was.

Two things are not in the model, and docs/crash_safety.md names them: on plain parquet, a table that is dropped and created again
between another act's look and its registration; and one that is dropped and never created again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

State = int  # the blocks that are folded, a bit each
Sums = int  # how often each block counts in a projection: a hexadecimal digit each, which stays far from 8
LANDED, MOST = 3, 5  # blocks at the beginning, and blocks that may land in all
TORN = -1  # the state of batches that do not belong together
EMPTY = None  # what a number without rows holds


class Broken(Exception):
    """A promise does not hold. The text says which, and after which steps."""


@cache
def as_sums(state: State) -> Sums:
    """Return the sums in which each block of a state counts once."""
    return sum(16**block for block in range(state.bit_length()) if state >> block & 1)


class Batch(NamedTuple):
    """A ledger's batch: the state that it was computed on (none for a compacted one), and the state that it leaves."""

    before: State | None
    after: State

    @property
    def folded(self) -> State:
        """The blocks that its notes name."""
        return self.after & ~(self.before or 0)

    @property
    def sums(self) -> Sums:
        """What its rows add up to by sign."""
        return as_sums(self.after) - as_sums(max(self.before or 0, 0))


class Listed(NamedTuple):
    """What an act knows of a table that it has described and listed."""

    identity: int
    of: int
    first: int
    numbers: tuple[int, ...]

    @property
    def compacted(self) -> int | None:
        """The number up to which the compacted batch stands for all; none in an unfinished table."""
        return -self.numbers[0] if self.numbers and self.numbers[0] <= 0 else None

    @property
    def last(self) -> int:
        """The greatest absolute number, 0 without any."""
        return max(map(abs, self.numbers), default=0)

    @property
    def visible(self) -> tuple[int, ...]:
        """The numbers that readers see, the compacted one first."""
        upto = self.compacted
        return () if upto is None else tuple(number for number in self.numbers if number == -upto or number > upto)

    @property
    def garbage(self) -> tuple[int, ...]:
        """The numbers that the compacted batch stands for."""
        seen = self.visible
        return tuple(number for number in self.numbers if seen and number not in seen)


class Table(NamedTuple):
    """A ledger or a projection.

    `identity` is new with each CREATE, `first` the number that the table begins at, and `of` a projection's ledger by its
    identity, 0 in a ledger. `past` is the state of a ledger at each number that has been its last one; no act reads it.
    """

    identity: int
    of: int
    first: int
    batches: tuple[tuple[int, Any], ...] = ()
    past: tuple[tuple[int, State], ...] = ()

    @property
    def listed(self) -> Listed:
        """What an act finds out by describing and listing the table."""
        return Listed(self.identity, self.of, self.first, tuple(number for number, _ in self.batches))

    def read(self, numbers: Iterable[int]) -> list:
        """Return the contents of batches in their order, without those that are empty or gone."""
        there = dict(self.batches)
        return [there[number] for number in sorted(numbers) if there.get(number) is not EMPTY]

    def state(self, numbers: Iterable[int]) -> State:
        """Return the state that a ledger's batches leave; TORN if one was computed on another state than those before leave."""
        state = 0
        for before, after in self.read(numbers):
            if before not in (None, state):
                return TORN
            state = after
        return state

    def with_batches(self, batches: dict[int, Any]) -> Table:
        """Return the table with these batches. Broken if it is a ledger that is torn or has changed its state at a number."""
        table = self._replace(batches=tuple(sorted(batches.items())))
        listed = table.listed
        if self.of or listed.compacted is None:
            return table
        state, past = table.state(listed.visible), dict(self.past)
        if state == TORN or past.get(listed.last, state) != state:
            raise Broken(f"the ledger's state at {listed.last} was {past.get(listed.last)} and is {state}: {table.batches}")
        return table._replace(past=tuple(sorted((past | {listed.last: state}).items())))


class World(NamedTuple):
    """What there is: the tables, the blocks that have landed, and how many identities were given out."""

    ledger: Table | None = None
    projection: Table | None = None
    landed: State = 0
    identities: int = 0

    def created(self, name: str, of: int = 0, first: int = 0) -> World:
        """Return the world in which a table is new and empty."""
        return self._replace(**{name: Table(self.identities + 1, of, first)}, identities=self.identities + 1)

    def changed(self, name: str, batches: dict[int, Any]) -> World:
        """Return the world in which a table has these batches. Broken as in with_batches, or if a projection's sums are wrong."""
        world = self._replace(**{name: getattr(self, name).with_batches(batches)})
        ledger, projection = world.ledger, world.projection
        if name == "projection" and ledger and projection.of == ledger.identity and projection.listed.compacted is not None:
            number, sums = projection.listed.last, sum(projection.read(projection.listed.visible))
            state = dict(ledger.past)[number]
            if sums != as_sums(state):
                raise Broken(f"the projection at {number} has {sums:x} of {state:b}: {projection.batches}")
        return world

    def stages(self) -> Iterator[World]:
        """Return the worlds in which a stage may be found that is read now: a block may have landed right before."""
        yield self
        if self.landed.bit_length() < MOST:
            yield self.with_block()

    def with_block(self) -> World:
        """Return the world in which one more block has landed."""
        return self._replace(landed=2 * self.landed + 1)


@dataclass(frozen=True)
class Protocol:
    """The rules of a format. Each but the first and the last can be left out, to see that it is needed."""

    has_log: bool
    looks: bool = True  # before it publishes, an act looks whether what it has read is still there
    asks_identity: bool = True  # who fills a table looks whether it is still the one that was created or found
    guards_all: bool = True  # a log refuses a commit if any number has come, not only one like its own or above
    takes_empties: bool = True  # plain parquet takes the positive number of a compacted batch too, and those that are skipped
    spares_newer: bool = True  # a log's delete of garbage leaves a compacted batch that is newer than its own
    sees_gaps: bool = True  # a projection looks whether its ledger has compacted what it has not read
    merges_at: int = 2  # batches above its compacted one at which a projection merges them


class Commit(NamedTuple):
    """What an act has written out of sight, and what must hold when it is published."""

    name: str  # of the table
    listed: Listed  # the table as the act has listed it
    batches: tuple[tuple[int, Any], ...]
    wrote: int  # the identity of the table in whose folder, or on whose snapshot, it is written
    reads: tuple[int, ...] = ()  # own numbers that must still be there
    source: tuple[int, ...] = ()  # numbers of a projection's ledger that must still be there
    beside_runs: bool = False  # numbers may have come, but no compacted one
    fills: bool = False  # the table is new or unfinished, and must still be the listed one
    undoes: int | None = None  # the batch from which on all are undone


# A step is a function and what its act knows by then. It is called with the rules, the world and these, and returns the worlds
# that it may lead to, with the act's next step in each. Nothing: the act is over, or refused.
Step = tuple
Steps = Iterator[tuple[World, Step | None]]


# ---- writing


def written(rules: Protocol, world: World, commit: Commit, then: Step | None = None) -> Steps:
    """The statement that has written a commit ends. With a log, it has asked by itself for what plain parquet looks at later."""
    if not rules.has_log:
        yield world, (look, commit, then)
    elif looks_right(rules, world, commit):
        yield world, (publish, commit, then)


def looks_right(rules: Protocol, world: World, commit: Commit) -> bool:
    """Return whether what a commit stands on is still there; with a log, of its own table only the identity."""
    own, there = getattr(world, commit.name), world.ledger.listed.numbers if world.ledger else ()
    if own is None or (rules.asks_identity and commit.fills and own.identity != commit.listed.identity):
        return False
    if not rules.looks:
        return True
    if not set(commit.source) <= set(there):
        return False
    if rules.has_log:
        return True
    is_moved = commit.beside_runs and own.listed.compacted != commit.listed.compacted
    return not is_moved and set(commit.reads) <= set(own.listed.numbers)


def look(rules: Protocol, world: World, commit: Commit, then: Step | None) -> Steps:
    """Plain parquet: look again before publishing."""
    if looks_right(rules, world, commit):
        yield world, (publish, commit, then)


def publish(rules: Protocol, world: World, commit: Commit, then: Step | None) -> Steps:
    """The one act: register partitions, none of which may be there, or commit, unless the log has something against it."""
    own = getattr(world, commit.name)
    if own is None or (rules.has_log and not log_accepts(rules, own, commit)):
        return
    batches = dict(commit.batches)
    if batches.keys() & dict(own.batches).keys():
        return
    if own.identity != commit.wrote:  # the folder has gone with the table that it was written into
        batches = dict.fromkeys(batches, EMPTY)
    after = world.changed(commit.name, dict(own.batches) | batches)
    if commit.undoes is not None and own.identity == commit.wrote and min(batches) == after.ledger.listed.numbers[0]:
        left = max((one for one in own.past if one[0] < commit.undoes), default=(0, 0))[1]
        if after.ledger.state(after.ledger.listed.visible) != left:
            raise Broken(f"an undo from {commit.undoes} should have left {left:b}: {after.ledger.batches}")
    yield after, then


def log_accepts(rules: Protocol, own: Table, commit: Commit) -> bool:
    """Return whether a log takes a commit, whose statement has asked for the listed numbers."""
    now, listed = own.listed, commit.listed
    if own.identity != commit.wrote or now.compacted != listed.compacted:
        return False
    upto = listed.last if rules.guards_all else max(abs(number) for number, _ in commit.batches) - 1
    return commit.beside_runs or not any(abs(number) > upto for number in now.numbers)


def compacted(rules: Protocol, number: int, content: Any) -> tuple[tuple[int, Any], ...]:
    """Return a compacted batch under a number of its own."""
    return ((-number, content), *empties(rules, number))


def empties(rules: Protocol, *numbers: int) -> tuple[tuple[int, Any], ...]:
    """Return the numbers that plain parquet takes empty in the same statement."""
    return () if rules.has_log or not rules.takes_empties else tuple((number, EMPTY) for number in numbers)


def drop_garbage(rules: Protocol, world: World, name: str, numbers: tuple[int, ...], then: Step | None) -> Steps:
    """Plain parquet: drop partitions one after the other, each of which may be gone already."""
    table = getattr(world, name)
    if not numbers:
        yield world, then
    elif table:
        rest = {number: batch for number, batch in table.batches if number != numbers[0]}
        yield world.changed(name, rest), (drop_garbage, name, numbers[1:], then)


def delete_garbage(rules: Protocol, world: World, name: str, upto: int) -> Steps:
    """With a log: delete what the compacted batch stands for that was just committed."""
    table = getattr(world, name)
    if table:
        least = -upto if rules.spares_newer else -table.listed.last
        garbage = [number for number in table.listed.numbers if least <= number <= upto and number != -upto]
        yield world.changed(name, {number: batch for number, batch in table.batches if number not in garbage}), None


def garbage_of(rules: Protocol, name: str, listed: Listed, upto: int) -> Step:
    """Return the step that follows a compacted batch: plain parquet drops what was garbage when the act listed the table."""
    return (delete_garbage, name, upto) if rules.has_log else (drop_garbage, name, listed.garbage, None)


# ---- acts on a ledger


def run(rules: Protocol, world: World) -> Steps:
    """List the ledger, which has to be created, to be filled, or just gets a batch."""
    if world.ledger is None:
        yield world, (create_ledger,)
        return
    listed = world.ledger.listed
    yield world, (fill_ledger, listed) if listed.compacted is None else (read_stage, listed)


def read_stage(rules: Protocol, world: World, listed: Listed) -> Steps:
    """Read the notes of the visible batches, and plan the blocks of the stage that they do not name."""
    folded = 0
    for batch in world.ledger.read(listed.visible) if world.ledger else ():
        folded |= batch.folded
    for now in world.stages() if world.ledger else ():
        if now.landed & ~folded:
            yield now, (fold, listed, now.landed & ~folded)


def fold(rules: Protocol, world: World, listed: Listed, unread: State) -> Steps:
    """Look the last states up in the visible batches, and write a batch."""
    if world.ledger is None:
        return
    before = world.ledger.state(listed.visible)
    if before != TORN and before & unread:
        raise Broken(f"a run folds {unread:b} again into {before:b}")
    batch = Batch(before, max(before, 0) | unread)
    commit = Commit("ledger", listed, ((listed.last + 1, batch),), world.ledger.identity, listed.visible)
    yield from written(rules, world, commit)


def create_ledger(rules: Protocol, world: World) -> Steps:
    """Create a table where there was none: an error if there is one by now."""
    if world.ledger is None:
        world = world.created("ledger")
        yield world, (fill_ledger, world.ledger.listed)


def create_again(rules: Protocol, world: World) -> Steps:
    """A full refresh with other columns or settings."""
    yield world, (replace_ledger,) if world.ledger else (create_ledger,)


def replace_ledger(rules: Protocol, world: World) -> Steps:
    """Drop the table, and create it with a first number above all that it has right before that."""
    if world.ledger:
        old = world.ledger.listed
        world = world.created("ledger", first=max(old.first, old.last) + 1)
        yield world, (fill_ledger, world.ledger.listed)


def fill_ledger(rules: Protocol, world: World, listed: Listed) -> Steps:
    """Write the first batch of a table, which also takes the table's first number and its negative."""
    first = max(listed.first, listed.last + 1) if listed.numbers else listed.first
    for now in world.stages() if world.ledger else ():
        batches = {-first: EMPTY, first: EMPTY, first + 1: Batch(0, now.landed)}
        commit = Commit("ledger", listed, tuple(batches.items()), now.ledger.identity, fills=True)
        yield from written(rules, now, commit)


def optimize(rules: Protocol, world: World) -> Steps:
    """List the ledger and its projection: all batches up to one that the projection has read are due."""
    if world.ledger is None or world.ledger.listed.compacted is None:
        return
    listed, upto = world.ledger.listed, world.ledger.listed.last
    if world.projection and world.projection.of == listed.identity:
        of = world.projection.listed
        upto = of.last if of.compacted is not None and listed.compacted <= of.last <= upto else upto
    due = [number for number in listed.visible if listed.compacted < number <= upto]
    for number in due[-2:]:
        yield world, (compact, listed, number)


def compact(rules: Protocol, world: World, listed: Listed, number: int) -> Steps:
    """Write the state at a number as a compacted batch."""
    if world.ledger is None:
        return
    reads = tuple(one for one in listed.visible if one <= number)
    batch = Batch(None, world.ledger.state(reads))
    commit = Commit("ledger", listed, ((-number, batch),), world.ledger.identity, reads, beside_runs=True)
    yield from written(rules, world, commit, garbage_of(rules, "ledger", listed, number))


def undo(rules: Protocol, world: World) -> Steps:
    """List the ledger, of which one of the last two batches of runs is undone, and all after it."""
    listed = world.ledger.listed if world.ledger else None
    rows = [number for number, batch in world.ledger.batches if batch is not EMPTY and batch.before is not None] if listed else []
    for number in [number for number in rows if number in listed.visible][-2:]:
        yield world, (leave, listed, number)


def leave(rules: Protocol, world: World, listed: Listed, number: int) -> Steps:
    """Write what the batches before the undone ones leave."""
    if world.ledger is None:
        return
    reads = tuple(one for one in listed.visible if one < number)
    batch, own = Batch(None, world.ledger.state(reads)), listed.last + 1
    commit = Commit("ledger", listed, compacted(rules, own, batch), world.ledger.identity, reads, undoes=number)
    yield from written(rules, world, commit, garbage_of(rules, "ledger", listed, own))


def full_refresh(rules: Protocol, world: World) -> Steps:
    """A full refresh with the same columns and settings: list the ledger."""
    if world.ledger and world.ledger.listed.compacted is not None:
        yield world, (fold_all, world.ledger.listed)


def fold_all(rules: Protocol, world: World, listed: Listed) -> Steps:
    """Write the whole stage as a compacted batch."""
    own = listed.last + 1
    for now in world.stages() if world.ledger else ():
        batch = Batch(None, now.landed)
        commit = Commit("ledger", listed, compacted(rules, own, batch), now.ledger.identity, listed.visible[:1])
        yield from written(rules, now, commit, garbage_of(rules, "ledger", listed, own))


# ---- acts on a projection


def run_projection(rules: Protocol, world: World, is_anew: bool = False) -> Steps:
    """List the projection's own table."""
    yield world, (plan_projection, world.projection and world.projection.listed, is_anew)


def create_projection_again(rules: Protocol, world: World) -> Steps:
    """A full refresh of a projection."""
    yield from run_projection(rules, world, is_anew=True)


def plan_projection(rules: Protocol, world: World, own: Listed | None, is_anew: bool) -> Steps:
    """List the ledger. The first case that holds says what is due."""
    ledger = world.ledger and world.ledger.listed
    if ledger is None or ledger.compacted is None:
        return
    last, w = ledger.last, own and own.last
    if own is None:
        yield world, (create_projection, ledger.identity)
    elif is_anew or own.of != ledger.identity or last < w:
        yield world, (replace_projection, ledger.identity, False)
        if own.of == ledger.identity and own.compacted is not None and last > w:
            yield world, (add_up_all, own, last, ledger.visible)  # a full refresh that finds a number for it
    elif own.compacted is None:
        yield world, (add_up_all, own, last, ledger.visible) if last > w else (replace_projection, ledger.identity, True)
    elif last > w and ledger.compacted > w and rules.sees_gaps:
        yield world, (add_up_all, own, last, ledger.visible)
    elif last > w:
        yield world, (add_up, own, last, tuple(number for number in ledger.numbers if number > w))


def create_projection(rules: Protocol, world: World, of: int) -> Steps:
    """Create a table where there was none: an error if there is one by now."""
    if world.projection is None:
        world = world.created("projection", of)
        yield world, (list_anew, world.projection.listed)


def replace_projection(rules: Protocol, world: World, of: int, is_unfinished: bool) -> Steps:
    """Drop the table and create it, unless it was found unfinished and somebody has finished it since."""
    if world.projection and not (is_unfinished and world.projection.listed.compacted is not None):
        world = world.created("projection", of)
        yield world, (list_anew, world.projection.listed)


def list_anew(rules: Protocol, world: World, own: Listed) -> Steps:
    """List the ledger again after the CREATE."""
    if world.ledger and world.ledger.identity == own.of and world.ledger.listed.compacted is not None:
        yield world, (add_up_all, own, world.ledger.listed.last, world.ledger.listed.visible)


def add_up_all(rules: Protocol, world: World, own: Listed, last: int, source: tuple[int, ...]) -> Steps:
    """Write the sums of the whole ledger."""
    if world.ledger and world.projection:
        sums = sum(batch.sums for batch in world.ledger.read(source))
        yield from write_compacted(rules, world, own, last, source, sums)


def add_up(rules: Protocol, world: World, own: Listed, last: int, source: tuple[int, ...]) -> Steps:
    """Write the sums of new batches, or merge them with what the projection has."""
    if world.ledger is None or world.projection is None:
        return
    sums, [stands_for_all, *above] = sum(batch.sums for batch in world.ledger.read(source)), own.visible
    if len(above) >= rules.merges_at:
        sums += sum(world.projection.read(own.visible))
        yield from write_compacted(rules, world, own, last, source, sums)
        return
    batches = (*empties(rules, *range(own.last + 1, last)), (last, sums))
    commit = Commit("projection", own, batches, world.projection.identity, (stands_for_all,), source)
    yield from written(rules, world, commit)


def write_compacted(rules: Protocol, world: World, own: Listed, last: int, source: tuple[int, ...], sums: Sums) -> Steps:
    """Write a projection's compacted batch."""
    identity, fills = world.projection.identity, own.compacted is None
    commit = Commit("projection", own, compacted(rules, last, sums), identity, own.visible, source, fills=fills)
    yield from written(rules, world, commit, garbage_of(rules, "projection", own, last))


# ---- readers


def read(rules: Protocol, world: World, name: str = "ledger") -> Steps:
    """A query over plain parquet finds the compacted number before it lists the rows that it reads."""
    table = getattr(world, name)
    if table and table.listed.compacted is not None:
        yield world, (read_rows, name, table.listed)


def read_projection(rules: Protocol, world: World) -> Steps:
    """The same of a projection."""
    yield from read(rules, world, "projection")


def read_rows(rules: Protocol, world: World, name: str, found: Listed) -> Steps:
    """List and read the rows. Broken if they are of no state that was, and the table is still the same."""
    table, ledger = getattr(world, name), world.ledger
    if table and table.identity == found.identity and found.of in (0, ledger.identity):
        rows = [number for number, _ in table.batches if number == -found.compacted or number > found.compacted]
        states = dict(ledger.past).values()
        if table.state(rows) not in states if name == "ledger" else sum(table.read(rows)) not in map(as_sums, states):
            raise Broken(f"a reader of the {name} has seen {table.read(rows)}")
    yield from ()


ACTS: dict[str, Callable[..., Steps]] = {
    "run": run,
    "optimize": optimize,
    "undo": undo,
    "full refresh": full_refresh,
    "created again": create_again,
    "projection's run": run_projection,
    "projection created again": create_projection_again,
    "reader": read,
    "projection's reader": read_projection,
}
WRITERS = tuple(name for name in ACTS if "reader" not in name)
DROPS = (replace_ledger, replace_projection)

# ---- playing


def alone(rules: Protocol, world: World, *acts: str) -> World:
    """Return the world after acts that nobody disturbs."""
    for act in acts:
        step: Step | None = (ACTS[act],)
        while step:
            world, step = next(step[0](rules, world, *step[1:]), (world, None))
    return world


def beginning(rules: Protocol) -> World:
    """Return a world of three folded blocks, whose projection is a batch behind."""
    world = World()
    for landed in range(LANDED):
        world = alone(rules, world.with_block(), *(("run", "projection's run") if landed < LANDED - 1 else ("run",)))
    return world


def is_made_whole(rules: Protocol, world: World) -> None:
    """Run both tables, and once more when another block has landed. Broken if one of them misses or doubles a block."""
    for whole in (world, world.with_block()):
        world = alone(rules, world._replace(landed=whole.landed), "run", "projection's run")
        ledger, projection = world.ledger, world.projection
        if ledger.listed.compacted is None or ledger.state(ledger.listed.visible) != world.landed:
            raise Broken(f"a plain run leaves {ledger.batches} of {world.landed:b}")
        sums = sum(projection.read(projection.listed.visible))
        if projection.listed.compacted is None or sums != as_sums(world.landed):
            raise Broken(f"a plain run leaves the projection at {sums:x} of {world.landed:b}: {projection.batches}")


class Play:
    """Plays sets of acts: all interleavings of all sets at once, so that what sets have in common is played once.

    Parameters
    ----------
    rules : Protocol
        The rules.
    sets : iterable of tuple of str
        Names of ACTS that are at work together.
    world : World, optional
        Where they begin; by default in `beginning`.
    """

    def __init__(self, rules: Protocol, sets: Iterable[tuple[str, ...]], world: World | None = None) -> None:
        self._rules = rules
        self._worlds: list[World] = []
        self._steps: list[Step] = []
        self._numbers: dict[World | Step, int] = {}
        self._moves: dict[tuple[int, int], list[tuple[int, int | None]]] = {}
        begins = self._world(beginning(rules) if world is None else world)
        # A state is the number of its world, and in order those of the steps that acts are at: whose they are makes no
        # difference. Each with the state that it was first reached from.
        starts = [(begins, *sorted(self._step((ACTS[act],)) for act in acts)) for acts in sets]
        self._reached: dict[tuple[int, ...], tuple[int, ...] | None] = dict.fromkeys(starts)

    def play(self) -> int:
        """Play everything; returns how many states there are. Broken, with the way there, if a promise does not hold."""
        waiting, reached = deque(self._reached), self._reached
        while waiting:
            state = waiting.popleft()
            world, *steps = state
            for place, step in enumerate(steps):
                if self._is_in_the_way(step, steps):
                    continue
                try:
                    follows = self._after(world, step)
                except Broken as broken:
                    raise Broken(f"{broken}\nafter {', '.join([*self._way(state), self._name(step)])}") from None
                others = steps[:place] + steps[place + 1 :]
                for after, then in follows:
                    new = (after, *(others if then is None else sorted([*others, then])))
                    if new not in reached:
                        reached[new] = state
                        waiting.append(new)
        return len(reached)

    def _world(self, world: World) -> int:
        """Return the number of a world. Broken if one plain run does not make it whole."""
        if world not in self._numbers:
            is_made_whole(self._rules, world)
            self._numbers[world] = len(self._worlds)
            self._worlds.append(world)
        return self._numbers[world]

    def _step(self, step: Step) -> int:
        """Return the number of a step."""
        if step not in self._numbers:
            self._numbers[step] = len(self._steps)
            self._steps.append(step)
        return self._numbers[step]

    def _after(self, world: int, step: int) -> list[tuple[int, int | None]]:
        """Return the worlds that a step leads to and the steps that follow, found out once for each world."""
        if (world, step) not in self._moves:
            does, *known = self._steps[step]
            follows = does(self._rules, self._worlds[world], *known)
            self._moves[world, step] = [
                (self._world(after), None if then is None else self._step(then)) for after, then in follows
            ]
        return self._moves[world, step]

    def _is_in_the_way(self, step: int, steps: list[int]) -> bool:
        """Return whether a step would drop a plain table between a look and a registration, which is not in the model."""
        drops = not self._rules.has_log and self._steps[step][0] in DROPS
        return drops and any(self._steps[other][0] is publish for other in steps)

    def _way(self, state: tuple[int, ...]) -> list[str]:
        """Return the names of the steps by which a state was reached."""
        names: list[str] = []
        while before := self._reached[state]:
            [done] = (Counter(before[1:]) - Counter(state[1:])).elements()
            names.insert(0, self._name(done))
            state = before
        return names

    def _name(self, step: int) -> str:
        """Return the name of a step; of one that publishes with the numbers."""
        does, *known = self._steps[step]
        return f"publish {[number for number, _ in known[0].batches]}" if does is publish else does.__name__
