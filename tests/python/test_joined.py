"""Joined ledgers: whatever happens on either side, in whatever order the runs come, final is the join of the finals."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable

import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, Statements, messages_of, model, values
from support.failpoint import Failpoint
from support.lives import operate
from support.targets import PLAIN, SERVERS

STAGES = {
    "orders": "id int, shop_id int, seller_id int, amount int, version int, is_deleted boolean, block string",
    "shops": "shop_id int, region string, tags map<string, int>, phone string, version int, is_deleted boolean, block string",
    "sellers": "company int, seller_id int, name string, position int, is_deleted boolean, block string",
}
LEDGERS = {
    "orders": LEDGER,
    "shops": LEDGER | {"key": "shop_id"},
    "sellers": {
        "engine": "collapsing",
        "key": ["company", "seller_id"],
        "order_by": "position",
        "is_deleted": "is_deleted",
        "block": "block",
    },
}
SHOPS = {"on": "shop_id", "columns": ["region"]}
SELLERS = {"on": {"seller_id": "seller_id", "shop_id": "company"}, "columns": {"seller": "name"}}
# name: (the call, its joins, SQL of the same join over the finals)
JOINED = {
    "wide": (
        "joined(ref('orders'), shops=ref('shops'))",
        {"shops": SHOPS},
        "select orders.*, shops.region from orders left join shops on orders.shop_id = shops.shop_id",
    ),
    "sold": (
        "joined(ref('orders'), first=ref('shops'), sellers=ref('sellers'))",
        {"first": SHOPS | {"type": "inner", "columns": {"region": "region", "tags": "tags"}}, "sellers": SELLERS},
        "select orders.*, region, tags, name as seller from orders inner join shops on orders.shop_id = shops.shop_id "
        "left join sellers on orders.seller_id = sellers.seller_id and orders.shop_id = sellers.company",
    ),
    "twice": (
        "joined(ref('wide'), seller=ref('sellers'), there=ref('shops'))",
        {"seller": SELLERS | {"type": "inner"}, "there": {"on": {"seller_id": "shop_id"}, "columns": {"there": "region"}}},
        "select orders.*, shops.region, name as seller, there.region as there from orders "
        "left join shops on orders.shop_id = shops.shop_id left join shops as there on orders.seller_id = there.shop_id "
        "inner join sellers on orders.seller_id = sellers.seller_id and orders.shop_id = sellers.company",
    ),
}
GROUPS = {"wide": ["region"], "sold": ["region", "seller"], "twice": ["there", "seller"]}


def models(schema: str, names=tuple(JOINED)) -> dict[str, str]:
    """Return the ledgers, joined ledgers, a projection of each, and what their finals must be, as views."""
    files = {}
    for name, settings in LEDGERS.items():
        files[f"models/stage_{name}.sql"] = f"{VIEW}select * from {schema}.arrived_{name}"
        files[f"models/{name}.sql"] = model(f"ledger(ref('stage_{name}'))", settings)
    finals = ", ".join(f"{name} as (select * from {{{{ collapsing.final(ref('{name}')) }}}})" for name in LEDGERS)
    for name, (call, joins, sql) in ((name, JOINED[name]) for name in names):
        share = {"rebuild_share": 0.3 if name == "sold" else 1.0}
        files[f"models/{name}.sql"] = model(call, {"join": joins} | share)
        measures = {"n": "count(*)", "amount": "sum(amount)", "least": "min(version)"}
        files[f"models/sums_of_{name}.sql"] = model(
            f"projection(ref('{name}'))", {"group_by": GROUPS[name], "measures": measures}
        )
        for what, of in {name: sql, f"sums_of_{name}": _aggregate(name)}.items():
            files[f"models/{what}_live.sql"] = f"{VIEW}select * from {{{{ collapsing.final(ref('{what}')) }}}}"
            ctes = finals if what == name else f"{name} as (select * from {{{{ ref('{name}_expected') }}}})"
            files[f"models/{what}_expected.sql"] = f"{VIEW}with {ctes} {of}"
    return files


def _aggregate(name: str) -> str:
    """Return the SQL of the groups of a joined ledger's rows."""
    groups = ", ".join(GROUPS[name])
    return f"select {groups}, count(*) as n, sum(amount) as amount, min(version) as least from {name} group by {groups}"


def check(project: DbtProject, name: str) -> None:
    """Compare a joined ledger and its projection with the join of the finals, and its rows with what a ledger's are."""
    schema = project.schema
    for what in (name, f"sums_of_{name}"):
        columns = ", ".join(
            f"to_json({column})" if dtype.startswith("map") else column
            for column, dtype in project.sql(f"select * from {schema}.{what}_expected").dtypes
        )
        live, expected = (Counter(project.rows(f"select {columns} from {schema}.{what}_{side}")) for side in ("live", "expected"))
        assert live == expected, f"{what}: only live {[*(live - expected)][:5]}, missing {[*(expected - live)][:5]}"
    key = f"from {schema}.{name} where ledger_sign <> 0 group by id"
    wrong = f"select id {key} having sum(ledger_sign) not in (0, 1) union all select id {key}, ledger_batch, ledger_sign"
    assert not project.rows(f"{wrong} having count(*) > 1"), f"{name}: a key has two live rows, or two of a sign in a batch"
    copies = "id, shop_id, seller_id, amount, version, " + ", ".join(GROUPS[name])
    rows = project.rows(f"select {copies} from {schema}.{name} group by {copies} having sum(ledger_sign) < 0")
    assert not rows, f"{name}: cancel rows that take nothing back: {rows[:5]}"


class World:
    """Three ledgers, the ledgers that join them, and what has happened to all of them."""

    def __init__(self, project: DbtProject, seed: int, joined=tuple(JOINED)) -> None:
        self.project, self.random, self.schema, self.joined = project, random.Random(seed), project.schema, joined
        self.done: list[str] = []
        self.has_appended = False
        self.blocks: dict[str, list[str]] = {name: [] for name in STAGES}
        project.sql(f"create schema if not exists {self.schema}")
        for name in [*LEDGERS, *joined, *(f"sums_of_{name}" for name in joined)]:
            for beside in ("", "__manifest", "__dropped"):
                project.sql(f"drop table if exists {self.schema}.{name}{beside}")
        for name, columns in STAGES.items():
            # not dropped: in Iceberg's session catalog a plain table leaves its folder, where none can be made again
            project.sql(f"create table if not exists {self.schema}.arrived_{name} ({columns}) using parquet")
            project.sql(f"truncate table {self.schema}.arrived_{name}")

    def land(self, *names: str | None) -> None:
        """Blocks arrive, of any ledger where None is given: rows that are new, changed, late, deleted, or come again."""
        landed: dict[str, list[str]] = {}
        for given in names:
            name = given or self.random.choice(("orders", "orders", "shops", "sellers"))
            landed.setdefault(name, []).append(self._next_block(name))
        for name, blocks in landed.items():
            self.project.sql(f"insert into {self.schema}.arrived_{name} {' union all '.join(blocks)}")

    def _next_block(self, name: str) -> str:
        """Return the query of the rows of a ledger's next block."""
        block = len(self.blocks[name]) + 1
        if self.blocks[name] and self.random.random() < 0.1:
            rows = self.random.choice(self.blocks[name])
        else:
            keys = {"orders": range(9), "shops": range(4), "sellers": [(c, s) for c in range(3) for s in range(2)]}[name]
            picked = self.random.sample([*keys], 4 if name == "orders" else 2)
            rows = ", ".join(self._row(name, key, place, block) for place, key in enumerate(picked))
        self.blocks[name].append(rows)
        return f"select *, 'b{block:04}' from values {rows}"

    def _row(self, name: str, key, place: int, block: int) -> str:
        """Return a row of a block as SQL: values follow from key and version, so that a row that comes again is the same."""
        pick, deleted = self.random.choice, self.random.random() < 0.25
        version = max(1, block - pick((0, 0, 0, 1, 3)))
        draw = random.Random(repr((name, key, version)))
        if name == "orders":
            shop, seller = draw.choice((0, 1, 2, 3, 7, None)), draw.choice((0, 1, 1, 7, None))
            return values([(key, shop, seller, 10 * version + key, version, deleted)])
        if name == "shops":
            tags = draw.choice(("map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)", "map('a', 3)", "cast(null as map<string, int>)"))
            region = repr(draw.choice(("north", "south", None)) or "").replace("''", "null")
            return f"({key}, {region}, {tags}, 'phone {version}', {version}, {str(deleted).lower()})"
        return values([(*key, draw.choice(("Ada", "Bo", None)), 100 * block + place, deleted)])

    def run_some(self) -> None:
        """Some ledgers fold what has arrived, and the joined ones do not hear of it yet."""
        self.run(*self.random.sample([*LEDGERS], self.random.choice((1, 2))))

    def run_joined(self) -> None:
        """Joined ledgers catch up, without what has arrived since."""
        names = self.random.sample(self.joined, min(len(self.joined), self.random.choice((1, 2))))
        self.run(*(["wide", *names] if "twice" in names else names))
        self.check(names)

    def run_all(self) -> None:
        """All of it, in order."""
        self.run(*LEDGERS, *self.joined)
        self.check(self.joined)

    def run(self, *names: str) -> None:
        """Run some ledgers, and the projections of those that are joined ones; views stay true without."""
        self.project.run("run", "--select", *names, *(f"sums_of_{name}" for name in names if name in JOINED))

    def check(self, names) -> None:
        """Compare joined ledgers that have read all that there is."""
        for name in names:
            check(self.project, name)
            rows = self.project.rows(f"select cancels from {self.schema}.{name}__history order by ledger_batch desc limit 1")
            self.has_appended = self.has_appended or rows[0][0] > 0

    def optimize(self) -> None:
        """The oldest batches of a ledger are folded into a base, those that all its readers have read."""
        keep = self.random.choice((0, 0, 1))
        assert operate(self.project, "optimize", model=self.random.choice([*LEDGERS, *self.joined]), keep_batches=keep).success

    def undo(self) -> None:
        """The newest batch of a side is taken back, if there is one that can be, and perhaps brought back."""
        name = self.random.choice([*LEDGERS])
        if operate(self.project, "undo", model=name).success and self.random.random() < 0.3:
            operate(self.project, "undo", model=name, redo=True)

    def refresh(self) -> None:
        """A ledger is built anew from its stage, or a joined one from its ledgers."""
        self.project.run("run", "--full-refresh", "--select", self.random.choice([*LEDGERS, *self.joined]))

    def die(self) -> None:
        """A run dies before one of its statements."""
        begins = self.random.choice(
            ("cache lazy table", "insert overwrite table", "insert into", "drop view", "describe", "select")
        )
        name = self.random.choice([*self.joined, *LEDGERS])
        self.project.invoke("run", callbacks=[Failpoint((name,), begins, self.random.randint(1, 4))])


STEPS = (*(World.run_some, World.run_joined, World.run_all) * 3, World.optimize, World.undo, World.refresh, World.die)


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A project of ledgers and joined ledgers; nothing has arrived."""
    return make_project("joining", models("joining"))


@pytest.mark.full
@pytest.mark.only("parquet", "delta", "iceberg")
@pytest.mark.parametrize("seed", range(1, 9))
def test_whatever_happens_final_is_the_join_of_the_finals(project, seed: int) -> None:
    world = World(project, seed)
    try:
        world.land(*STAGES, *STAGES)
        project.sql(f"insert into {project.schema}.arrived_orders values (100, 50, 1, 1, 1, false, 'steady')")
        project.sql(f"insert into {project.schema}.arrived_shops values (50, 'north', null, '', 1, false, 'steady')")
        project.run("run")
        for _ in range(12):
            world.land(*[None] * world.random.choice((1, 2, 4)))
            step = world.random.choice(STEPS)
            world.done.append(step.__name__)
            step(world)
        world.land("orders", "shops")
        project.sql(f"insert into {project.schema}.arrived_shops values (50, 'south', null, '', 2, false, 'moved')")
        world.run_all()
        assert world.has_appended, "no run has done more than build everything anew"
    except Exception as error:
        error.add_note(f"seed {seed}: {', '.join(world.done)}")
        raise


# Where a run of a joined ledger dies: before the statement that begins so.
STATEMENTS = (
    *("select substring_index", "cache lazy table `dying__wide__changed_shops", "cache lazy table `dying__wide__stayed"),
    *(
        "cache lazy table `dying__wide__unread",
        "cache lazy table `dying__wide__classified",
        "insert overwrite table dying.wide__manifest",
    ),
    *("insert overwrite table dying.wide ", "insert into dying.wide ", "drop view"),
)


@pytest.mark.full
@pytest.mark.only("parquet", "delta", "iceberg")
def test_a_run_that_dies_before_any_statement_is_made_good_by_the_next(make_project, target: str) -> None:
    project = make_project("dying", models("dying", ["wide"]))
    world = World(project, 7, ("wide",))
    world.land(*STAGES, *STAGES)
    project.run("run")
    never = "insert overwrite table dying.wide " if target != "parquet" else "insert into dying.wide "
    for begins in STATEMENTS:
        if begins == never:
            continue
        world.land("orders")
        project.sql(
            f"insert into dying.arrived_shops values (1, '{begins[-9:]}', null, '', {100 + len(world.done)}, false, '{begins}')"
        )
        world.done.append(begins)
        failpoint = Failpoint(("wide",), begins, 1)
        project.invoke("run", "--select", "orders", "shops", "wide", callbacks=[failpoint])
        assert failpoint.died == {"wide"}, begins
        world.run("wide")
        check(project, "wide")
    rows = project.rows("select ledger_batch, count(*) from dying.wide__history group by 1 having count(*) > 1")
    assert not rows, "a batch is twice in the history"
    assert len(project.batches("dying.wide")) == project.rows("select count(*) from dying.wide__history")[0][0]


@pytest.fixture(scope="module")
def small(make_project) -> DbtProject:
    """The worked example of docs/joins.md, after its first batches."""
    ledger = {"key": "id", "version": "version", "is_deleted": "is_deleted", "block": "block"}
    inner = {"join": {"shops": SHOPS | {"type": "inner"}}, "rebuild_share": 1.0}
    files = {
        "models/stage_orders.sql": f"{VIEW}select * from small.arrived_orders",
        "models/stage_shops.sql": f"{VIEW}select * from small.arrived_shops",
        "models/orders.sql": model("ledger(ref('stage_orders'))", ledger),
        "models/shops.sql": model("ledger(ref('stage_shops'))", ledger | {"key": "shop_id"}),
        "models/wide.sql": model("joined(ref('orders'), shops=ref('shops'))", {"join": {"shops": SHOPS}, "rebuild_share": 0.5}),
        "models/known.sql": model("joined(ref('orders'), shops=ref('shops'))", inner),
        "models/sums.sql": model("projection(ref('wide'))", {"group_by": ["region"], "measures": {"amount": "sum(amount)"}}),
        "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('sums')) }}",
        "models/tests.yml": "models: [{name: wide, data_tests: [collapsing.collapsed]}, "
        "{name: sums, data_tests: [collapsing.equals_recompute]}]\n",
    }
    project = make_project("small", files)
    project.sql("create schema if not exists small")
    common = "version int, is_deleted boolean, block string"
    project.sql(f"create table small.arrived_orders (id int, shop_id int, amount int, {common}) using parquet")
    project.sql(f"create table small.arrived_shops (shop_id int, region string, phone string, {common}) using parquet")
    orders = ((1, 1, 10), (2, 1, 20), (3, 2, 30), (4, None, 40), (5, 9, 50))
    _land(project, "orders", "a", 1, *orders)
    _land(project, "shops", "a", 1, (1, "north", "1"), (2, "south", "2"))
    project.run("run")
    return project


def _land(project: DbtProject, name: str, block: str, version: int, *rows: tuple, deleted: bool = False) -> None:
    """Stage rows of the worked example as a block."""
    project.sql(f"insert into small.arrived_{name} values {values([(*row, version, deleted, block) for row in rows])}")


def _batch(project: DbtProject, *columns: str, table: str = "wide") -> list[tuple]:
    """Return the rows of a joined ledger's newest batch."""
    of = f"(select max(abs(ledger_batch)) from small.{table})"
    return project.rows(
        f"select {', '.join(columns)} from small.{table} where ledger_batch = {of} order by ledger_block desc, id, ledger_sign"
    )


def test_the_worked_example_of_the_docs(small: DbtProject, target: str) -> None:
    project = small
    _land(project, "orders", "b", 2, (1, 2, 11))
    _land(project, "orders", "b", 2, (2, 1, 20), deleted=True)
    _land(project, "orders", "b", 1, (6, 1, 60))
    _land(project, "shops", "b", 2, (1, "west", "1"), (2, "south", "22"))
    _land(project, "shops", "b", 1, (9, "east", "9"))
    project.run("run", "--select", "orders", "shops", "wide", "known", "sums")
    assert _batch(project, "id", "shop_id", "amount", "region", "ledger_sign", "ledger_block") == [
        (5, 9, 50, None, -1, "model.small.shops:2"),
        (5, 9, 50, "east", 1, "model.small.shops:2"),
        (1, 1, 10, "north", -1, "model.small.orders:2"),
        (1, 2, 11, "south", 1, "model.small.orders:2"),
        (2, 1, 20, "north", -1, "model.small.orders:2"),
        (6, 1, 60, "west", 1, "model.small.orders:2"),
    ]
    assert project.rows("select * from small.live order by 1") == [(None, 40), ("east", 50), ("south", 41), ("west", 60)]
    assert target in SERVERS or project.cached() == [], "the session would hold these rows for as long as it lives"
    # an inner one has no row of what finds no shop
    assert _batch(project, "id", "region", "ledger_sign", table="known") == [
        *((5, "east", 1), (1, "north", -1), (1, "south", 1), (2, "north", -1), (6, "west", 1)),
    ]
    live = project.rows("select id, region from small.known group by all having sum(ledger_sign) = 1 order by id")
    assert live == [(1, "south"), (3, "south"), (5, "east"), (6, "west")]
    (project.directory / "models/known.sql").unlink()
    for table in ("known", "known__manifest"):
        project.sql(f"drop table small.{table}")


def test_what_is_not_in_use_and_what_is_not_new_appends_nothing(small: DbtProject) -> None:
    project = small
    _land(project, "shops", "c", 5, (1, "west", "other phone"))
    _land(project, "orders", "c", 9, (3, 1, 99))
    project.run("run", "--select", "orders", "shops")
    assert operate(project, "undo", model="orders").success
    project.run("run", "--select", "wide")
    batches = project.batches("small.wide")
    assert project.rows("select states, cancels from small.wide__history order by ledger_batch desc limit 1") == [(0, 0)]
    assert project.rows(f"select count(*) from small.wide where ledger_batch = {batches[-1]} and id is not null") == [(0,)]
    statements = Statements()
    assert project.invoke("run", "--select", "wide", callbacks=[statements]).success and statements.heard
    assert project.batches("small.wide") == batches
    assert not [statement for statement in statements.heard if statement.startswith(("cache", "insert"))], statements.heard
    # an order that is again what it was, and one that is not, while no shop has changed
    _land(project, "orders", "c again", 9, (3, 1, 98))
    project.run("run", "--select", "orders")
    assert operate(project, "undo", model="orders").success
    _land(project, "orders", "c alone", 11, (5, 9, 55))
    project.run("run", "--select", "orders", "wide")
    assert _batch(project, "id", "amount", "region", "ledger_sign") == [(5, 50, "east", -1), (5, 55, "east", 1)]


def test_a_preview_shows_what_the_next_run_appends(small: DbtProject, target: str, full: bool) -> None:
    """However often that run dies: after it has appended, and with --full before that."""
    project = small
    _land(project, "orders", "back and forth", 20, (4, None, 77))
    project.run("run", "--select", "orders")
    assert operate(project, "undo", model="orders").success
    _land(project, "orders", "d", 10, (3, 1, 33))
    _land(project, "shops", "d", 6, (2, "far south", "2"))
    project.run("run", "--select", "orders", "shops")
    result = project.invoke("compile", "--select", "wide")
    assert result.success, messages_of(result)
    compiled = result.result.results[0].node.compiled_code
    shown = project.rows(f"select id, region, ledger_sign from ({compiled}) order by id, ledger_sign")
    assert shown == [(1, "south", -1), (1, "far south", 1), (3, "south", -1), (3, "west", 1)]
    if full:
        project.run("run", "--select", "wide", "--empty")
    appends = "insert overwrite table small.wide " if target in PLAIN else "insert into small.wide "
    for begins in (appends, "drop view") if full else ("drop view",):
        failpoint = Failpoint(("wide",), begins, 1)
        project.invoke("run", "--select", "wide", callbacks=[failpoint])
        assert failpoint.died == {"wide"}, begins
    project.run("run", "--select", "wide", "sums")
    batches = len(project.batches("small.wide"))
    assert project.rows("select count(*), count(distinct ledger_batch) from small.wide__history") == [(batches, batches)]
    assert sorted(_batch(project, "id", "region", "ledger_sign")) == sorted(shown)
    assert project.rows("select * from small.live order by 1") == [(None, 40), ("east", 55), ("far south", 11), ("west", 93)]


def test_optimize_waits_for_a_joined_reader_and_status_tells_of_it(small: DbtProject, capsys, full: bool) -> None:
    project = small
    read = project.batches("small.shops")[-1]
    _land(project, "shops", "e", 7, (1, "north west", "1"))
    project.run("run", "--select", "shops")
    if full:
        capsys.readouterr()
        operate(project, "status", model="shops")
        assert f"{'joined ledger wide':28} has read up to batch {read} of {read + 1}, 1 behind" in capsys.readouterr().out
        count = len(project.batches("small.shops")) - 1
        said: list[str] = []
        assert operate(project, "optimize", [lambda event: said.append(event.info.msg)], model="shops", dry_run=True).success
        assert f"collapsing: shops: batches after the base to fold: {count} (dry run: nothing was changed)" in said
    assert operate(project, "optimize", model="shops").success
    assert project.batches("small.shops") == [-read, read + 1]
    if full:
        operate(project, "status", format="json")
        known = {ledger["model"]: ledger["batches"] for ledger in json.loads(capsys.readouterr().out.splitlines()[-1])}
        assert known.keys() == {"orders", "shops", "wide"} and known["wide"].startswith("1 to "), "a joined ledger is one of all"
    operate(project, "status", model="wide")
    said = capsys.readouterr().out
    assert f"{'ledger shops':28} has read up to batch {read} of {read + 1}" in said and f"{'engine':28} joined\n" in said
    before = project.rows("select * from small.live order by 1")
    batch = project.batches("small.wide")[-1]
    project.run("run", "--select", "wide", "sums")
    assert project.rows("select * from small.live where region like '%west'") == [("north west", 93)]
    assert operate(project, "optimize", model="wide", keep_batches=1).success
    assert project.batches("small.wide") == [-batch, batch + 1]
    if full:
        of_wide = f"{{{{ collapsing.final(ref('wide'), as_of={batch}) }}}}"
        project.write("models/then.sql", f"{VIEW}select region, sum(amount) as amount from {of_wide} group by region")
        project.run("run", "--select", "then")
        assert project.rows("select * from small.then order by 1") == before
        (project.directory / "models" / "then.sql").unlink()
        assert list(project.run("test", "--select", "wide", "sums").values()) == ["pass", "pass"]


def _check_rebuilt_for_settings(project: DbtProject, run: Callable, live: Callable, last: int) -> None:
    """Check the reasons of a rebuild that take most of the time; the joined ledger is an inner one afterwards."""
    run("run", "--full-refresh", "--select", "shops")
    said = run()
    assert "shops has been rebuilt, or optimized beyond batch" in said and "again from the whole of orders, shops" in said
    assert project.batches("small.wide") == [-last - 2] and live() == [(None, 40), ("a", 93), ("b", 11), ("c", 55)]
    inner = {"join": {"shops": SHOPS | {"type": "inner"}}}
    project.write("models/wide.sql", model("joined(ref('orders'), shops=ref('shops'))", inner))
    assert "its settings or the ledgers that it reads are not those" in run() and project.batches("small.wide") == [-last - 3]
    assert live() == [("a", 93), ("b", 11), ("c", 55)]
    other = {"join": {"shops": {"on": "shop_id", "columns": ["region", "phone"], "type": "inner"}}}
    project.write("models/wide.sql", model("joined(ref('orders'), shops=ref('shops'))", other))
    assert "building it again" in run() and project.batches("small.wide") == [last + 4]
    assert "no new" not in run("run", "--full-refresh", "--select", "wide") and project.batches("small.wide") == [-last - 5]
    project.sql("drop table small.wide__manifest")
    assert "how far it has read orders is not known" in run() and live() == [("a", 93), ("b", 11), ("c", 55)]
    _land(project, "shops", "g", 10, (10, "d", ""))  # so that a batch stands beside the base
    project.run("run", "--select", "shops", "wide")


def _copy(project: DbtProject, name: str) -> None:
    """Copies a ledger to a table of another name, with the same batch numbers."""
    project.sql(f"create table small.{name}_moved using parquet partitioned by (ledger_batch) as select * from small.{name}")


def test_what_is_rebuilt_and_why(small: DbtProject, full: bool) -> None:
    """Many rows touched, a side that was rebuilt, settings and columns that have changed: each is a new base, or a new table."""
    project, said = small, []

    def run(*command: str) -> str:
        said.clear()
        listen = lambda event: said.append(event.info.msg) if event.info.msg.startswith("collapsing: wide: ") else None  # noqa: E731
        result = project.invoke(*(command or ("run", "--select", "wide", "sums", "live")), callbacks=[listen])
        assert result.success, messages_of(result)
        return "\n".join(said)

    def live() -> list[tuple]:
        return project.rows("select * from small.live order by 1")

    _land(project, "shops", "f", 8, (1, "a", "1"), (2, "b", "2"))
    _land(project, "shops", "f", 9, (9, "c", "9"))
    project.run("run", "--select", "shops")
    last = project.batches("small.wide")[-1]
    assert "more than the setting rebuild_share (0.5)" in run() and project.batches("small.wide") == [-last - 1]
    assert live() == [(None, 40), ("a", 93), ("b", 11), ("c", 55)]
    if full:
        _check_rebuilt_for_settings(project, run, live, last)
    kept = [("a", 93), ("b", 11), ("c", 55)] if full else live()
    project.drop_batch("small.shops", project.batches("small.shops")[-1])  # as where a table is restored to what it was
    assert "shops has been rebuilt" in run("run", "--select", "wide")
    for beside in ("", "__manifest"):
        project.sql(f"drop table small.shops{beside}")
    everything = "run", "--select", "shops", "wide", "sums", "live"
    assert "shops has been rebuilt" in run(*everything) and live() == kept
    assert project.batches("small.shops")[0] > 1  # its readers remember its numbers, where nothing else does
    if full:
        _copy(project, "shops")
        ledger = {"key": "shop_id", "version": "version", "is_deleted": "is_deleted", "block": "block"}
        project.write("models/shops.sql", "{{ config(alias='shops_moved') }}\n" + model("ledger(ref('stage_shops'))", ledger))
        assert "the ledgers that it reads are not those" in run(), "batch numbers alone do not tell two tables apart"
        assert live() == kept


@pytest.mark.full
def test_a_projection_of_another_table_is_built_again(small: DbtProject) -> None:
    """As with --defer, or where a model has got the alias of a table that is there: its batches may have the same numbers."""
    project, said = small, []
    _copy(project, "wide")
    project.write("models/wide.sql", "{{ config(alias='wide_moved') }}\n" + (project.directory / "models/wide.sql").read_text())
    for is_first in (True, False):
        said.clear()
        assert project.invoke("run", "--select", "sums", callbacks=[lambda event: said.append(event.info.msg)]).success
        again = [line for line in said if "sums: it was built from another table, small.wide: building it again" in line]
        assert bool(again) == is_first


@pytest.mark.full
def test_a_column_that_a_run_without_news_has_added_is_there(small: DbtProject) -> None:
    project = small
    project.run("run", "--select", "wide")  # a copy has no manifest, and is built again in any case
    project.write("models/stage_orders.sql", f"{VIEW}select *, 'a note' as note from small.arrived_orders")
    orders = (project.directory / "models/orders.sql").read_text()
    project.write("models/orders.sql", "{{ config(on_schema_change='append_new_columns') }}\n" + orders)
    project.run("run", "--select", "stage_orders", "orders", "wide")
    assert project.rows("select count(*) > 0, count(note) from small.wide_moved") == [(True, 0)]
    batches = project.batches("small.wide_moved")
    project.run("run", "--select", "wide")
    assert project.batches("small.wide_moved") == batches


# Names of cases that are refused by the shape of a setting alone, as all settings are.
BY_SHAPE = ("no_mapping", "no_join", "unknown", "full", "nothing", "odd_name", "names")


def test_what_cannot_be_joined_is_refused_with_the_reason(make_project, full: bool) -> None:
    events = {"key": "id", "version": "version", "block": "block"}
    files = {
        "models/events.sql": f"{VIEW}select 1 as id, 2 as other, 'x' as text, 1 as version, 1 as sign, 'a' as block",
        "models/orders.sql": model("ledger(ref('events'))", events),
        "models/pairs.sql": model("ledger(ref('events'))", events | {"key": ["id", "other"]}),
        "models/texts.sql": model("ledger(ref('events'))", events | {"key": "text"}),
        "models/replaced.sql": model("ledger(ref('events'))", events | {"engine": "replacing"}),
        "models/signed.sql": model("ledger(ref('events'))", events | {"input": "signed", "sign": "sign"}),
        "models/sums.sql": model("projection(ref('orders'))", {"group_by": ["other"], "measures": {"n": "count(*)"}}),
    }
    on, good = {"on": "id", "columns": {"its": "text"}}, {"on": {"other": "id"}, "columns": {"its": "text"}}
    cases = {
        "no_mapping": ("orders", "orders", ["b"], "setting 'join' must be a mapping of the name of each joined ledger"),
        "no_join": (
            "orders",
            "orders",
            {"b": "id"},
            "setting 'join.b' must be a mapping with 'on', 'columns' and 'type'; given: id",
        ),
        "unknown": ("orders", "orders", {"b": on | {"how": "left"}}, "unknown setting 'join.b.how'; allowed: on, columns, type"),
        "full": (
            "orders",
            "orders",
            {"b": on | {"type": "full"}},
            "setting 'join.b.type' must be one of: left, inner; given: full",
        ),
        "nothing": (
            "orders",
            "orders",
            {"b": {"on": "id"}},
            "setting 'join.b.columns' must be a column, a list of different columns",
        ),
        "odd_name": (
            "orders",
            "orders",
            {"b-c": on},
            "setting 'join' must be a mapping of names made of letters, digits and _",
        ),
        "names": (
            "orders",
            "orders",
            {"c": on},
            "setting 'join' must be for the ledgers that joined is given by name: b; given: c",
        ),
        "stage": (
            "events",
            "orders",
            {"b": on},
            "must be a ledger, a model whose settings say how its rows collapse; events is not one",
        ),
        "a_projection": ("orders", "sums", {"b": on}, "joined needs a ledger; this is a projection"),
        "replacing": ("replaced", "orders", {"b": on}, "the ledger 'replaced' has the engine replacing: it has no cancel rows"),
        "signs": ("orders", "signed", {"b": on}, "the ledger 'signed' has rows that carry their own sign"),
        "part": (
            "orders",
            "pairs",
            {"b": on},
            "must be for each column of the whole key of b (id, other), one column of the first",
        ),
        "column": (
            "orders",
            "orders",
            {"b": on | {"columns": ["txt"]}},
            "setting 'join.b.columns' must be a column of b (id, other, text,",
        ),
        "foreign": (
            "orders",
            "orders",
            {"b": on | {"on": {"od": "id"}}},
            "setting 'join.b.on' must be a column of orders (id, other,",
        ),
        "types": (
            "orders",
            "texts",
            {"b": good | {"on": {"id": "text"}}},
            "'id' is int and 'text' of b is string: compared by conversion",
        ),
        "clash": (
            "orders",
            "orders",
            {"b": good | {"columns": "text"}},
            "the column 'text' is both of orders and of b. Give one",
        ),
        "ours": ("orders", "orders", {"b": good | {"columns": {"ledger_x": "text"}}}, "the name 'ledger_x' begins with ledger_"),
        "good": ("orders", "orders", {"b": good}, None),
    }
    cases = {name: case for name, case in cases.items() if full or name not in BY_SHAPE}
    for name, (first, other, join, _) in cases.items():
        files[f"models/{name}.sql"] = model(f"joined(ref('{first}'), b=ref('{other}'))", {"join": join})
    share = {"join": {"b": on}, "rebuild_share": 2}
    files["models/share.sql"] = model("joined(ref('orders'), b=ref('orders'))", share)
    files["models/called.sql"] = model("ledger(ref('events'))", {"join": {"b": on}})
    files["models/uncalled.sql"] = model("joined(ref('orders'), b=ref('orders'))", events)
    wrong = {name: said for name, (*_, said) in cases.items()} | {
        "share": "setting 'rebuild_share' must be a share of the rows from 0 to 1",
        "called": "its SQL calls collapsing.ledger(...), and its settings have 'join'",
        "uncalled": "its SQL calls collapsing.joined(...), and its settings have no 'join'",
    }
    project = make_project("refused", files)
    result = project.invoke("run")
    said = {node.node.name: str(node.message) for node in result.result}
    for name, message in wrong.items():
        assert message is None or " ".join(message.split()) in " ".join(said[name].split()), f"{name}: {said[name]}"
    assert project.rows("select id, other, its from refused.good") == [(1, 2, None)]
    for operation in ("undo", "explain_key"):
        assert not operate(project, operation, model="good", **({"key": 1} if operation == "explain_key" else {})).success


def _signed_files(schema: str, orders: dict) -> dict[str, str]:
    """Return the files of a project that joins orders, signed rows of a table `arrived` with these settings, with one shop."""
    return {
        "models/stage_orders.sql": f"{VIEW}select * from {schema}.arrived",
        "models/stage_shops.sql": f"{VIEW}select 1 as id, 'north' as region, 1 as version, 'a' as block",
        "models/orders.sql": model("ledger(ref('stage_orders'))", orders),
        "models/shops.sql": model("ledger(ref('stage_shops'))", {"key": "id", "version": "version", "block": "block"}),
        "models/wide.sql": model(
            "joined(ref('orders'), shops=ref('shops'))", {"join": {"shops": {"on": {"shop": "id"}, "columns": ["region"]}}}
        ),
    }


@pytest.mark.full
def test_a_first_ledger_of_signed_rows_in_order_of_arrival_is_in_balance_after_each_batch(make_project) -> None:
    """Of two state rows at the end of a batch an optimize up to there would leave one, and a later cancel row none."""
    signed = {"engine": "collapsing", "key": "id", "order_by": "place", "sign": "sign", "input": "signed", "block": "block"}
    project = make_project("balance", _signed_files("balance", signed))
    project.sql("create schema if not exists balance")
    project.sql("create table balance.arrived (id int, shop int, place int, sign int, block string) using parquet")
    project.sql("insert into balance.arrived values (1, 1, 1, 1, 'a'), (1, 1, 2, -1, 'a'), (1, 7, 3, 1, 'a'), (2, 1, 1, 1, 'a')")
    project.run("run")
    project.sql("insert into balance.arrived values (2, 7, 2, 1, 'b')")
    project.run("run", "--select", "orders")
    project.sql("insert into balance.arrived values (2, 1, 3, -1, 'c')")
    said = project.fails("run", "--select", "orders", "wide")
    assert 'without its state row or a state row twice, for example of key {"id":2}' in said
    project.run("run", "--full-refresh", "--select", "orders", "wide")
    rows = project.rows("select id, shop, region from balance.wide group by all having sum(ledger_sign) <> 0 order by id")
    assert rows == [(1, 7, None), (2, 7, None)]


@pytest.mark.full
def test_a_first_ledger_of_signed_rows_is_joined_where_it_is_consistent(make_project) -> None:
    signed = {"key": "id", "version": "version", "sign": "sign", "input": "signed", "block": "block"}
    live = {"models/live.sql": VIEW + "select id, shop, region from {{ collapsing.final(ref('wide')) }}"}
    project = make_project("signs", _signed_files("signs", signed) | live)
    project.sql("create schema if not exists signs")
    project.sql("create table signs.arrived (id int, shop int, version int, sign int, block string) using parquet")
    project.sql("insert into signs.arrived values (1, 1, 1, 1, 'a'), (2, 7, 1, 1, 'a')")
    project.run("run")
    project.sql("insert into signs.arrived values (1, 1, 1, -1, 'b'), (1, 7, 2, 1, 'b'), (2, 7, 1, -1, 'b'), (3, 1, 1, 1, 'b')")
    project.sql("insert into signs.arrived values (3, 1, 1, -1, 'c'), (3, 1, 2, 1, 'c'), (3, 1, 2, -1, 'c'), (3, 7, 3, 1, 'c')")
    project.run("run")
    assert project.rows("select * from signs.live order by id") == [(1, 7, None), (3, 7, None)]
    assert project.rows("select id, region, ledger_sign from signs.wide where ledger_batch = 2 order by 1, 3") == [
        *((1, "north", -1), (1, None, 1), (2, None, -1), (3, None, 1)),
    ]
    project.sql("insert into signs.arrived values (3, 7, 4, 1, 'd')")
    assert "the rows of 'orders' are inconsistent" in project.fails("run")
    project.sql("insert into signs.arrived values (3, 7, 3, -1, 'e')")
    project.run("run")
    assert project.rows("select * from signs.live order by id") == [(1, 7, None), (3, 7, None)]
