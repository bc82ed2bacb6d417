# SPDX-License-Identifier: BSD-3-Clause
"""Systems that come as a wheel from PyPI: found, installed once into the cache, used offline from then on."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from volley.errors import SystemUnavailable, UsageError
from volley.machine import processes
from volley.machine.cache import cache_folder
from volley.machine.processes import Command
from volley.progress import Note
from volley.systems import package_index
from volley.systems.machine import require_c_compiler
from volley.systems.mpiexec import MpiexecSystem
from volley.systems.package_index import IndexUnreachable, Settings

LOOKUP_LIMIT_SECONDS = 60.0
INSTALL_LIMIT_SECONDS = 900.0
"""impi-rt is 100 MB to fetch."""
LOCK_LIMIT_SECONDS = INSTALL_LIMIT_SECONDS + 60.0
ANSWER_LASTS_SECONDS = 24 * 3600.0
"""How long the answer to "which version is newest?" is kept."""
RETRY_AFTER_SECONDS = 3600.0
"""When to ask again after PyPI could not be reached."""
PIP_VARIABLES = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PYTHONPATH", "PYTHONHOME")
"""They would put the package elsewhere than into its own environment. Mirrors and certificates stay."""


def order(version: str) -> Version:
    """Sorts versions: 5.0.0rc1 < 5.0.0 < 5.0.1.post1 < 5.0.2 < 5.0.11. What no version may end in does not count."""
    try:
        return Version(version)
    except InvalidVersion:
        begins = re.match(r"\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)?", version)
        return Version(begins[0] if begins else "0")


def systems_folder() -> Path:
    """Where all wheels are installed: one folder PACKAGE-VERSION each."""
    return cache_folder() / "systems"


def versions_in_cache(package: str) -> list[str]:
    """Versions of `package` that are installed, newest first."""
    found = [path.parent.name.removeprefix(f"{package}-") for path in systems_folder().glob(f"{package}-*/bin")]
    return sorted({name for name in found if name[:1].isdigit()}, key=order, reverse=True)


@contextlib.contextmanager
def locked(name: str, note: Note) -> Iterator[None]:
    """Only one process at a time works on what `name` means; the lock ends with its process."""
    systems_folder().mkdir(parents=True, exist_ok=True)
    path = systems_folder() / f"{name}.lock"
    deadline = time.monotonic() + LOCK_LIMIT_SECONDS
    with path.open("w") as file:
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise SystemUnavailable(
                        f"another process has held {path} for {LOCK_LIMIT_SECONDS:.0f} seconds",
                        f"end it (`fuser {path}` names it) and try again",
                    ) from None
                if not told:
                    note(f"waiting for another process that installs {name}")
                    told = True
                time.sleep(0.2)
        yield


def _environment_of_pip() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in PIP_VARIABLES}


def _pip(arguments: Sequence[str], limit_seconds: float) -> processes.Outcome:
    settings = ("--disable-pip-version-check", "--no-input", "--timeout", "15", "--retries", "1")
    with tempfile.TemporaryDirectory() as elsewhere:  # `-m` would import pip from the current folder
        return processes.run(
            Command(
                (sys.executable, "-m", "pip", *arguments, *settings), _environment_of_pip(), folder=Path(elsewhere)
            ),
            limit_seconds,
        )


def offered_versions(package: str) -> list[str]:
    """Versions that pip's index has for this machine, newest first. Raises IndexUnreachable."""
    found = package_index.versions(package, Settings.of_pip(_environment_of_pip()))
    return sorted((one for one in found if one != "0.0.0"), key=order, reverse=True)


def newest_version(package: str, note: Note) -> str:
    """The newest version that installs with all it needs: remembered for a day, else asked of PyPI, else
    the newest in the cache. Raises SystemUnavailable where there is none of these.
    """
    answer = systems_folder() / f"{package}.newest.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(answer.read_text())
        if 0 <= time.time() - kept["asked"] < ANSWER_LASTS_SECONDS:
            return str(kept["version"])
    note(f"asking PyPI for the newest {package}")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        wanted = ["install", "--dry-run", "--ignore-installed", "--quiet", "--report", str(report), package]
        outcome = _pip(wanted, LOOKUP_LIMIT_SECONDS)
        version, asked = "", time.time()
        if outcome.fine:
            items = [item["metadata"] for item in json.loads(report.read_text())["install"]]
            names = {re.sub(r"[-_.]+", "-", item["name"]).lower(): item["version"] for item in items}
            version = str(names[package])
    if not version:
        present = versions_in_cache(package)
        if not present:
            raise _pip_failed(package, outcome)
        note(f"PyPI cannot be reached; taking {package} {present[0]}, the newest in the cache")
        version, asked = present[0], asked - ANSWER_LASTS_SECONDS + RETRY_AFTER_SECONDS
    systems_folder().mkdir(parents=True, exist_ok=True)
    partial = answer.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps({"version": version, "asked": asked}))
    partial.rename(answer)
    return version


def _pip_failed(package: str, outcome: processes.Outcome) -> SystemUnavailable:
    """What to tell about a pip that did not succeed."""
    if importlib.util.find_spec("pip") is None:
        return SystemUnavailable(
            f"cannot install {package}: {sys.executable} has no pip", f"run: {sys.executable} -m ensurepip"
        )
    if outcome.timed_out:
        return SystemUnavailable(
            f"cannot install {package}: pip did not end within {outcome.seconds:.0f} seconds",
            f"check the network with: {sys.executable} -m pip download {package}",
        )
    with contextlib.suppress(IndexUnreachable):
        if offered_versions(package.partition("==")[0]):
            return SystemUnavailable(
                f"cannot install {package}: {outcome.last_words()}", f"try: {sys.executable} -m pip download {package}"
            )
    return SystemUnavailable(
        f"cannot install {package}: PyPI cannot be reached, or has no wheel of it for this machine",
        f"connect to the network once (it is then kept in {systems_folder()}), or set PIP_INDEX_URL to a mirror",
    )


def _without_what_lacks(package: str, version: str, python: str, partial: Path, note: Note) -> processes.Outcome | None:
    """Installs a package whose requirements the index does not have all, without those; None if that is not why."""
    wanted = ["--python", python, "install", "--quiet"]
    outcome = _pip([*wanted, "--no-deps", f"{package}=={version}"], INSTALL_LIMIT_SECONDS)
    if not outcome.fine:
        return None
    needed = [
        one
        for place in partial.glob("lib/python*/site-packages")
        for distribution in metadata.distributions(name=package, path=[str(place)])
        for one in map(Requirement, distribution.requires or [])
        if one.marker is None or one.marker.evaluate()
    ]
    lacking = [one for one in needed if not any(one.specifier.contains(had) for had in offered_versions(one.name))]
    if not lacking:
        return None
    names = ", ".join(map(str, lacking))
    note(f"installing {package} {version} without {names}, which PyPI does not have")
    (partial / "missing.txt").write_text(names)
    others = [str(one) for one in needed if one not in lacking]
    return _pip([*wanted, *others], INSTALL_LIMIT_SECONDS) if others else outcome


def _second_try(
    package: str, version: str, python: str, partial: Path, outcome: processes.Outcome, note: Note
) -> processes.Outcome:
    """After pip failed: whether the version exists at all, and whether it can be had without what is lacking.

    Raises UsageError for a version that does not exist.
    """
    try:
        offered = offered_versions(package)
        if offered and order(version) not in map(order, offered):
            raise UsageError(f"{package} has no version {version} for this machine", f"PyPI has: {', '.join(offered)}")
        return (_without_what_lacks(package, version, python, partial, note) if offered else None) or outcome
    except IndexUnreachable:
        return outcome


def install(package: str, version: str, note: Note) -> Path:
    """The folder that holds `package` in `version`, installed now if it is not there.

    It is built under another name and then renamed, so a folder that exists is complete. (The compiler
    wrappers of MPICH and Open MPI find themselves by their own path and survive that.)
    Raises UsageError for a version that does not exist, SystemUnavailable for whatever else fails.
    """
    final = systems_folder() / f"{package}-{version}"
    if (final / "bin").is_dir():
        return final
    with locked(package, note):
        if (final / "bin").is_dir():
            return final
        note(f"installing {package} {version}")
        partial = systems_folder() / f"partial-{package}-{version}"
        shutil.rmtree(partial, ignore_errors=True)
        try:
            venv.EnvBuilder(with_pip=False, symlinks=True).create(partial)
            python = str(partial / "bin" / "python")
            wanted = ["--python", python, "install", "--quiet", f"{package}=={version}"]
            outcome = _pip(wanted, INSTALL_LIMIT_SECONDS)
            if not outcome.fine:
                outcome = _second_try(package, version, python, partial, outcome, note)
            if not outcome.fine:
                raise _pip_failed(f"{package}=={version}", outcome)
            partial.rename(final)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return final


class WheelSystem(MpiexecSystem):
    """An MPI from a wheel: subclasses name package and flavour."""

    package: ClassVar[str]

    def __init__(self, version: str | None, transport: str, prefix: Path | None = None) -> None:
        super().__init__(version, transport, prefix)
        self._version = version or ""

    @property
    def version(self) -> str:
        """The wheel's version."""
        return self._version

    @property
    def folder(self) -> Path:
        """Where it is (to be) installed."""
        return systems_folder() / f"{self.package}-{self._version}"

    @classmethod
    def installed(cls) -> list[str]:
        """Versions in the cache."""
        return versions_in_cache(cls.package)

    @classmethod
    def offered(cls) -> list[str]:
        """Versions on PyPI, newest first; [] where it cannot be reached."""
        try:
            return offered_versions(cls.package)
        except IndexUnreachable:
            return []

    def prepare(self, note: Note) -> None:
        """Finds the version, installs it where it is not in the cache, and looks whether it is whole."""
        require_c_compiler()
        try:
            if not self._version:
                self._version = newest_version(self.package, note)
            self.prefix = install(self.package, self._version, note)
        except OSError as problem:
            raise SystemUnavailable(
                f"cannot write {problem.filename or systems_folder()}: {problem.strerror}",
                "make room, or set VOLLEY_CACHE to a folder that can be written",
            ) from problem
        self.check_installed()

    def check_installed(self) -> None:
        """Raises SystemUnavailable if the wheel does not hold what is needed."""
        if not (self.folder / "bin" / "mpiexec").exists():
            raise SystemUnavailable(
                f"{self.package} {self._version} has no bin/mpiexec in {self.folder}",
                f"name another version, or remove that folder: {self.family}",
            )

    def describe(self) -> dict[str, str]:
        """Adds the package, and what it lacks."""
        facts = {**super().describe(), "package": f"{self.package}=={self._version}"}
        with contextlib.suppress(OSError):
            facts["missing"] = (self.folder / "missing.txt").read_text()
        return facts
