"""Joined ledgers: whatever happens on either side, in whatever order the runs come, final is the join of the finals."""

from __future__ import annotations

import random

import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, model, values
from support.failpoint import Failpoint
from support.lives import operate

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
        "joined(ref('orders'), at=ref('shops'), sellers=ref('sellers'))",
        {"at": SHOPS | {"type": "inner", "columns": {"region": "region", "tags": "tags"}}, "sellers": SELLERS},
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


def models(schema: str) -> dict[str, str]:
    """Give the ledgers, the joined ledgers, a projection of each, and what their finals must be, as views."""
    files = {}
    for name, settings in LEDGERS.items():
        files[f"models/stage_{name}.sql"] = f"{VIEW}select * from {schema}.arrived_{name}"
        files[f"models/{name}.sql"] = model(f"ledger(ref('stage_{name}'))", settings)
    finals = ", ".join(f"{name} as (select * from {{{{ collapsing.final(ref('{name}')) }}}})" for name in LEDGERS)
    for name, (call, joins, sql) in JOINED.items():
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
    """Give the SQL of the groups of a joined ledger's rows."""
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
        live, expected = (f"(select {columns} from {schema}.{what}_{side})" for side in ("live", "expected"))
        rows = project.rows(
            f"select 'only live', * from ({live} except all {expected}) "
            f"union all select 'missing', * from ({expected} except all {live})"
        )
        assert not rows, f"{what}: {rows[:5]}"
    key = f"from {schema}.{name} where ledger_sign <> 0 group by id"
    wrong = f"select id {key} having sum(ledger_sign) not in (0, 1) union all select id {key}, ledger_batch, ledger_sign"
    assert not project.rows(f"{wrong} having count(*) > 1"), f"{name}: a key has two live rows, or two of a sign in a batch"
    copies = "id, shop_id, seller_id, amount, version, " + ", ".join(GROUPS[name])
    rows = project.rows(f"select {copies} from {schema}.{name} group by {copies} having sum(ledger_sign) < 0")
    assert not rows, f"{name}: cancel rows that take nothing back: {rows[:5]}"


class World:
    """Three ledgers, the ledgers that join them, and what has happened to all of them."""

    def __init__(self, project: DbtProject, seed: int) -> None:
        self.project, self.random, self.schema = project, random.Random(seed), project.schema
        self.done: list[str] = []
        self.blocks: dict[str, list[str]] = {name: [] for name in STAGES}
        project.sql(f"create schema if not exists {self.schema}")
        for name in [*LEDGERS, *JOINED, *(f"sums_of_{name}" for name in JOINED)]:
            for beside in ("", "__manifest", "__history", "__dropped"):
                project.sql(f"drop table if exists {self.schema}.{name}{beside}")
        for name, columns in STAGES.items():
            project.sql(f"drop table if exists {self.schema}.arrived_{name}")
            project.sql(f"create table {self.schema}.arrived_{name} ({columns}) using parquet")

    def land(self, name: str | None = None) -> None:
        """A block arrives: rows that are new, changed, late, deleted, or come again."""
        name = name or self.random.choice(("orders", "orders", "shops", "sellers"))
        block = len(self.blocks[name]) + 1
        if self.blocks[name] and self.random.random() < 0.1:
            rows = self.random.choice(self.blocks[name])
        else:
            keys = {"orders": range(9), "shops": range(4), "sellers": [(c, s) for c in range(3) for s in range(2)]}[name]
            picked = self.random.sample([*keys], 4 if name == "orders" else 2)
            rows = ", ".join(self._row(name, key, place, block) for place, key in enumerate(picked))
        self.blocks[name].append(rows)
        self.project.sql(f"insert into {self.schema}.arrived_{name} select *, 'b{block:04}' from values {rows}")

    def _row(self, name: str, key, place: int, block: int) -> str:
        """Give a row of a block as SQL: values follow from key and version, so that a row that comes again is the same."""
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
        names = self.random.sample([*JOINED], self.random.choice((1, 2)))
        names = ["wide", *names] if "twice" in names else names
        self.run(*names, *(f"sums_of_{name}" for name in names), *self._views(names))
        for name in names:
            check(self.project, name)

    def run_all(self) -> None:
        """All of it, in order."""
        self.run()
        for name in JOINED:
            check(self.project, name)

    def run(self, *names: str) -> None:
        """Run some models, or all."""
        self.project.run("run", *(["--select", *names] if names else []))

    def _views(self, names) -> list[str]:
        return [f"{of}{name}_{what}" for name in names for of in ("", "sums_of_") for what in ("live", "expected")]

    def optimize(self) -> None:
        """The oldest batches of a ledger are folded into a base, those that all its readers have read."""
        keep = self.random.choice((0, 0, 1))
        assert operate(self.project, "optimize", model=self.random.choice([*LEDGERS, *JOINED]), keep_batches=keep).success

    def undo(self) -> None:
        """The newest batch of a side is taken back, if there is one that can be, and perhaps brought back."""
        name = self.random.choice([*LEDGERS])
        if operate(self.project, "undo", model=name).success and self.random.random() < 0.3:
            operate(self.project, "undo", model=name, redo=True)

    def refresh(self) -> None:
        """A ledger is built anew from its stage, or a joined one from its ledgers."""
        self.project.run("run", "--full-refresh", "--select", self.random.choice([*LEDGERS, *JOINED]))

    def die(self) -> None:
        """A run dies before one of its statements."""
        begins = self.random.choice(("cache table", "insert overwrite table", "insert into", "drop view", "describe", "select"))
        name = self.random.choice([*JOINED, *LEDGERS])
        self.project.invoke("run", callbacks=[Failpoint((name,), begins, self.random.randint(1, 4))])


STEPS = (
    *(World.land,) * 6,
    *(World.run_some, World.run_joined, World.run_all) * 2,
    *(World.optimize, World.undo, World.refresh, World.die),
)


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A project of all ledgers and joined ledgers; nothing has arrived."""
    return make_project("joining", models("joining"))


@pytest.mark.only("parquet", "delta", "iceberg")
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 42))])
def test_whatever_happens_final_is_the_join_of_the_finals(project, seed: int) -> None:
    world = World(project, seed)
    try:
        for name in (*STAGES, *STAGES):
            world.land(name)
        world.run_all()
        for _ in range(14 if seed > 1 else 10):
            step = world.random.choice(STEPS)
            world.done.append(step.__name__)
            step(world)
        world.run_all()
    except Exception as error:
        error.add_note(f"seed {seed}: {', '.join(world.done)}")
        raise
