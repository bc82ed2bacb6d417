# SPDX-License-Identifier: BSD-3-Clause
"""One launch: compile the test for the system, start it, watch it, read what it left."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from volley.benchmarks import FOLDER, Test
from volley.data.analyse import operations
from volley.data.results import Launch
from volley.data.states import change_within
from volley.errors import VolleyError
from volley.hosts.base import Hosts
from volley.hosts.observer import HostClock
from volley.hosts.scratch import make_scratch
from volley.hosts.this_machine import ThisMachine
from volley.machine.cache import cache_folder
from volley.machine.facts import OTHERS, busy_seconds
from volley.machine.processes import Command, Outcome, User, run
from volley.measure import rank_files
from volley.measure.plan import Cell, Options, launch_text
from volley.systems import System

COMPILE_FLAGS = ("-std=gnu11", "-O2", f"-I{FOLDER}", "-pthread")
LIBRARIES = ("-lm",)
"""After the source, as linkers want them."""
COMPILE_LIMIT_SECONDS = 120
NOT_STARTED = Outcome(-1, "", "", 0.0, False)
"""Of a launch whose hosts were lost while it was prepared."""
RUN_AGAIN = 2
"""Times; a machine that changes more often than launches last would never end. The last one is kept, and marked."""
EXIT_FROZEN, EXIT_BROKEN = 86, 87  # benchmarks/volley_test.h
RANKS_COUNTERS = (
    "voluntary_switches",
    "involuntary_switches",
    "minor_faults",
    "migrations",
    "cpu_seconds",
    "waiting_seconds",
)
"""What the ranks say of themselves at their end (fact ``usage``), summed over ranks as ``ranks.NAME``. Migrations, and
the time that ranks were ready to run and had no CPU, are known only where the kernel keeps them."""


class CompileError(VolleyError):
    """A test does not compile for a system."""


def compile_test(system: System, test: Test) -> Path:
    """The test's program for this system, from the cache or compiled now. Raises CompileError."""
    sources = sorted([test.file, *FOLDER.glob("*.h")])
    compiler = system.compiler()
    digest = hashlib.sha256(repr((compiler, COMPILE_FLAGS, LIBRARIES, system.build_key)).encode())
    for source in sources:
        digest.update(source.read_bytes())
    folder = cache_folder() / "programs" / digest.hexdigest()[:20]
    program = folder / test.name
    if program.exists():
        return program
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise CompileError(
            f"cannot write {problem.filename or folder}: {problem.strerror}",
            "make room, or set VOLLEY_CACHE to a folder that can be written",
        ) from problem
    temporary = folder / f".{test.name}.{os.getpid()}"
    argv = [compiler[0], *COMPILE_FLAGS, "-o", str(temporary), str(test.file), *compiler[1:], *LIBRARIES]
    outcome = run(Command(tuple(argv)), COMPILE_LIMIT_SECONDS)
    if not outcome.fine:
        raise CompileError(
            f"{test.name} does not compile for {system.name}: {outcome.last_words()}",
            f"try: {' '.join(argv)}",
        )
    temporary.chmod(0o755)
    temporary.rename(program)
    return program


class Launcher:
    """Starts launches in a scratch folder of its own, which is gone at the end."""

    def __init__(self, options: Options, environment: Mapping[str, Any], hosts: Hosts | None = None) -> None:
        self.options = options
        self.environment = environment
        self.hosts = hosts or ThisMachine()
        self.scratch = make_scratch()

    def close(self) -> None:
        """Removes the scratch folder."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _place_program(self, cell: Cell) -> Path:
        """A copy of the program where any user can reach it (the cache is under the caller's home)."""
        program = compile_test(cell.system, cell.test)
        copy = self.scratch / f"{program.parent.name}-{program.name}"
        if not copy.exists():
            shutil.copy(program, copy)
            copy.chmod(0o755)
            self.hosts.put(copy)
        return copy

    def launch(self, cell: Cell, number: int, block: int) -> tuple[Launch, pl.DataFrame]:
        """Runs one launch to its end, whatever that is; failures are results, not exceptions.

        If the machine changed its state in the middle, the launch is void and is run again, RUN_AGAIN times at most.
        Raises CompileError, and VolleyError where the launcher program itself cannot be started.
        """
        voided: list[dict[str, Any]] = []
        while True:
            launch, samples = self._launch_once(cell, number, block)
            if voided:
                launch.state["voided"] = voided
            change = change_within(launch)
            if not change or launch.status != "measured" or len(voided) >= RUN_AGAIN:
                return launch, samples
            voided.append({"seconds": launch.seconds, "reason": change})

    def _launch_once(self, cell: Cell, number: int, block: int) -> tuple[Launch, pl.DataFrame]:
        program = self._place_program(cell)
        folder = self.scratch / f"launch-{number}"
        folder.mkdir()
        try:
            placement = self.hosts.placement(cell.ranks)
            used, lost_before = placement.hosts if placement else (), set(self.hosts.lost)
            command = cell.system.launch(program, [str(folder)], cell.ranks, placement)
            if placement and command.folder is None:
                # Launchers go to their own folder on each host; the caller's need not be there.
                command = replace(command, folder=folder)
            _give(folder, command.user)
            launch = Launch(
                number=number,
                system=cell.system.name,
                test=cell.test.name,
                ranks=cell.ranks,
                block=block,
                started=datetime.now(UTC).isoformat(timespec="milliseconds"),
            )
            children = _cpu_seconds_of_children()
            with self.hosts.observed(launch, used) as seen:
                # The stamp comes last: the test `startup` counts from it.
                text = launch_text(cell, self.options, self.environment, number, time.monotonic_ns())
                (folder / "launch.txt").write_text(text)
                self.hosts.put(folder, command.user)
                if any(host in self.hosts.lost for host in used):
                    outcome = NOT_STARTED
                else:
                    outcome = self.hosts.run(command, self.options.launch_limit_seconds, used)
            children = _cpu_seconds_of_children() - children
            if not outcome.fine:
                self.hosts.check_room(folder)
            self.hosts.fetch(folder)
            files = rank_files.read_launch(folder, seen.clocks)
            if cell.test.operation == "span":
                drop_uncertain_spans(files, seen.clocks)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if not outcome.fine or files.complete_ranks < cell.ranks:
            self.hosts.check()
            launch.lost = [host for host in used if host in self.hosts.lost and host not in lost_before]
        if launch.lost:
            files.samples = files.samples.clear()  # some ranks' alone would pass for those of all
        self._fill(launch, files, outcome, cell)
        # Ranks that a daemon has started are not among our children: then their own word counts.
        ranks = sum(fact["cpu_seconds"] for fact in files.said("usage"))
        launch.counters[OTHERS] = round(busy_seconds(launch.counters) - max(children, ranks), 4)
        return launch, files.samples

    def _fill(self, launch: Launch, files: rank_files.LaunchFiles, outcome: Outcome, cell: Cell) -> None:
        """Sets what became of the launch, from the ranks' files first, then from how it ended."""
        launch.seconds = round(outcome.seconds, 4)
        launch.operations = len(files.samples)
        launch.affinity, launch.clock = files.affinity, files.clock
        launch.overhead_ns, launch.facts = round(files.overhead_ns, 2), files.facts
        for fact in files.said("usage"):
            for name in RANKS_COUNTERS:
                if name in fact:
                    launch.counters[f"ranks.{name}"] = round(launch.counters.get(f"ranks.{name}", 0) + fact[name], 6)
        launch.counters |= cell.system.counted(outcome.output + outcome.errors)
        frozen, wrong = files.said("frozen"), files.said("mismatch")
        if launch.lost:
            launch.status, launch.reason = "failed", "; ".join(self.hosts.lost[host] for host in launch.lost)
        elif frozen:
            where = frozen[0]
            launch.status = "frozen"
            launch.reason = (
                f"nothing moved for {where['after_seconds']:g} s in {where['phase']}, at {where['size']} bytes"
                + (f", variant {where['variant']}" if where["variant"] not in ("", "-") else "")
            )
        elif outcome.timed_out:
            launch.status = "cut off"
            launch.reason = f"not finished after {self.options.launch_limit_seconds:g} s"
        elif wrong:
            sizes = sorted({fact["size"] for fact in wrong})
            launch.status = "wrong bytes"
            launch.reason = f"wrong bytes arrived at sizes {', '.join(map(str, sizes[:8]))}" + (
                " …" if len(sizes) > 8 else ""
            )
        elif files.complete_ranks < cell.ranks or outcome.status != 0:
            launch.status = "failed"
            if files.complete_ranks == cell.ranks:
                launch.reason = f"all ranks finished, but the launcher ended with status {outcome.status}: "
            else:
                launch.reason = f"{files.complete_ranks} of {cell.ranks} ranks finished, status {outcome.status}: "
            launch.reason += outcome.last_words()
        elif files.said("cut"):
            # Points come in random order: other launches measure what this one had no time for.
            launch.reason = f"{len(files.said('cut'))} points left to other launches"


def drop_uncertain_spans(files: rank_files.LaunchFiles, clocks: Mapping[str, HostClock]) -> None:
    """Takes out operations that lasted no longer than the clocks of two hosts may differ, and says so."""
    if not clocks or not len(files.samples):
        return
    bound = 2 * max(clock.error_ns for clock in clocks.values())
    spans = operations(files.samples.lazy(), "span", ["variant", "size"]).collect()
    short = spans.filter(pl.col("duration_ns") < bound)
    for size in short["size"].unique().sort():
        said = {"fact": "below clock bound", "rank": 0, "size": int(size), "bound_ns": round(bound)}
        files.facts.append({**said, "operations": len(short.filter(pl.col("size") == size))})
    files.samples = files.samples.join(short, on=["variant", "size", "repetition"], how="anti")


def _cpu_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _give(folder: Path, user: User | None) -> None:
    """Makes the launch folder the property of the user whose processes write into it."""
    if user is not None:
        os.chown(folder, user.uid, user.gid)
