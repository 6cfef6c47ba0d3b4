"""The folder that a script works in: one process at a time, asked for before Spark starts, since Derby takes no more."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO


class InUse(Exception):
    """Another process uses the folder; the text says which, since when where that is known, and what to do."""


@contextlib.contextmanager
def alone(local: Path, is_embedded: bool = True) -> Iterator[None]:
    """Hold the folder ``local``, and see that no other process has opened its metastore, if that is what Spark will use.

    The system lets go of what a killed process held. InUse when another script, dbt or Spark is at work there.
    """
    with (local / "in_use").open("a+") as file:
        if not _locked(file):
            file.seek(0)
            raise InUse(f"{local} is being used by {file.read() or 'another process'}: {_WHAT_TO_DO}")
        file.truncate(0)
        file.write(f"process {os.getpid()} since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        file.flush()
        derby = local / "metastore" / "dbex.lck"
        if is_embedded and derby.exists():
            with derby.open("a") as lock:  # Derby locks it this way for as long as it is open
                if not _locked(lock):
                    raise InUse(f"{local / 'metastore'} is open in {_holder(lock)}: {_WHAT_TO_DO}")
        yield


_WHAT_TO_DO = "wait for it to end, or set COLLAPSING_LOCAL to another folder"


def _locked(file: TextIO) -> bool:
    """Lock a file for this process; returns whether it could."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _holder(file: TextIO) -> str:
    """Return which process has a file locked, as Linux tells it; elsewhere that there is one."""
    words = "another process, dbt's or Spark's"
    if sys.platform != "linux":
        return words
    asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    process = struct.unpack("hhqqi", fcntl.fcntl(file, fcntl.F_GETLK, asked))[4]
    parent = process
    with contextlib.suppress(OSError, IndexError, ValueError):
        # Spark's Java has the file; who started it says more
        parent = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
        command = Path(f"/proc/{parent}/cmdline").read_text().replace("\0", " ").strip()
        return f"process {process}, which process {parent} has started ({command[:100]})" if parent > 1 else f"process {process}"
    return words


def start_afresh(local: Path, names: Sequence[str]) -> None:
    """Remove folders that an earlier run left in ``local``. Nothing outside of it."""
    for name in names:
        folder = local / name
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            shutil.rmtree(folder)
