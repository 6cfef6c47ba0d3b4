"""SQL of settings over the session and over the edges of types: zones, groups that cannot be, what is combined."""

from __future__ import annotations

import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, model
from support.sessions import sessions_with

# column: its type, the value of each of two events, and the SQL that combines them
COMBINED = {
    "product": ("bigint", "3000000000", "old.product * new.product div 2000000000"),
    "mean": ("int", "7", "(old.mean + new.mean) / 2"),
    "total": ("decimal(38, 9)", "1.000000001", "old.total + new.total"),
    "fee": ("decimal(10, 2)", "8.20", "new.fee"),
    "points": ("bigint", "100", "old.points + new.fee * 100 / 5"),
    "hashed": ("bigint", "6", "hash(old.hashed)"),
    "gone": ("decimal(38, 0)", "1", "nullif(old.gone, new.gone)"),
    "note": ("string", "'a'", "concat(old.note, new.fee)"),
    "tags": ("array<string>", "array('x')", "array_union(old.tags, array(new.note))"),
    "it's": ("date", "date'2013-01-01'", "greatest(old.`it's`, new.`it's`)"),
}
COUNT = {"n": "count(*)"}


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A ledger of moments with projections by day, and two ledgers that combine; nothing has arrived."""
    columns = ", ".join(f"cast({value} as {dtype}) as `{name}`" for name, (dtype, value, _) in COMBINED.items())
    events = "1 as id, version, false as is_deleted, concat('b', version) as block"
    moments = "id, version, false as is_deleted, concat('b', version) as block, timestamp_micros(at) as at, at as micros"
    files = {
        "models/numbers.sql": f"{VIEW}select {events}, {columns} from values (1), (2) as t (version) "
        "where version <= {{ var('upto', 9) }}",
        "models/moments.sql": f"{VIEW}select {moments} from values (1, 1, 1388532600000000L), (1, 2, 1388536200000000L), "
        "(2, 1, 1388532600000000L) as t (id, version, at) where version <= {{ var('upto', 9) }}",
        "models/kept.sql": model("ledger(ref('moments'))", LEDGER),
        "models/by_day.sql": model("projection(ref('kept'))", {"group_by": {"day": "cast(at as date)"}, "measures": COUNT}),
        "models/by_second.sql": model(
            "projection(ref('kept'))", {"group_by": {"day": "cast(timestamp_micros(micros) as date)"}, "measures": COUNT}
        ),
        "models/by_moment.sql": model("projection(ref('kept'))", {"group_by": ["at"], "measures": {"last": "max(version)"}}),
    }
    for name in ("by_day", "by_second"):
        files[f"models/live_{name}.sql"] = VIEW + f"select * from {{{{ collapsing.final(ref('{name}')) }}}}"
    combine = {name: sql for name, (_, _, sql) in COMBINED.items()}
    for name in ("in_one_batch", "in_two_batches"):
        files[f"models/combined_{name}.sql"] = model("ledger(ref('numbers'))", LEDGER | {"combine": combine})
    return make_project("row_sql", files)


@pytest.mark.full
@pytest.mark.only("parquet", "delta", "iceberg")
def test_a_projection_stops_where_its_sql_gives_something_else(project) -> None:
    """A day of the session, of a time or a number, in another zone.

    On new year's eve half past eleven in London is the next year in Berlin; a row has to leave the day that it was put in.
    """
    first, other = ({"spark.sql.session.timeZone": zone} for zone in ("UTC", "Europe/Berlin"))
    with sessions_with(first):
        project.run("run", "--select", "moments", "kept+", variables={"upto": 1})
    with sessions_with(other):
        project.run("run", "--select", "moments", "kept", "by_moment", variables={"upto": 2})
        said = project.failures("run", "--select", "by_day", "by_second")
        for name in ("by_day", "by_second"):
            assert "the session's time zone is Europe/Berlin, and its rows were computed in UTC" in said[name]
        project.run("run", "--full-refresh", "--select", "by_day", "by_second")
        for name in ("by_day", "by_second"):
            assert project.rows(f"select cast(day as string), n from live_{name}") == [("2014-01-01", 2)]
    assert project.visible("by_moment") == [-1, 2]


@pytest.mark.only("parquet", "delta", "iceberg")
def test_final_stops_at_a_group_with_more_cancels_than_rows(project) -> None:
    project.run("run", "--select", "moments", "kept", "by_day", "live_by_day")
    project.sql("insert into by_day select date'2020-01-01' as day, -1 as ledger_sign, max(ledger_batch) + 1 from kept")
    with pytest.raises(Exception, match="projection 'by_day': a group has more cancel rows than state rows"):
        project.rows("select * from live_by_day")


def test_combine_computes_as_spark_does_and_casts_to_the_type_of_the_column(project) -> None:
    project.run("run", "--select", "numbers", "combined_in_two_batches", variables={"upto": 1})
    project.run("run", "--select", "numbers", "combined_in_one_batch", "combined_in_two_batches")
    values = ", ".join(f"cast({value} as {dtype}) as `{name}`" for name, (dtype, value, _) in COMBINED.items())
    computed = ", ".join(f"cast(({sql}) as {dtype})" for dtype, _, sql in COMBINED.values())
    expected = project.rows(f"select {computed} from (select {values}) as old cross join (select {values}) as new")
    columns = ", ".join(f"`{name}`" for name in COMBINED)
    for name in ("in_one_batch", "in_two_batches"):
        states = f"select {columns} from combined_{name} where ledger_sign = 1 and version = 2"
        assert project.rows(states) == expected
