"""What the README says that dbt-spark's own strategies answer to its ten rows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support.dbt_project import REPOSITORY, VIEW

pytestmark = pytest.mark.only("delta")  # which has both strategies

STARTER = REPOSITORY / "docs" / "starter"
NEW_FILES = """
select * from {{ ref('stage') }}
{% if is_incremental() %} where _block > (select max(_block) from {{ this }}) {% endif %}
"""


def _incremental(**settings: str) -> str:
    """Return a model of a strategy over the new files."""
    given = ", ".join(f"{name}='{value}'" for name, value in settings.items())
    return f"{{{{ config(materialized='incremental', {given}) }}}}{NEW_FILES}"


def test_append_and_merge_answer_what_the_readme_shows(make_project, tmp_path: Path) -> None:
    columns = "order_id, updated_at, shop, amount, is_deleted, _metadata.file_name as _block"
    files = {
        "models/stage.sql": f"{VIEW}select {columns} from parquet.`{tmp_path}`",
        "models/append.sql": _incremental(incremental_strategy="append"),
        "models/merge.sql": _incremental(incremental_strategy="merge", unique_key="order_id"),
    }
    project = make_project("peers", files)
    for file in sorted((STARTER / "arriving").glob("*.parquet")):
        shutil.copy(file, tmp_path)
        project.run("run")
    live, readme = "from peers.{} where not is_deleted", (REPOSITORY / "README.md").read_text()
    for name in ("append", "merge"):
        [cells] = re.findall(rf"^\| `incremental`, `{name}`[^|]*\|(.*)\|$", readme, re.MULTILINE)
        orders, *shops = (cell.strip() for cell in cells.split("|"))
        sums = project.rows(f"select shop, count(*), cast(sum(amount) as int) {live.format(name)} group by shop order by shop")
        assert [shop for shop, *_ in sums] == ["north", "south"]
        assert shops == [f"{rows} order{'s' * (rows > 1)}, {amount}" for _, rows, amount in sums]
        rows = project.rows(f"select order_id, date_format(updated_at, 'HH:mm') {live.format(name)} order by all")
        if name == "append":
            assert orders == f"{len(rows)} rows for {len({order for order, _ in rows})} orders"
        else:
            assert orders == "1 as it was at 10:00; 2, which was deleted; 3; 4"
            assert rows == [(1, "10:00"), (2, "10:30"), (3, "09:10"), (4, "12:00")]
