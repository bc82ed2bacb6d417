# SPDX-License-Identifier: BSD-3-Clause
"""Which versions of a package there are for this machine, asked of the index that pip is set up for.

Indexes answer in JSON (PEP 691); one that only knows HTML is asked for its links. Folders of wheels that pip also looks
into (``find-links``) count as well. Names of wheels say whether this machine can install them.
"""

from __future__ import annotations

import ast
import base64
import json
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import sys_tags
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from volley.machine import processes
from volley.machine.processes import Command

PYPI = "https://pypi.org/simple"
ANSWER_LIMIT_SECONDS = 15.0
SETTINGS_LIMIT_SECONDS = 30.0
JSON = "application/vnd.pypi.simple.v1+json"
ACCEPTED = f"{JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
MISSING = (404, 410)
"""What an index answers for a package it does not have."""


class IndexUnreachable(Exception):
    """No index answered."""


@dataclass(frozen=True)
class File:
    """One file of a package, as an index lists it."""

    name: str
    requires_python: str = ""
    yanked: bool = False


@dataclass(frozen=True)
class Settings:
    """Where pip looks."""

    indexes: tuple[str, ...] = (PYPI,)
    folders: tuple[str, ...] = ()
    """Of wheels: paths."""
    certificates: str = ""

    @classmethod
    def of_pip(cls, environment: Mapping[str, str]) -> Settings:
        """As pip itself reports them: environment before files, those of `install` before those of all commands."""
        command = Command((sys.executable, "-m", "pip", "config", "list"), dict(environment))
        told: dict[str, str] = {}
        for line in processes.run(command, SETTINGS_LIMIT_SECONDS).output.splitlines():
            name, _, value = line.partition("=")
            if value:
                told[name.strip()] = str(ast.literal_eval(value))

        def setting(name: str) -> str:
            known = (told.get(f"{section}.{name}") for section in (":env:", "install", "global"))
            return next((one for one in known if one), "")

        indexes = () if setting("no-index") not in ("", "0", "false") else (setting("index-url") or PYPI,)
        return cls(
            (*indexes, *(setting("extra-index-url").split() if indexes else ())),
            tuple(setting("find-links").split()),
            setting("cert"),
        )


def versions(package: str, settings: Settings) -> list[str]:
    """Versions of `package` of which there is a wheel for this machine, in no order.

    Raises IndexUnreachable if nothing was found and no index answered.
    """
    found = list(_in_folders(settings))
    answered, problem = False, ""
    for index in settings.indexes:
        try:
            found += _asked(index, package, settings)
            answered = True
        except (OSError, ValueError, KeyError) as failed:
            problem = str(failed)
    usable = {version for file in found if (version := _usable(file, package))}
    if not usable and not answered:
        raise IndexUnreachable(problem or "pip is set up to use no index")
    return list(usable)


def _usable(file: File, package: str) -> str:
    """The version of a wheel that can be installed here; '' for any other file."""
    try:
        name, version, _, tags = parse_wheel_filename(file.name)
        wanted = SpecifierSet(file.requires_python)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidSpecifier):
        return ""
    fits = name == canonicalize_name(package) and not file.yanked and not tags.isdisjoint(sys_tags())
    here = ".".join(map(str, sys.version_info[:3]))
    return str(version) if fits and wanted.contains(here, prereleases=True) else ""


def _in_folders(settings: Settings) -> Iterator[File]:
    for folder in settings.folders:
        if "://" not in folder or folder.startswith("file://"):
            yield from (File(path.name) for path in Path(folder.removeprefix("file://")).glob("*.whl"))


def _asked(index: str, package: str, settings: Settings) -> list[File]:
    """The files an index has of a package; [] if it does not know it. Raises OSError, ValueError, KeyError."""
    address = urllib.parse.urlsplit(index)
    host = address.netloc.rpartition("@")[2]
    url = urllib.parse.urlunsplit(address._replace(netloc=host)).rstrip("/") + f"/{canonicalize_name(package)}/"
    request = urllib.request.Request(url, headers={"Accept": ACCEPTED, "User-Agent": "volley"})
    if address.username:
        secret = f"{urllib.parse.unquote(address.username)}:{urllib.parse.unquote(address.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(secret.encode()).decode()}")
    context = ssl.create_default_context(cafile=settings.certificates or None) if address.scheme == "https" else None
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_LIMIT_SECONDS, context=context) as answer:
            kind, text = answer.headers.get_content_type(), answer.read().decode()
    except urllib.error.HTTPError as problem:
        if problem.code in MISSING:
            return []
        raise
    if kind != JSON:
        return list(_links(text))
    return [
        File(one["filename"], one.get("requires-python") or "", bool(one.get("yanked")))
        for one in json.loads(text)["files"]
    ]


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[File] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "a" and told.get("href"):
            path = urllib.parse.unquote(urllib.parse.urlsplit(str(told["href"])).path)
            requires = told.get("data-requires-python") or ""
            self.found.append(File(PurePosixPath(path).name, requires, "data-yanked" in told))


def _links(page: str) -> list[File]:
    """The files of a package's page in HTML (PEP 503)."""
    anchors = _Anchors()
    anchors.feed(page)
    return anchors.found
