# SPDX-License-Identifier: BSD-3-Clause
"""Carrying out a study: prepare the systems, launch block after block, stop when it is precise enough."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import polars as pl
from rich.markup import escape

from volley.benchmarks import Test
from volley.data.analyse import achieved_half_width, curves, launch_values
from volley.data.results import LOST_HOST, CellFacts, Curve, Launch, Study, SystemFacts, from_dictionary
from volley.data.states import states_of
from volley.data.store import StudyFolder, labelled, reading
from volley.errors import DiskFull, SystemUnavailable, VolleyError
from volley.hosts.base import Hosts
from volley.hosts.choose import opened
from volley.machine import facts as machine_facts
from volley.machine.processes import adopt_orphans, ending_on_signals, guarded
from volley.measure.launcher import Launcher, compile_test
from volley.measure.plan import Buffers, Cell, Options, block_order, make_cells
from volley.progress import Display
from volley.sizes import refine
from volley.systems import System

GIVE_UP_AFTER = 2
"""Launches of a cell that bring no sample, in a row, before it is left alone."""
WORTH_A_LINE_SECONDS = 3.0
"""What takes longer to prepare was downloaded or installed: a person is told that this is over."""
ENOUGH_LAUNCHES = 8
"""Of a cell in doubt, before other cells have their turn again: six decide what differs between launches, and two may
have been made in another state of the machine."""
EXPECTED_LAUNCH_SECONDS = 1.0
"""A launch's guessed duration before the first has been seen."""


def prepare_systems(systems: Sequence[System], display: Display) -> tuple[list[System], list[SystemFacts]]:
    """Installs every system; those that cannot be had are named with their reason."""
    ready: list[System] = []
    facts: list[SystemFacts] = []
    for system in systems:
        display.note(f"preparing {system.name}")
        begun = time.monotonic()
        try:
            system.prepare(display.note)
        except SystemUnavailable as problem:
            facts.append(_unavailable(system, problem))
            display.line(_said_unavailable(system, problem))
            continue
        if time.monotonic() - begun >= WORTH_A_LINE_SECONDS:
            display.line(f"{system.name} is installed ({time.monotonic() - begun:.0f} s, once)")
        if any(other.name == system.name for other in ready):
            continue
        ready.append(system)
        facts.append(
            SystemFacts(
                name=system.name,
                family=system.family,
                version=system.version,
                transport=system.transport,
                details=system.describe(),
                knobs=system.knobs(),
            )
        )
    return ready, facts


def reaching(systems: Sequence[System], facts: list[SystemFacts], hosts: Hosts, display: Display) -> list[System]:
    """Those that can be measured on these hosts; of the others it is said why not."""
    if len(hosts.names) == 1:
        return list(systems)
    usable = []
    for system in systems:
        lacking = hosts.lacking(system.prefix / "bin") if system.prefix else []
        if not system.reaches_hosts:
            problem = SystemUnavailable(
                f"{system.transport} does not reach other hosts",
                f"those that do: {', '.join(system.network_transports) or f'none of {system.family}'}",
            )
        elif lacking:
            problem = SystemUnavailable(
                f"there is no {system.prefix} on {', '.join(lacking)}",
                "install it there, or set VOLLEY_CACHE to a folder that all hosts see",
            )
        else:
            usable.append(system)
            continue
        fact = next(one for one in facts if one.name == system.name)
        fact.status, fact.reason, fact.remedy = "unavailable", problem.problem, problem.remedy
        display.line(_said_unavailable(system, problem))
    return usable


def add_warnings(study: Study, hosts: Hosts) -> None:
    """What is to be said of the hosts, once each."""
    study.warnings += [one for one in hosts.warnings if one not in study.warnings]


def _said_unavailable(system: System, problem: VolleyError) -> str:
    return f"[yellow]not measured[/]: {system.name}: {escape(problem.problem)}. {escape(problem.remedy)}"


def _unavailable(system: System, problem: VolleyError) -> SystemFacts:
    return SystemFacts(
        name=system.name,
        family=system.family,
        version=system.version,
        transport=system.transport,
        status="unavailable",
        reason=problem.problem,
        remedy=problem.remedy,
    )


@dataclass
class CellState:
    """How far one cell has got."""

    cell: Cell
    launches: int = 0
    fruitless: int = 0
    seconds: float = 0.0
    stopped: str = ""
    half_width: float = float("inf")

    @property
    def expected_seconds(self) -> float:
        """Of one more launch."""
        return self.seconds / self.launches if self.launches else EXPECTED_LAUNCH_SECONDS


class Conductor:
    """Carries one study from where it stands to its end."""

    def __init__(
        self,
        folder: StudyFolder,
        systems: Sequence[System],
        tests: Sequence[Test],
        options: Options,
        display: Display,
        hosts: Hosts,
        doubts: Collection[tuple[str, str, int]] = (),
    ) -> None:
        self.folder = folder
        self.doubts = doubts
        self.study: Study = folder.facts
        self.tests = {test.name: test for test in tests}
        self.options = options
        self.display = display
        environment = self.study.environment
        cells = make_cells(systems, tests, options, environment["cores"], len(hosts.names))
        self.cells = [CellState(cell) for cell in cells]
        self.hosts = hosts
        self.launcher = Launcher(options, environment, hosts)
        self.values: dict[tuple[str, str, int], list[pl.DataFrame]] = {}

    def run(self) -> None:
        """Measures until every cell is precise, has failed, or the budget is spent. Ctrl-C passes through."""
        try:
            self._take_up()
            self._compile()
            block = 1 + max((launch.block for launch in self.study.launches), default=0)
            while not self._all_stopped():
                for state in self._order(block):
                    if not state.stopped and not self._out_of_time(state):
                        self._launch(state, block)
                self._refine()
                self._judge()
                block += 1
        finally:
            self.launcher.close()
            self._publish_cells()

    def _order(self, block: int) -> list[CellState]:
        """The cells of a block, those first that have fewest launches in the machine's usual state."""
        usual: dict[tuple[str, str, int], int] = {}
        states = states_of(self.study.launches)
        for one in self.study.launches:
            key = (one.system, one.test, one.ranks)
            usual[key] = usual.get(key, 0) + (bool(one.operations) and one.number not in states.unusual)
        order = block_order(self._in_doubt() or self.cells, block, self.options.seed)
        return sorted(order, key=lambda state: usual.get(state.cell.key, 0))

    def _in_doubt(self) -> list[CellState]:
        """Cells on whose launches a verdict hangs: they come first, until they have ENOUGH_LAUNCHES."""
        return [
            state
            for state in self.cells
            if state.cell.key in self.doubts
            and state.launches < ENOUGH_LAUNCHES
            and not state.stopped
            and not self._out_of_time(state)
        ]

    def spent_seconds(self) -> float:
        """Time that all launches so far took: what the budget is about."""
        return sum(launch_seconds(launch) for launch in self.study.launches)

    def _take_up(self) -> None:
        """With --resume: counts what earlier runs have measured."""
        earlier = {state.cell.key: state for state in self.cells}
        for launch in self.study.launches:
            state = earlier.get((launch.system, launch.test, launch.ranks))
            if state:
                self._count(state, launch)
        if self.study.launches:
            with reading(self.folder.path):
                values = launch_values(self.folder.samples(), self.tests.values())
            for (system, test, ranks), group in values.group_by(["system", "test", "ranks"]):
                self.values[(str(system), str(test), int(str(ranks)))] = [group]
            self._judge()

    def _compile(self) -> None:
        """Compiles every program before anything is timed; a failure takes its cells out."""
        for at, state in enumerate(self.cells, 1):
            self.display.note(
                f"compiling {state.cell.test.name} for {state.cell.system.name} ({at} of {len(self.cells)}; once)"
            )
            try:
                compile_test(state.cell.system, state.cell.test)
            except VolleyError as problem:
                state.stopped = "failed"
                self._not_measured(state, problem)

    def _not_measured(self, state: CellState, problem: VolleyError) -> None:
        cell = state.cell
        self.display.line(f"[yellow]not measured[/]: {cell.test.name} on {cell.system.name}: {escape(problem.problem)}")
        self.study.launches.append(
            Launch(
                number=self._next_number(),
                system=cell.system.name,
                test=cell.test.name,
                ranks=cell.ranks,
                block=0,
                status="not measured",
                reason=f"{problem.problem}. {problem.remedy}",
            )
        )

    def _next_number(self) -> int:
        return 1 + max((launch.number for launch in self.study.launches), default=0)

    def _out_of_time(self, state: CellState) -> bool:
        """Whether a launch of this cell no longer fits the budget; every cell gets its first all the same."""
        return state.launches > 0 and self.spent_seconds() + state.expected_seconds > self.options.budget_seconds

    def _launch(self, state: CellState, block: int) -> None:
        cell = state.cell
        self.display.note(f"{cell.test.name}, {cell.ranks} ranks, {cell.system.name}")
        try:
            launch, samples = self.launcher.launch(cell, self._next_number(), block)
        except DiskFull:
            raise  # whatever cell came next
        except VolleyError as problem:
            state.stopped = "failed"
            self._not_measured(state, problem)
            return
        self.folder.add_launch(launch, samples)
        self._count(state, launch)
        if launch.operations:
            values = launch_values(labelled(launch, samples).lazy(), [cell.test])
            self.values.setdefault(cell.key, []).append(values)
        if launch.status not in ("measured", "wrong bytes"):
            cell.system.recover()
        if launch.status != "measured":
            self.display.line(
                f"[yellow]{launch.status}[/]: {cell.test.name} on {cell.system.name}, launch {launch.number}: "
                + escape(launch.reason)
            )
        self.display.advance(self.spent_seconds(), self._left_seconds())

    def _count(self, state: CellState, launch: Launch) -> None:
        if launch.lost or launch.status == "not measured":
            return
        state.launches += 1
        state.seconds += launch_seconds(launch)
        state.fruitless = 0 if launch.operations else state.fruitless + 1
        if state.fruitless >= GIVE_UP_AFTER:
            state.stopped = "failed"

    def _left_seconds(self) -> float:
        """What is left of the budget, or until all cells have had their launches if that is less."""
        open_cells = [state for state in self.cells if not state.stopped]
        to_the_limit = sum(
            state.expected_seconds * (self.options.maximum_launches - state.launches) for state in open_cells
        )
        first_ones = sum(EXPECTED_LAUNCH_SECONDS for state in open_cells if not state.launches)
        return max(min(self.options.budget_seconds - self.spent_seconds(), to_the_limit), first_ones, 0)

    def cell_curves(self, state: CellState) -> list[Curve]:
        """The curves measured so far in one cell."""
        tables = self.values.get(state.cell.key)
        if not tables:
            return []
        text = [table.with_columns(pl.col("system", "test", "variant").cast(pl.String)) for table in tables]
        return curves(pl.concat(text), self.tests)

    def _refine(self) -> None:
        """Adds sizes where a curve of any system disagrees with interpolation; all systems get them."""
        for test in self.tests.values():
            if (
                len(self.hosts.names) > 1
                or not test.neighbours
                or test.axis != "size"
                or self.options.sizes is not None
            ):
                continue
            wanted = set(self.options.added_sizes.get(test.name, []))
            before = len(wanted)
            for state in self.cells:
                crowded = state.cell.ranks > self.study.environment["cores"]
                if state.cell.test is test and not crowded and before < MAXIMUM_ADDED_SIZES:
                    for curve in self.cell_curves(state):
                        # A point from one launch has no interval: nothing tells its noise from a step.
                        sure = [point for point in curve.points if point.launches > 1]
                        wanted.update(refine({one.x: (one.low_ns, one.value_ns, one.high_ns) for one in sure}, limit=4))
            if len(wanted) > before:
                self.options.added_sizes[test.name] = sorted(wanted)
        self.study.options["added_sizes"] = self.options.added_sizes

    def _judge(self) -> None:
        """Decides for every cell whether it goes on."""
        for state in self.cells:
            if state.stopped:
                continue
            points = [point for curve in self.cell_curves(state) for point in curve.points]
            state.half_width = achieved_half_width(points)
            if state.half_width <= self.options.precision:
                state.stopped = "precise"
            elif state.launches >= self.options.maximum_launches:
                state.stopped = "limit"

    def _all_stopped(self) -> bool:
        return all(state.stopped or self._out_of_time(state) for state in self.cells)

    def _publish_cells(self) -> None:
        self.study.cells = [
            CellFacts(
                state.cell.system.name,
                state.cell.test.name,
                state.cell.ranks,
                state.launches,
                state.stopped or "budget",
                state.half_width,
            )
            for state in self.cells
        ]
        self.study.warnings = [
            *(one for one in self.study.warnings if one.name not in machine_facts.AFTERWARDS),
            *machine_facts.warnings_after(self.study.launches, self.study.environment["cores"]),
        ]
        add_warnings(self.study, self.hosts)
        self.folder.save()


def launch_seconds(launch: Launch) -> float:
    """What it took, with its tries that were void."""
    return launch.seconds + float(sum(one["seconds"] for one in launch.state.get("voided", ())))


MAXIMUM_ADDED_SIZES = 24
"""Of one test in one study."""


def new_facts(title: str, command: Sequence[str], options: Options, tests: Sequence[Test]) -> Study:
    """The facts of a study that is about to begin."""
    return Study(
        title=title,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=list(command),
        options=asdict(options),
        environment=machine_facts.environment(),
        warnings=machine_facts.warnings_before(),
        tests=[asdict(test) for test in tests],
    )


def options_of(study: Study) -> Options:
    """The options a study was begun with. Those before `buffers` was one of them kept theirs."""
    return from_dictionary(Options, {"buffers": Buffers.KEPT, **study.options})


@contextlib.contextmanager
def sessions(systems: Sequence[System], facts: list[SystemFacts], display: Display) -> Iterator[list[System]]:
    """Opens every system's session; one that cannot be opened is out, and said so."""
    with contextlib.ExitStack() as stack:
        usable = []
        for system in systems:
            try:
                stack.enter_context(system.session())
                usable.append(system)
            except SystemUnavailable as problem:
                fact = next(one for one in facts if one.name == system.name)
                fact.status, fact.reason, fact.remedy = "unavailable", problem.problem, problem.remedy
                display.line(
                    f"[yellow]not measured[/]: {system.name}: {escape(f'{problem.problem}. {problem.remedy}')}"
                )
        yield usable


def conduct(
    folder: StudyFolder,
    systems: Sequence[System],
    tests: Sequence[Test],
    options: Options,
    display: Display,
    doubts: Collection[tuple[str, str, int]] = (),
) -> None:
    """Carries out (or goes on with) the study in `folder`. An interrupt keeps all finished launches.

    `doubts`: cells (system, test, ranks) that are launched first, as a verdict hangs on them.
    """
    adopt_orphans()
    started = time.monotonic()
    with folder.lock(), guarded(), ending_on_signals():
        ready, facts = prepare_systems(systems, display)
        with opened(options.hosts, options.ranks_per_host, options.interface, display.note) as hosts:
            ready = reaching(ready, facts, hosts, display)
            folder.facts.environment |= hosts.environment()
            # Of hosts that were lost before --resume, launches say it; that they are left out is true no more.
            folder.facts.warnings = [one for one in folder.facts.warnings if one.name != LOST_HOST]
            add_warnings(folder.facts, hosts)
            for warning in hosts.warnings:
                display.line(f"[yellow]{escape(warning.name)}[/]: {escape(warning.what)} ({escape(warning.remedy)})")
            folder.facts.systems = facts
            folder.facts.options["requested_systems"] = [
                *(system.pinned_request for system in ready),
                *(system.request for system in systems if system not in ready),
            ]
            with sessions(ready, facts, display) as usable:
                folder.save()
                Conductor(folder, usable, tests, options, display, hosts, doubts).run()
        display.note("merging samples")
        folder.facts.finished = datetime.now(UTC).isoformat(timespec="seconds")
        folder.facts.options["wall_seconds"] = round(
            folder.facts.options.get("wall_seconds", 0) + time.monotonic() - started, 1
        )
        folder.merge()
        folder.save()
