# SPDX-License-Identifier: BSD-3-Clause
"""LAM/MPI 7.1.4, the last one, from Debian's packages: ranks are started by a daemon, as an ordinary user.

LAM refuses root. Where the laboratory runs as root, LAM runs as the account that VOLLEY_LAM_USER names,
or as "volley", which is made if it is missing. lamboot comes before the first launch and lamhalt after
the last, whatever happens: a lamd left alone goes on, and after losing its peers at full speed.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from volley.errors import SystemUnavailable, VolleyError
from volley.machine import processes
from volley.machine.environment import clean_environment
from volley.machine.processes import Command, User
from volley.progress import Note
from volley.systems import knobs
from volley.systems import settings as setting
from volley.systems.base import Placement, System
from volley.systems.machine import require_c_compiler
from volley.systems.traits import Traits

TOOLS = ("mpicc.lam", "mpirun.lam", "lamboot", "lamhalt", "lamclean", "laminfo")
INSTALL_LINE = "apt-get install -y lam-runtime lam4-dev"
INSTALL_LIMIT_SECONDS = 300.0
STEP_LIMIT_SECONDS = 20.0
"""lamboot and lamhalt take half a second on an idle machine."""
ACCOUNT = "volley"
ON_HOSTS = """
schema=$(mktemp) && said=$(mktemp) || exit 1
trap 'lamhalt >/dev/null 2>&1 || lamwipe >/dev/null 2>&1; rm -f "$schema" "$said"' EXIT
trap 'exit 143' TERM INT HUP
printf '%s\\n' {hosts} >"$schema"
lamboot -ssi boot rsh -ssi boot_rsh_agent {agent} -ssi boot_rsh_no_n 1 -ssi boot_rsh_no_profile 1 \\
    "$schema" >"$said" 2>&1 || {{ echo "lamboot failed:" >&2; cat "$said" >&2; exit 1; }}
{mpirun}
"""
"""One launch over several hosts, run on the first: daemons of its own, on all of them, for as long as it lasts. The
agent may take no -n behind the host, as rsh does, and what it starts needs no profile."""


def missing_tools() -> list[str]:
    """Programs of LAM that are not on PATH."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def _as_root(argv: Sequence[str]) -> processes.Outcome:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    return processes.run(Command(tuple(argv), quiet), INSTALL_LIMIT_SECONDS)


def install(note: Note) -> None:
    """Installs Debian's packages. Raises SystemUnavailable with the line that does it by hand."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SystemUnavailable(
            f"LAM/MPI is not installed: there is no {missing_tools()[0]} on PATH",
            f"on Debian or Ubuntu, as root: {INSTALL_LINE}",
        )
    note("installing lam-runtime and lam4-dev")
    apt = ["apt-get", "-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::http::Timeout=20"]
    line = [*apt, "install", "-y", "--no-install-recommends", "lam-runtime", "lam4-dev"]
    outcome = _as_root(line)
    if not outcome.fine and not outcome.timed_out:  # the lists of packages may be old or absent
        _as_root([*apt, "update"])
        outcome = _as_root(line)
    if outcome.timed_out or missing_tools():
        said = f"apt-get did not end within {INSTALL_LIMIT_SECONDS:g} s" if outcome.timed_out else outcome.last_words()
        raise SystemUnavailable(f"LAM/MPI cannot be installed: {said}", f"try by hand: {INSTALL_LINE}")


def account(note: Note) -> User | None:
    """Whose LAM's processes are: None, which is the caller's, unless that is root."""
    if os.geteuid() != 0:
        return None
    name = os.environ.get("VOLLEY_LAM_USER") or ACCOUNT
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        if name != ACCOUNT:
            raise SystemUnavailable(
                f'VOLLEY_LAM_USER names "{name}", and there is no such account',
                f"make it, or unset VOLLEY_LAM_USER for the account {ACCOUNT}",
            ) from None
        note(f'making the account "{ACCOUNT}", since LAM refuses to run as root')
        line = ["useradd", "--system", "--create-home", "--shell", "/usr/sbin/nologin", ACCOUNT]
        if shutil.which("useradd") is None or not _as_root(line).fine:
            raise SystemUnavailable(
                "LAM refuses to run as root, and no account could be made for it",
                f"make one and name it in VOLLEY_LAM_USER, for example: {' '.join(line)}",
            ) from None
        entry = pwd.getpwnam(name)
    if entry.pw_uid == 0:
        raise SystemUnavailable(
            f'LAM refuses to run as root, and VOLLEY_LAM_USER names "{name}", which is root',
            f"name an ordinary account, or unset it for the account {ACCOUNT}",
        )
    return User(entry.pw_name, entry.pw_uid, entry.pw_gid, Path(entry.pw_dir))


@dataclass
class Daemon:
    """The lamd of this process's study: one for all transports, gone when the last session ends."""

    user: User | None
    suffix: str
    """Keeps studies of one user apart: each has a lamd of its own."""
    mark: str
    sessions: int = 0

    def environment(self) -> dict[str, str]:
        """A whole environment that suits the user."""
        own = {"LAM_MPI_SESSION_SUFFIX": self.suffix}
        if self.user is not None:
            home = str(self.user.home)
            own |= {"HOME": home, "USER": self.user.name, "LOGNAME": self.user.name, "TMPDIR": "/tmp"}
        return clean_environment(own)

    def command(self, *argv: str) -> Command:
        """One of LAM's tools, as the user. The folder is one that every user may read."""
        return Command(argv, self.environment(), self.user, Path("/"))

    def on_hosts(self, mpirun: Sequence[str], placement: Placement) -> Command:
        """mpirun among daemons of other hosts, which are booted before and halted after."""
        hosts = (f"{host} cpu={placement.ranks_per_host}" for host in placement.hosts)
        script = ON_HOSTS.format(
            hosts=shlex.join(hosts), agent=shlex.quote(str(placement.agent)), mpirun=shlex.join(mpirun)
        )
        command = self.command("sh", "-c", script)
        own = {"LAM_MPI_SESSION_SUFFIX": f"{self.suffix}-hosts", "SHELL": "/bin/sh"}
        return replace(command, environment={**command.environment, **own})

    def step(self, *argv: str) -> processes.Outcome:
        """Runs one of LAM's tools; a daemon it starts stays."""
        return processes.run(self.command(*argv), STEP_LIMIT_SECONDS, keep_daemons=True, mark=self.mark)

    def boot(self) -> None:
        """lamboot on this machine alone (module rsh, which forks here), and not where a batch system says."""
        outcome = self.step("lamboot", "-ssi", "boot", "rsh")
        if not outcome.fine:
            self.halt()
            took = f"did not end within {STEP_LIMIT_SECONDS:g} s" if outcome.timed_out else outcome.last_words()
            raise SystemUnavailable(f"lamboot failed: {took}", "try by hand: lamboot -v; then lamhalt")

    def halt(self) -> None:
        """lamhalt, and whatever of it is still there is killed: nothing stays, also after an exception."""
        try:
            with contextlib.suppress(VolleyError):
                self.step("lamhalt")
        finally:
            if processes.end_all(self.mark):  # killed, it leaves its sockets and shared memory behind
                with contextlib.suppress(VolleyError):
                    self.step("lamwipe")
                processes.end_all(self.mark)
            self._remove_session_folder()

    def _remove_session_folder(self) -> None:
        base = Path(self.environment().get("TMPDIR", "/tmp"))
        for folder in base.glob(f"lam-*{self.suffix}"):
            shutil.rmtree(folder, ignore_errors=True)


_daemon: Daemon | None = None


class LamSystem(System):
    """LAM/MPI."""

    family = "lam"
    summary = "LAM/MPI 7.1.4 of 2007, from Debian's packages"
    transports: ClassVar[Mapping[str, str]] = {
        "lamd": "every message through the daemons",
        "tcp": "TCP directly between ranks (client to client, c2c)",
        "usysv": "shared memory with spin locks",
    }
    network_transports: ClassVar[Sequence[str]] = ("tcp", "lamd")
    transport_aliases: ClassVar[Mapping[str, str]] = {"c2c": "tcp"}
    known_traits: ClassVar[Traits] = Traits(
        colours=("#009e73", "#35c99b"),
        dashes={"lamd": "dot"},
        sockets=frozenset({"tcp", "lamd"}),  # on one host its daemons relay over Unix sockets
        inherits_nothing="LAM's ranks are started by its daemon and inherit nothing from who starts them",
        buffers_advice="-ssi rpi_tcp_sockbuf -1",
    )

    def __init__(self, version: str | None, transport: str, prefix: Path | None = None) -> None:
        super().__init__(version, transport, prefix)
        self._version = version or ""
        self._user: User | None = None

    @property
    def version(self) -> str:
        """What laminfo says."""
        return self._version

    @classmethod
    def installed(cls) -> list[str]:
        """The version on this machine."""
        return [] if missing_tools() else [_version()]

    @classmethod
    def offered(cls) -> list[str]:
        """The one that Debian has."""
        return ["7.1.4"]

    def prepare(self, note: Note) -> None:
        """Installs LAM where it is missing, and finds the user it runs as."""
        require_c_compiler()
        if missing_tools():
            install(note)
        found = _version()
        if self.requested_version and self.requested_version != found:
            raise SystemUnavailable(
                f"LAM/MPI here is version {found}, not {self.requested_version}", "leave the version out: lam"
            )
        self._version = found
        self._user = account(note)
        self.prefix = Path(str(shutil.which("lamboot"))).parent.parent

    def compiler(self) -> list[str]:
        """LAM's wrapper under Debian's name."""
        return ["mpicc.lam"]

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """lamboot before, lamhalt after; shared with the other transports of the study."""
        global _daemon
        if _daemon is None:
            daemon = Daemon(self._user, f"volley-{processes.OWNER}", uuid.uuid4().hex)
            daemon.boot()
            _daemon = daemon
        daemon = _daemon
        daemon.sessions += 1
        try:
            yield
        finally:
            daemon.sessions -= 1
            if daemon.sessions == 0:
                _daemon = None
                daemon.halt()

    def launch(
        self, program: Path, arguments: Sequence[str], ranks: int, placement: Placement | None = None
    ) -> Command:
        """mpirun, which asks lamd to start the ranks: they get lamd's environment, so what they need is
        exported by -x. VOLLEY_LAUNCH is the mark by which they are found and ended.

        LD_BIND_NOW: LAM's tcp hands writev() an uninitialised pointer with length 0. The kernel answers
        EFAULT, and MPI_Init fails, if what lay on the stack is no address; lazy binding (with its large
        register frames, since AVX-512) leaves such remains there.
        """
        if _daemon is None:
            raise VolleyError("LAM's daemon is not booted", "launch within the session() of this system")
        own = {name: value for name, value in self.settings.items() if name.islower() and not setting.is_shim(name)}
        others = {name: value for name, value in self.settings.items() if name not in own}
        variables = setting.variables(others, str)
        line = (
            "mpirun.lam",
            "-np",
            str(ranks),
            "-ssi",
            "rpi",
            self.transport,
            *(word for name, value in own.items() for word in ("-ssi", name, value)),
            "-x",
            ",".join((processes.MARK, "LD_BIND_NOW", *variables)),
            str(program),
            "--",
            *arguments,
        )
        command = _daemon.command(*line) if placement is None else _daemon.on_hosts(line, placement)
        environment = setting.joined({**command.environment, "LD_BIND_NOW": "1"}, variables)
        return replace(command, environment=environment)

    def recover(self) -> None:
        """lamclean frees what killed ranks have left in lamd; where it cannot, lamd is started afresh."""
        if _daemon is None:
            return
        if not _daemon.step("lamclean").fine:
            _daemon.halt()
            _daemon.boot()

    def knobs(self) -> dict[str, str]:
        """Parameters of the transports and collectives, by laminfo."""
        tool = ["laminfo", "-param", "all", "all", "-parsable"]
        found = knobs.collect(tool, clean_environment(), knobs.LAMINFO_LINE)
        others = tuple(f"rpi_{name}_" for name in ("crtcp", "sysv", *self.transports) if name != self.transport)
        return {name: value for name, value in found.items() if not name.startswith(others)}

    def describe(self) -> dict[str, str]:
        """Adds whose processes they are."""
        user = self._user.name if self._user else "the caller"
        return {**super().describe(), "user": user, "launcher": f"mpirun.lam -ssi rpi {self.transport}"}


def _version() -> str:
    output, error = knobs.ask(["laminfo", "-version", "lam", "full", "-parsable"], clean_environment())
    if error or ":" not in output:
        raise SystemUnavailable(f"laminfo does not work: {error or output[:100]}", f"install it again: {INSTALL_LINE}")
    return output.strip().rpartition(":")[2]
