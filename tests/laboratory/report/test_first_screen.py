# SPDX-License-Identifier: BSD-3-Clause
"""What a person meets first: in the page, and whether two studies say the same."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from volley.compare.together import Answer, Rival
from volley.detect.finding import Finding
from volley.report.first_screen import FirstScreen, answer_row
from volley.report.page import write_report
from volley.report.ranking import SEEN, Ranked
from volley.selftest.again import same

sys.path.insert(0, str(Path(__file__).parent))  # not a package: --import-mode=importlib puts nothing there

from synthetic_study import synthetic
from test_report_page import exercised, needs_browser


def finding(kind: str = "step", low: int = 4096, high: int = 8192, system: str = "one") -> Finding:
    return Finding(kind, system, "pingpong", low, high, 2.0, (1.8, 2.2), 0.99, ranks=2)


def ranked(
    title: str, status: str = "UNEXPLAINED", members: tuple[Finding, ...] = (), about_machine: bool = False
) -> Ranked:
    return Ranked(title, status, 0.1, members or (finding(),), ("First.", "Second."), "do that", about_machine)


def answer(*rivals: Rival, launches: int = 3) -> Answer:
    return Answer("messages between two ranks", "up to 1 KiB", ("pingpong", "ring"), "one", rivals, launches, 4)


NEAR = Rival("two", 1.5, 1.2, 1.9, 0.01, 2, True)


def test_fastest_is_said_without_perhaps_only_where_it_is_sure() -> None:
    sure = answer_row(answer(NEAR))
    assert (sure.best, sure.sure) == ("one", True)
    assert sure.ahead == "two takes 1.50 times as long (1.20 to 1.90 by test)"
    unsure = answer_row(answer(NEAR, replace(NEAR, system="three", slower=False)))
    assert (unsure.best, unsure.sure) == ("perhaps one", False)
    assert unsure.certainty == "UNDECIDED against three: 3 launches each, 4 are needed"


FILTER = """<script>
const until = setInterval(() => {
  if (document.documentElement.dataset.report !== 'ready') return;
  clearInterval(until);
  const shown = () => [...document.querySelectorAll('#findings-table tbody tr')].filter((row) => !row.hidden).length;
  const words = document.getElementById('finding-words');
  const all = shown();
  words.value = 'LAM';
  words.dispatchEvent(new Event('input', { bubbles: true }));
  const some = shown();
  document.querySelector('#finding-choices input[value=UNDECIDED]').click();
  console.log(`exercised ${all} ${some} ${shown()}`);
}, 20);
</script>"""


@needs_browser
def test_findings_behind_the_first_can_be_filtered(tmp_path: Path) -> None:
    screen = FirstScreen(
        (answer_row(answer(NEAR)),),
        (ranked("lam: a step"), ranked("The machine moved", SEEN, about_machine=True)),
        (ranked("lam: perhaps a spike", "UNDECIDED"), ranked("mpich: a plateau")),
        "volley study --resume --out studies/here",
    )
    made = synthetic(tests=("pingpong",))
    page = write_report(made.study, made.curves, made.streams, [], tmp_path / "report.html", screen=screen)
    page.write_text(page.read_text(encoding="utf-8") + FILTER, encoding="utf-8")
    (message,) = exercised(page)
    said = re.search(r"exercised (\d+) (\d+) (\d+)", message)
    assert said
    assert [int(one) for one in said.groups()] == [4, 2, 1]


@pytest.mark.parametrize(
    ("mine", "theirs", "alike"),
    [
        (finding(), finding(), True),
        (finding(), finding("collapse", 4096, 1 << 20), True),  # a step in one study, the collapse it begins in another
        (finding(), finding(low=65536, high=65537), False),
        (finding(), finding(system="two"), False),
        (finding("spike", 64, 64), finding("launch effect", 1, 1 << 20), False),
    ],
)
def test_findings_of_two_studies_are_one_if_they_tell_of_one_place(mine: Finding, theirs: Finding, alike: bool) -> None:
    assert same(ranked("a", members=(mine,)), ranked("b", members=(theirs,))) == alike


def test_the_machines_trouble_is_the_same_by_its_name() -> None:
    moved, load = (ranked(title, SEEN, about_machine=True) for title in ("It moved", "Others were busy"))
    assert same(moved, moved)
    assert not same(moved, load)
    assert not same(moved, ranked("It moved"))
