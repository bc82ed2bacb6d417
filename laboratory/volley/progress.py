# SPDX-License-Identifier: BSD-3-Clause
"""Telling a person what runs and how long is left, at a terminal or in a log file."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

Note = Callable[[str], None]
"""Receives one short line about what is being done, for the progress display."""


class Display(Protocol):
    """What a study reports while it runs."""

    def note(self, text: str) -> None:
        """What is being done now; replaces the last note."""

    def line(self, text: str) -> None:
        """Something that stays to be read (rich markup)."""

    def advance(self, seconds_done: float, seconds_left: float) -> None:
        """How far measuring got."""


class Silent:
    """Shows nothing: for programs."""

    def note(self, text: str) -> None:
        """Nothing."""

    def line(self, text: str) -> None:
        """Nothing."""

    def advance(self, seconds_done: float, seconds_left: float) -> None:
        """Nothing."""


LOG_INTERVAL_SECONDS = 10.0


class LogDisplay:
    """For output that is no terminal: a line every LOG_INTERVAL_SECONDS, and what stays."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.last = 0.0
        self.done_and_left = (0.0, 0.0)

    def note(self, text: str) -> None:
        """Prints the note if the last one is long enough ago."""
        if time.monotonic() - self.last >= LOG_INTERVAL_SECONDS:
            self.last = time.monotonic()
            done, left = self.done_and_left
            progress = f"{done:.0f} s measured, about {left:.0f} s left: " if done else ""
            self.console.print(f"{progress}{text}", markup=False, highlight=False, soft_wrap=True)

    def line(self, text: str) -> None:
        """Prints the line."""
        self.console.print(text, highlight=False, soft_wrap=True)

    def advance(self, seconds_done: float, seconds_left: float) -> None:
        """Kept for the next note."""
        self.done_and_left = (seconds_done, seconds_left)


class TerminalDisplay:
    """A progress bar that is drawn only between launches: drawing takes time from what is measured."""

    def __init__(self, console: Console) -> None:
        self.progress = Progress(
            TextColumn("[bold]measuring"),
            BarColumn(bar_width=28),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[left]}  [dim]{task.fields[note]}"),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self.task = self.progress.add_task("", total=1.0, note="", left="")

    def note(self, text: str) -> None:
        """Redraws with the note."""
        self.progress.update(self.task, note=escape(text), refresh=True)

    def line(self, text: str) -> None:
        """Prints above the bar."""
        self.progress.console.print(text, highlight=False)

    def advance(self, seconds_done: float, seconds_left: float) -> None:
        """Redraws with share and time left."""
        minutes, seconds = divmod(round(seconds_left), 60)
        left = f"{minutes} min {seconds:02} s left" if minutes else f"{seconds} s left"
        share = seconds_done / max(seconds_done + seconds_left, 1e-9)
        self.progress.update(self.task, completed=share, left=left, refresh=True)


@contextlib.contextmanager
def display_for(console: Console, quiet: bool = False) -> Iterator[Display]:
    """The display that suits where output goes."""
    if quiet:
        yield Silent()
    elif console.is_terminal:
        terminal = TerminalDisplay(console)
        with terminal.progress:
            yield terminal
    else:
        yield LogDisplay(console)
