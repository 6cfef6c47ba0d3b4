"""Every type of Spark's in a ledger on plain parquet, where no insert casts values to the types of the table."""

from __future__ import annotations

import pyspark
import pytest

from support.dbt_project import LEDGER, VIEW, DbtProject, model
from support.lives import operate
from support.targets import PLAIN

pytestmark = pytest.mark.only(*PLAIN)  # on the others an insert casts, and Iceberg has no integer below int

# type: an ordinary value, and one at its edge
VALUES = {
    "boolean": ("true", "false"),
    "tinyint": ("5", "-128"),
    "smallint": ("300", "-32768"),
    "int": ("70000", "-2147483648"),
    "bigint": ("3000000000", "9223372036854775807"),
    "float": ("1.5", "double('nan')"),
    "double": ("-0.0D", "double('-infinity')"),
    "decimal(5, 2)": ("1.25", "-999.99"),
    "decimal(10, 2)": ("1.10", "99999999.99"),
    "decimal(38, 18)": ("0.000000000000000001", "-99999999999999999999.999999999999999999"),
    "string": ("'it\\'s'", "''"),
    "varchar(5)": ("'abcde'", "''"),
    "char(3)": ("'abc'", "'a'"),
    "binary": ("X'00FF'", "X''"),
    "date": ("date'2013-01-01'", "date'9999-12-31'"),
    "timestamp": ("timestamp'2013-11-03 01:30:00.000001Z'", "timestamp'0001-01-02 00:00:00Z'"),
    "timestamp_ntz": ("timestamp_ntz'2013-11-03 01:30:00.000001'", "timestamp_ntz'0001-01-02 00:00:00'"),
    "interval day to second": ("interval '1 02:03:04.000005' day to second", "interval '-90' second"),
    "interval year to month": ("interval '1-2' year to month", "interval '-1' month"),
    "array<tinyint>": ("array(1, null)", "array()"),
    "map<string, decimal(10, 2)>": ("map('a', 1.5, 'b', null)", "map()"),
    "struct<a: smallint, b: array<struct<c: date>>>": (
        "named_struct('a', 1, 'b', array(named_struct('c', date'2013-01-01')))",
        "named_struct('a', null, 'b', null)",
    ),
}
if pyspark.__version__ >= "4":
    VALUES["variant"] = ("parse_json('{\"a\": 1}')", "parse_json('[null]')")
COLUMNS = {f"c{number}": dtype for number, dtype in enumerate(VALUES)}


def _rows(version: int) -> str:
    """Return a query of a block of three keys: the values change places from block to block, and the third row has none."""
    places = [(version % 2, 1), ((version + 1) % 2, 2), (None, 3)]
    rows = []
    for place, id_ in places:
        cells = ["null" if place is None else values[place] for values in VALUES.values()]
        typed = ", ".join(
            f"cast({cell} as {dtype}) as {name}" for cell, (name, dtype) in zip(cells, COLUMNS.items(), strict=True)
        )
        rows.append(f"select {id_} as id, {version} as version, false as is_deleted, {typed}, 'b{version}' as block")
    return " union all ".join(rows)


@pytest.fixture(scope="module")
def project(make_project) -> DbtProject:
    """A ledger over a table with a column of each type, two blocks of it folded one after the other."""
    files = {
        "models/stage.sql": VIEW + "select * from types.arrived where block <= '{{ var('upto', 'b2') }}'",
        "models/kept.sql": model("ledger(ref('stage'))", LEDGER),
        "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('kept')) }}",
    }
    project = make_project("types", files)
    project.sql("create schema if not exists types")
    columns = ", ".join(f"{name} {dtype}" for name, dtype in COLUMNS.items())
    project.sql(f"create table types.arrived (id int, version int, is_deleted boolean, {columns}, block string) using parquet")
    for version in (1, 2):
        project.sql(f"insert into types.arrived {_rows(version)}")
    for upto in ("b1", "b2"):
        project.run("run", variables={"upto": upto})
    return project


def _read(project: DbtProject, rows: str) -> list[tuple]:
    """Return rows with their values as text, which Python has of every type."""
    shown = ", ".join(f"hex({name})" if dtype == "binary" else f"cast({name} as string)" for name, dtype in COLUMNS.items())
    return project.rows(f"select id, {shown} from {rows} order by id")


def test_every_type_reads_back_equal_after_a_run_an_optimize_and_a_full_refresh(project) -> None:
    staged = "(select * from types.arrived where block = '{}')"
    newest = _read(project, staged.format("b2"))
    assert len({row[1:] for row in newest}) == 3
    types = dict(project.sql("select * from types.arrived").dtypes)
    assert {name: dtype for name, dtype in project.sql("select * from live").dtypes if name in COLUMNS} == {
        name: types[name] for name in COLUMNS
    }
    cancelled = f"(select * from {project.data('kept')} where ledger_sign = -1)"
    assert _read(project, cancelled) == _read(project, staged.format("b1")), "cancel rows are copies"
    assert _read(project, "live") == newest
    assert operate(project, "optimize", model="kept").success
    assert project.visible("kept") == [-2]
    assert _read(project, "live") == newest
    project.run("run", "--full-refresh", "--select", "kept")
    assert project.visible("kept") == [-3]
    assert _read(project, "live") == newest
