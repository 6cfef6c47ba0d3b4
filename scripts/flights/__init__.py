"""The demo: the flights of 2013 as an event stream, folded and summed by dbt on Spark."""
