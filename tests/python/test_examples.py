"""The examples of the articles and of ClickHouse's pages, replayed step by step against what they print."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from support.dbt_project import REPOSITORY, DbtProject, nodes_of
from support.examples import EXPECTED, Rows, expected, first_step, last_step, seed, sorted_rows

RECIPES = ("--exclude", "path:models/examples/recipes")  # test_recipes.py builds them
EXAMPLES = ("--select", "path:models/examples", *RECIPES)

# Examples that --full replays too: those of which the articles print no transcript, and those of ClickHouse's pages, whose
# engines test_clickhouse.py compares with its own.
REPEATING = (
    *("example1", "complex_key", "complex_key_by_tenant"),
    *("uact", "uact_negative", "uact_versioned", "hackernews_rmt", "hackernews_views", "hackernews_views_vcmt"),
    *("repl_tbl", "repl_tbl_part"),
)
PROJECTIONS = ("example4_by_dim1", "complex_key_by_tenant")
LEDGERS = tuple(name for name in EXPECTED if name not in PROJECTIONS)
# ledgers and projections with their stages: views over a final never go stale, and are made once
FOLDED = (
    "--select",
    *(f"path:models/examples,config.materialized:incremental_{kind}" for kind in ("ledger", "projection")),
    "path:models/examples,*_stage",
    *RECIPES,
)

# The article's output, as it prints it. The last column of a step is the sign, which a final does not have.
PRINTED = {
    "example3": """
step1	1	1	1	1	1
step1	2	2	2	1	1
step2	1	1	1	1	1
step2	2	2	2	1	1
step3	1	1	1	1	1
step4	1	3	3	2	1
""",
    "example4": """
step1	1	1	1	d	2024-03-03 15:58:23.232	1
step1	2	2	2	d	2024-03-03 15:58:23.232	1
proj1	d	3
step2	1	1	1	d	2024-03-03 15:58:23.232	1
proj2	d	1
step3	1	3	3	d	2024-03-03 15:58:23.292	1
proj3	d	3
""",
    "example5": r"""
step0	1	0	\N	2024-03-03 15:48:21.588	1
step0	2	0	\N	2024-03-03 15:48:21.588	1
step1	1	1	\N	2024-03-03 15:48:21.599	1
step1	2	2	\N	2024-03-03 15:48:21.599	1
step2	1	1	11	2024-03-03 15:48:21.612	1
step2	2	2	12	2024-03-03 15:48:21.612	1
""",
}


def printed(name: str, word: str) -> dict[int, Rows]:
    """Return the rows that the article prints after the word `step` or `proj`, by their number."""
    steps: dict[int, Rows] = {}
    for line in PRINTED[name].strip().splitlines():
        label, *values = line.split("\t")
        if label.startswith(word):
            row = tuple(None if value == r"\N" else value for value in values)
            steps.setdefault(int(label.removeprefix(word)), []).append(row)
    return steps


@functools.cache
def columns_of(project: DbtProject, relation: str) -> list[str]:
    """Return the columns of a relation, which no step changes."""
    return project.sql(f"select * from {relation}").columns


def as_text(project: DbtProject, relations: dict[str, str]) -> dict[str, Rows]:
    """Return the rows of relations as text, which is what a seed's file holds and free of Python's time zone.

    Takes and gives {name: ...}, in one query: forty small ones would take longer than all folds. Notes are left out.
    """
    queries = []
    for name, relation in relations.items():
        columns = columns_of(project, relation)
        texts = {column: f"cast(`{column}` as string)" for column in columns if column != "ledger_note"}
        source, held = relation, "true"
        if "ledger_sign" in columns:
            # on formats with a log each batch of a projection has a row that stands for nothing
            own = ", ".join(text for column, text in texts.items() if column not in ("ledger_sign", "ledger_batch"))
            source, held = project.data(relation), f"not (ledger_sign = 0 and coalesce({own}) is null)"
        queries.append(f"select '{name}' as name, array({', '.join(texts.values())}) as row from {source} where {held}")
    rows: dict[str, list] = {name: [] for name in relations}
    for name, row in project.rows(" union all ".join(queries)):
        rows[name].append(tuple(row))
    return {name: sorted_rows(found) for name, found in rows.items()}


@dataclass
class Held:
    """What a ledger or projection holds: final and all rows."""

    final: Rows
    appended: Rows


def look(project: DbtProject, names: Iterable[str] = EXPECTED) -> dict[str, Held]:
    """Return what examples hold now."""
    names = list(names)
    final = as_text(project, {name: f"{name}_final" for name in names})
    appended = as_text(project, {name: name for name in names})
    return {name: Held(final[name], appended[name]) for name in names}


def each(names: Iterable[str], *further: Iterable) -> list:
    """Return parameters, a row for each name; those of examples that repeat others are for --full."""
    return [
        pytest.param(*row, marks=[pytest.mark.full] if row[0] in REPEATING else []) for row in zip(names, *further, strict=True)
    ]


@pytest.fixture(scope="module")
def steps(repository: DbtProject, full: bool) -> dict[int, dict[str, Held]]:
    """Return what every example holds after each step, folded up to its own last step, which --full tests with dbt too."""
    replayed = [name for name in EXPECTED if full or name not in REPEATING]
    ledgers = [name for name in replayed if name in LEDGERS]
    # what is expected is read from its file; tests of dbt need its table too
    seeds = [f"path:seeds/examples/{name}" if full else f"{name}_blocks" for name in ledgers]
    repository.run("seed", "--full-refresh", "--select", *seeds)
    for table in [row[1] for row in repository.rows("show tables") if row[1] in EXPECTED]:
        repository.sql(f"drop table {table}")  # a server keeps what earlier tests left
    held: dict[int, dict[str, Held]] = {-1: {}}
    for step in range(5):
        names = [name for name in replayed if first_step(name) <= step <= last_step(name)]
        selected = []
        for ledger in [name for name in names if name in LEDGERS]:
            folder = f"path:models/examples/{ledger}"
            # views over a final never go stale, and are made once
            folded = [f"{folder},config.materialized:incremental_{kind}" for kind in ("ledger", "projection")] + [
                f"{ledger}_stage"
            ]
            selected += [folder] if step == first_step(ledger) else folded
        repository.run("run", "--select", *selected, variables={"examples_step": step})
        held[step] = held[step - 1] | look(repository, names)
    if full:
        repository.run("test", "--select", *(f"path:models/examples/{name}" for name in ledgers))
    return held


@pytest.mark.parametrize("name", PRINTED)
def test_expected_rows_are_what_the_article_prints(name):
    steps = printed(name, "step")
    assert steps
    for step, rows in steps.items():
        assert all(row[-1] == "1" for row in rows)
        assert sorted_rows(row[:-1] for row in rows) == expected(name, step)


def test_expected_sums_are_what_the_article_prints():
    assert printed("example4", "proj") == {1: [("d", "3")], 2: [("d", "1")], 3: [("d", "3")]}
    for step, rows in printed("example4", "proj").items():
        assert rows == expected("example4_by_dim1", step)


STEPS = [(name, step) for name in EXPECTED for step in range(1, last_step(name) + 1)]


@pytest.mark.parametrize(("name", "step"), each(*zip(*STEPS, strict=True)))
def test_final_after_a_step_is_what_is_expected(steps, name, step):
    assert steps[step][name].final == expected(name, step)


def test_nothing_is_held_before_the_first_block(steps):
    assert {name for name in steps[0] if steps[0][name].final} == {"example5"}


@pytest.mark.parametrize("name", each(name for name in LEDGERS if name.startswith(("uact", "hackernews", "repl_tbl"))))
def test_without_final_all_rows_that_have_arrived_are_there(steps, name):
    for step in range(1, last_step(name) + 1):
        arrived = [row for row in seed(f"{name}_blocks") if int(row["step"]) <= step]
        assert len(steps[step][name].appended) == len(arrived)


@pytest.mark.parametrize("step", [1, 2])
def test_example3_without_final_has_the_rows_that_the_article_prints(steps, step):
    # columns of the article's table: id, metric1, metric2, _version, sign
    raw = [row[:5] for row in steps[step]["example3"].appended]
    assert sorted_rows(raw) == sorted_rows(printed("example3", "step")[step])
    assert len(raw) == 2


def test_a_block_of_duplicates_appends_no_row_and_is_not_read_again(steps, repository):
    assert steps[2]["example3"].appended == steps[1]["example3"].appended
    blocks = repository.rows(f"select block, batch from {repository.notes('example3', 'block')}")
    assert sorted(blocks) == [("1", 1), ("2", 2), ("3", 3), ("4", 4)]


def test_example3_ends_with_every_row_that_it_took_back(steps):
    rows = [row[:6] for row in steps[4]["example3"].appended]
    assert rows == [
        ("1", "1", "1", "1", "-1", "4"),
        ("1", "1", "1", "1", "1", "1"),
        ("1", "3", "3", "2", "1", "4"),
        ("2", "2", "2", "1", "-1", "3"),
        ("2", "2", "2", "1", "1", "1"),
    ]


def test_empty_dim1_of_the_deletes_reaches_no_row(steps, repository):
    staged = repository.rows("select distinct dim1 from example4_stage where sign = -1")
    assert staged == [("",)]
    assert {row[3] for row in steps[4]["example4"].appended} == {"d"}
    assert {row[0] for row in steps[4]["example4_by_dim1"].appended} == {"d"}


@pytest.mark.full
def test_running_again_appends_nothing(steps, repository):
    repository.run("run", *FOLDED)
    repository.run("test", *EXAMPLES)
    assert look(repository) == steps[4]


@pytest.mark.full
def test_one_batch_of_all_blocks_ends_in_the_same_state(steps, repository):
    repository.run("run", *FOLDED, "--full-refresh")
    for name, held in look(repository).items():
        assert held.final == steps[4][name].final
        assert len(repository.visible(name)) == 1


def append(project: DbtProject, name: str, changed: str) -> None:
    """Append a batch that no run has made; its row is the newest live one, changed."""
    live = f"select max(struct(abs(ledger_batch) as newest, *)) as live from {name} where ledger_sign > 0"
    kept = project.columns(name, without=("ledger_sign", "ledger_batch"))
    project.sql(f"insert into {name} by name select {kept}, {changed} from (select live.* from ({live}))")


def double_a_row(project: DbtProject, name: str) -> None:
    # where no row is live, the copy is none that counts
    append(project, name, f"{'0Y as ledger_sign' if name in EMPTY else 'ledger_sign'}, 9999 as ledger_batch")


def take_a_row_away(project: DbtProject, name: str) -> None:
    if name in PROJECTIONS:
        # every group loses its rows
        kept = project.columns(name, without=("ledger_sign", "ledger_batch"))
        back = "-ledger_sign as ledger_sign, 9999 as ledger_batch"
        project.sql(f"insert into {name} by name select {kept}, {back} from {project.data(name)}")
    else:
        append(project, name, "-1Y as ledger_sign, 9999 as ledger_batch")


def expect_a_row_more(project: DbtProject, name: str) -> None:
    for file in (REPOSITORY / "seeds" / "examples").glob(f"*/{name}_expected*.csv"):
        table = file.stem
        kept = project.columns(table, without=("step",))
        project.sql(f"insert into {table} by name select {kept}, {last_step(name)} as step from {table} limit 1")


# the last row of a key counts, or the winning one: a row that is there twice is there once
FORGIVING = ("uact", "uact_negative", "hackernews_rmt", "repl_tbl", "repl_tbl_part")
# ends without a live row: none can be doubled or taken away
EMPTY = tuple(name for name in LEDGERS if not expected(name, last_step(name)))


def expected_sides(spoil, name: str) -> list[str]:
    """Return which side has rows of its own after a spoil."""
    if spoil is double_a_row:
        # a group whose parts are doubled is a wrong group: one side has it as it is, one as it should be
        return ["actual", "expected"] if name in PROJECTIONS else [] if name in FORGIVING + EMPTY else ["actual"]
    if spoil is take_a_row_away:
        return [] if name in EMPTY else ["expected"] * (len(expected(name, last_step(name))) if name in PROJECTIONS else 1)
    return ["expected"]


@pytest.mark.full
@pytest.mark.parametrize("spoil", [double_a_row, take_a_row_away, expect_a_row_more])
def test_the_examples_own_tests_fail_on_wrong_data(steps, repository, spoil):
    for name in EXPECTED:
        spoil(repository, name)
    result = repository.invoke("test", *EXAMPLES)
    tests = {node.node.name: node for node in nodes_of(result)}
    found = {
        name: tests.pop(f"{name}_equals_{seed_name.removeprefix(name.split('_by_')[0] + '_')}")
        for name, seed_name in EXPECTED.items()
    }
    sides = {name: sorted(row[0] for row in repository.rows(node.node.compiled_code)) for name, node in found.items()}
    if spoil is expect_a_row_more:
        repository.run("seed", "--select", "path:seeds/examples,*_expected*")
    else:
        for name in EXPECTED:
            repository.drop_batch(name, 9999)

    assert sides == {name: expected_sides(spoil, name) for name in EXPECTED}
    assert {name: str(node.status) for name, node in found.items()} == {
        name: "fail" if rows else "pass" for name, rows in sides.items()
    }
    # the tests of the SQL that analysts write themselves, which reads ledger or stage
    assert tests and all(name.endswith("_equal_expected") for name in tests)
    if spoil is expect_a_row_more:
        assert {str(node.status) for node in tests.values()} == {"fail"}


@pytest.mark.full
def test_equals_seed_in_a_project_that_installs_the_package(make_project):
    project = make_project(
        "equals_seed",
        {
            "models/stage.sql": """
                select * from values (1, 1, 'a', 'b1'), (2, 1, 'b', 'b1') as t (id, version, label, block)
            """,
            "models/labels.sql": """
                {{ config(meta={'collapsing': {'key': 'id', 'version': 'version', 'block': 'block'}}) }}
                {{ collapsing.ledger(ref('stage')) }}
            """,
            "seeds/all_labels.csv": "id,version,label,note\n1,1,a,kept\n2,1,b,kept\n3,1,c,left out\n",
            "seeds/ids.csv": "id\n1\n2\n",
            "models/labels.yml": """
models:
  - name: labels
    data_tests:
      - collapsing.equals_seed:
          name: filtered
          arguments: {seed: ref('all_labels'), seed_where: "note = 'kept'"}
      - collapsing.equals_seed:
          name: some_columns
          arguments: {seed: ref('ids'), columns: [id]}
      - collapsing.equals_seed:
          name: unfiltered
          arguments: {seed: ref('all_labels')}
      - collapsing.equals_seed:
          name: column_missing
          arguments: {seed: ref('ids')}
      - collapsing.equals_seed:
          name: part_of_the_rows
          arguments: {seed: ref('all_labels')}
          config: {where: id = 1}
  - name: stage
    data_tests:
      - collapsing.equals_seed:
          name: not_a_ledger
          arguments: {seed: ref('ids')}
""",
        },
        package=REPOSITORY,
    )
    result = project.invoke("build")
    statuses = {node.node.name: str(node.status) for node in nodes_of(result)}
    messages = {node.node.name: node.message for node in nodes_of(result)}

    # nothing of this repository's own models, seeds and unit tests is there
    assert set(statuses) == {
        *("stage", "labels", "all_labels", "ids"),
        *("filtered", "some_columns", "unfiltered", "column_missing", "part_of_the_rows", "not_a_ledger"),
    }
    assert statuses["filtered"] == statuses["some_columns"] == "pass"
    assert statuses["unfiltered"] == "fail"
    assert statuses["column_missing"] == "error" and "version" in messages["column_missing"]
    for name in ("part_of_the_rows", "not_a_ledger"):
        assert statuses[name] == "error" and "needs a model with settings" in messages[name]
