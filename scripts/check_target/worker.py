"""A process that runs dbt commands for check.py, and dies where it is told to.

Reads a JSON object a line from stdin: `arguments` of dbt, and if wanted what to do before a statement that a regular expression
finds: `die`, {statement, after}, kills the process group before it is first executed, or so many seconds later unless the command
has ended; `meet`, {statement, until}, waits until that time; `time`, {statement}, measures it. Answers on stdout by a line that
begins with ANSWER: a JSON object with `success`, `said`, `answers` (of the macro check_say), `seconds` (of what was measured) and
`met` (whether it came to that statement in time).
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time

ANSWER = "collapsing-check:"


def die() -> None:
    """End this process and what it has started, as a kill does."""
    os.killpg(os.getpgid(0), signal.SIGKILL)


class Ear:
    """Hears dbt's events of one command."""

    def __init__(self, command: dict) -> None:
        self.answers: list = []
        self.errors: list[str] = []
        self.seconds: list[float] = []
        self.met = False
        self.kill: threading.Timer | None = None
        self._command = command
        self._began: float | None = None

    def __call__(self, event) -> None:
        """Take an event."""
        name, text = event.info.name, event.info.msg
        if name == "SQLQuery":
            self._before(" ".join(event.data.sql.split("*/", 1)[-1].split()))
        elif name == "SQLQueryStatus" and self._began:
            self.seconds.append(time.monotonic() - self._began)
            self._began = None
        elif name.startswith("JinjaLog") and text.startswith("check:"):
            self.answers.append(json.loads(text.removeprefix("check:")))
        elif event.info.level == "error":
            self.errors.append(text)

    def _before(self, sql: str) -> None:
        """Do what is wanted before a statement."""
        if self._is_meant("time", sql):
            self._began = time.monotonic()
        if self._is_meant("meet", sql):
            left = self._command["meet"]["until"] - time.time()
            self.met = self.met or left > 0
            time.sleep(max(0.0, left))
        if not self.kill and self._is_meant("die", sql):
            self.kill = threading.Timer(self._command["die"].get("after", 0), die)
            self.kill.start()
            time.sleep(0 if self._command["die"].get("after") else 3600)

    def _is_meant(self, act: str, sql: str) -> bool:
        return act in self._command and bool(re.search(self._command[act]["statement"], sql))


def main() -> None:
    """Run one command after the other, until stdin ends."""
    from dbt.cli.main import dbtRunner  # takes its time, which check.py, who imports this file too, need not wait for

    manifest = None
    for line in sys.stdin:
        command = json.loads(line)
        ear = Ear(command)
        runner = dbtRunner(manifest, [ear])
        result = runner.invoke(["--quiet", "--no-use-colors", *command["arguments"]])
        if command["arguments"][0] == "parse" and result.success:
            manifest = result.result
        if ear.kill:
            ear.kill.cancel()
        said = [*ear.errors, str(result.exception or "")]
        for one in getattr(result.result, "results", None) or []:
            if str(one.status) not in ("success", "pass"):
                said.append(str(one.message))
        answer = {"success": result.success, "said": "\n".join(said), "answers": ear.answers}
        answer |= {"seconds": ear.seconds, "met": ear.met}
        print(ANSWER + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
