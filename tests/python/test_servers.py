"""The servers of scripts/cluster, beyond what the suites of every target run on them."""

from __future__ import annotations

import pytest

from support.targets import SERVERS


@pytest.mark.only(*SERVERS)
def test_the_servers_can_load_the_functions_of_hive(spark) -> None:
    """Thrift loads them when a session ends beside others. Where a class is missing that session fails, and later ones hang."""
    loaded = "select reflect('org.apache.hadoop.hive.ql.exec.FunctionRegistry', 'getFunctionNames')"
    assert "get_splits" in spark.sql(loaded).first()[0]
