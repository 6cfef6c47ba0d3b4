"""What a target cannot do, as docs/platforms.md has it: refused, with nothing lost."""

from __future__ import annotations

import pytest

from support.dbt_project import VIEW, model
from support.failpoint import Failpoint
from support.targets import WITH_LOG

LEDGER = {"key": "id", "version": "version", "block": "block"}
UNSUPPORTED = "PARTITION_MANAGEMENT_IS_UNSUPPORTED"


@pytest.mark.only(*WITH_LOG)
def test_what_the_format_cannot_do_is_refused(make_project, target: str) -> None:
    files = {
        "models/stage.sql": VIEW + "select 1 as id, 1 as version, 'a' as block",
        "models/kept.sql": model("ledger(ref('stage'))", LEDGER),
    }
    project = make_project("limits", files)
    project.run("run")
    with pytest.raises(Exception, match=UNSUPPORTED):
        project.sql("alter table limits.kept drop partition (ledger_batch = 1)")
    if target == "delta":
        assert sorted(project.rows("show partitions limits.kept")) == [(0,), (1,)]
    else:
        with pytest.raises(Exception, match=UNSUPPORTED):
            project.sql("show partitions limits.kept")
    assert project.rows(f"select id, ledger_batch from {project.data('kept')}") == [(1, 1)]


@pytest.mark.only("iceberg")
def test_a_plain_table_is_not_made_again(make_project) -> None:
    """Iceberg's session catalog drops it, but leaves its folder."""
    project = make_project("again", {})
    project.sql("create schema if not exists again")
    for _ in range(2):
        project.sql("create table again.iced using iceberg as select 1 as id")
        project.sql("drop table again.iced")
    project.sql("create table again.plain using parquet as select 1 as id")
    project.sql("drop table again.plain")
    with pytest.raises(Exception, match="LOCATION_ALREADY_EXISTS"):
        project.sql("create table again.plain using parquet as select 1 as id")


@pytest.mark.only(*WITH_LOG)
def test_a_full_refresh_takes_columns_of_other_types_and_places(make_project, target: str) -> None:
    """A Hive metastore refuses a table whose column at some place changes from text to a number, as where columns move."""
    files = {
        "models/stage.sql": VIEW + "select 1 as id, 1 as version, 'north' as shop, 5 as amount, 'a' as block",
        "models/sales.sql": model("ledger(ref('stage'))", LEDGER),
        "models/sums.sql": model("projection(ref('sales'))", {"group_by": ["shop"], "measures": {"amount": "sum(amount)"}}),
        "models/live.sql": VIEW + "select * from {{ collapsing.final(ref('sales')) }}",
        "models/totals.sql": VIEW + "select * from {{ collapsing.final(ref('sums')) }}",
    }
    project = make_project("moved", files)
    project.run("run")
    project.write("models/stage.sql", VIEW + "select 1 as id, 1 as version, 5 as amount, 7 as shop, 'x' as note, 'a' as block")
    project.write(
        "models/sums.sql", model("projection(ref('sales'))", {"group_by": [], "measures": {"n": "count(*)", "of": "max(note)"}})
    )
    failpoint = Failpoint(("sales",), "create", 1)
    project.invoke("run", "--full-refresh", callbacks=[failpoint])
    assert failpoint.died == {"sales"}
    project.run("run", *(["--full-refresh"] if target == "delta" else []))  # on Iceberg the table is gone, and is built anew
    assert project.rows("select id, version, amount, shop, note from moved.live") == [(1, 1, 5, 7, "x")]
    assert project.rows("select n, `of` from moved.totals") == [(1, "x")]
    assert project.visible("moved.sales") == ([-2, 3] if target == "delta" else [0, 1])
