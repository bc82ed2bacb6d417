# SPDX-License-Identifier: BSD-3-Clause
"""The index that pip is set up for, asked for versions: a real server, a real pip's settings."""

import base64
import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from volley.errors import UsageError
from volley.systems import package_index, wheel
from volley.systems.package_index import File, IndexUnreachable, Settings, versions

FILES: tuple[tuple[str, dict[str, str]], ...] = (
    ("thing-5.0.0rc1-py3-none-any.whl", {}),
    ("thing-5.0.0-py3-none-any.whl", {}),
    ("thing-5.0.11-py3-none-any.whl", {}),
    ("thing-5.0.12-py3-none-any.whl", {"yanked": "broken"}),
    ("thing-6.0-py3-none-any.whl", {"requires-python": ">=99"}),
    ("thing-7.0-py3-none-win_amd64.whl", {}),
    ("thing-8.0.tar.gz", {}),
)


class Index(BaseHTTPRequestHandler):
    """Answers as indexes do: JSON to who accepts it, or HTML where `html` is set."""

    html = False
    heard: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        Index.heard.append(self.headers.get("Authorization") or "")
        if self.path != "/simple/thing/":
            self.send_error(404)
            return
        self.send_response(200)
        if Index.html:
            anchors = "".join(
                f'<a href="../files/{name}#sha256=0" {"data-yanked" if "yanked" in more else ""} '
                f'data-requires-python="{more.get("requires-python", "").replace(">", "&gt;")}">x</a>'
                for name, more in FILES
            )
            kind, text = "text/html", f"<html>{anchors}</html>"
        else:
            kind, text = package_index.JSON, json.dumps({"files": [{"filename": one, **more} for one, more in FILES]})
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Index.html = False
    Index.heard.clear()
    server = HTTPServer(("127.0.0.1", 0), Index)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"127.0.0.1:{server.server_port}/simple"
    monkeypatch.setenv("PIP_INDEX_URL", f"http://{address}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    yield address
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("html", [False, True])
def test_wheels_of_this_machine_count_newest_first(index: str, html: bool) -> None:
    Index.html = html
    assert wheel.offered_versions("thing") == ["5.0.11", "5.0.0", "5.0.0rc1"]


def test_an_index_that_has_no_such_package_has_answered(index: str) -> None:
    assert wheel.offered_versions("nothing") == []


def test_who_needs_a_password_gets_it(index: str) -> None:
    found = versions("thing", Settings((f"http://me:s%40crt@{index}",)))
    assert len(found) == 3
    assert Index.heard == [f"Basic {base64.b64encode(b'me:s@crt').decode()}"]


def test_an_index_that_does_not_answer_is_no_empty_one(index: str, tmp_path: Path) -> None:
    nobody = Settings(("http://127.0.0.1:9/simple",))
    with pytest.raises(IndexUnreachable):
        versions("thing", nobody)
    (tmp_path / "thing-1.0-py3-none-any.whl").touch()
    assert versions("thing", Settings(nobody.indexes, (str(tmp_path),))) == ["1.0"]


def test_what_is_no_wheel_of_the_package_is_left_out() -> None:
    assert package_index._usable(File("other-1.0-py3-none-any.whl"), "thing") == ""
    assert package_index._usable(File("thing-1.0-py3-none-any.whl", "no version"), "thing") == ""


def test_a_requirement_that_cannot_be_had_is_left_out_and_told(
    index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOLLEY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    for name, needs in (("wanted", "Requires-Dist: absent>=2\nRequires-Dist: helper\n"), ("helper", "")):
        with zipfile.ZipFile(tmp_path / f"{name}-1.0-py3-none-any.whl", "w") as file:
            file.writestr(f"{name}.py", "")
            file.writestr(
                f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}"
            )
            file.writestr(
                f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            file.writestr(f"{name}-1.0.dist-info/RECORD", "")
    notes: list[str] = []
    folder = wheel.install("wanted", "1.0", notes.append)
    assert (folder / "missing.txt").read_text() == "absent>=2"
    assert list(folder.glob("lib/*/site-packages/wanted.py"))
    assert list(folder.glob("lib/*/site-packages/helper.py"))
    with pytest.raises(UsageError, match=r"has no version 2\.0"):
        wheel.install("wanted", "2.0", notes.append)
