"""The targets of profiles.yml, and what sets them apart."""

from __future__ import annotations

# Each with the schema that the profile names.
TARGETS = {
    "parquet": "demo",
    "delta": "demo_delta",
    "iceberg": "demo_iceberg",
    "s3": "demo_s3",
    "cluster": "demo",
    "connect": "demo",
}
SERVERS = ("cluster", "connect")
WITH_LOG = ("delta", "iceberg")  # formats with a transaction log
PLAIN = tuple(target for target in TARGETS if target not in WITH_LOG)  # plain parquet
