# SPDX-License-Identifier: BSD-3-Clause
"""Every curve as a script that MATLAB or GNU Octave runs as it is, as LAM's test wrote them in 1999."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from volley.data.results import Curve, Study
from volley.report.payload import described_tests

LONGEST_NAME = 63
"""MATLAB's namelengthmax: a longer script name cannot be run."""

README = """Each .m file here is one curve. MATLAB and GNU Octave run it as it is and draw it with its interval:

    octave --persist {example}.m

Columns of `data`: x (bytes, or ranks), median_ns, low_ns, high_ns, launches, operations.
"""


def write_octave(study: Study, curves: Sequence[Curve], folder: Path) -> list[Path]:
    """One ``TEST__SYSTEM[__VARIANT][__nRANKS].m`` per curve, and a README; the scripts written."""
    folder.mkdir(parents=True, exist_ok=True)
    tests = described_tests(study, curves)
    several_ranks = _several_ranks(curves)
    written: list[Path] = []
    taken: set[str] = set()
    for curve in curves:
        if not curve.points:
            continue
        name = _script_name(curve, several_ranks, taken)
        file = folder / f"{name}.m"
        file.write_text(_script(curve, tests[curve.test]["title"], tests[curve.test]["axis"]), encoding="utf-8")
        written.append(file)
    if written:
        (folder / "README.txt").write_text(README.format(example=written[0].stem), encoding="utf-8")
    return written


def _several_ranks(curves: Sequence[Curve]) -> set[tuple[str, str, str]]:
    """Curves that only their number of ranks tells from another."""
    seen: dict[tuple[str, str, str], set[int]] = {}
    for curve in curves:
        seen.setdefault((curve.test, curve.system, curve.variant), set()).add(curve.ranks)
    return {key for key, ranks in seen.items() if len(ranks) > 1}


def _script_name(curve: Curve, several_ranks: set[tuple[str, str, str]], taken: set[str]) -> str:
    """A name that both programs accept as a script's: letters, digits and underscores, a letter first."""
    parts = [curve.test, curve.system] + ([curve.variant] if curve.variant != "-" else [])
    if (curve.test, curve.system, curve.variant) in several_ranks:
        parts.append(f"n{curve.ranks}")
    words = [re.sub(r"[^A-Za-z0-9]+", "_", part).strip("_") for part in parts]
    name = "__".join(word for word in words if word)
    if not name[:1].isalpha():
        name = f"curve_{name}"
    name = name[:LONGEST_NAME].rstrip("_")
    for number in range(2, len(taken) + 3):
        if name.lower() not in taken:
            break
        name = f"{name[: LONGEST_NAME - 5].rstrip('_')}_{number}"
    taken.add(name.lower())
    return name


def _script(curve: Curve, test_title: str, axis: str) -> str:
    by_size = axis == "size"
    ranks = f", {curve.ranks} ranks" if curve.ranks else ""
    title = _one_line(f"{test_title}: {curve.label}{ranks}")
    rows = "\n".join(
        f"  {point.x} {point.value_ns:.9g} {point.low_ns:.9g} {point.high_ns:.9g} {point.launches} {point.operations}"
        for point in sorted(curve.points, key=lambda point: point.x)
    )
    coverage = min(point.coverage for point in curve.points)
    return f"""% {title}
% Written by Volley. One row per point: {"size in bytes" if by_size else "ranks"}, median of the launches'
% times, lower and upper end of its interval (covers the true median with at least {coverage:.4f}), in ns;
% number of launches; number of operations.
data = [
{rows}
];

{_DRAW_CURVE if sum(point.x > 0 for point in curve.points) > 1 else _DRAW_POINT}\
set(gca, 'FontSize', 11);
xlabel({_quoted("Message size (bytes)" if by_size else "Ranks")}, 'Interpreter', 'none');
ylabel('Time of one operation (us)', 'Interpreter', 'none');
title({_quoted(title)}, 'Interpreter', 'none');
"""


_DRAW_CURVE = """shown = data(data(:, 1) > 0, :);   % a logarithmic axis has no zero
figure;
loglog(shown(:, 1), shown(:, 3) / 1000, ':', 'Color', [0.45 0.6 0.75]);
hold on;
loglog(shown(:, 1), shown(:, 4) / 1000, ':', 'Color', [0.45 0.6 0.75]);
loglog(shown(:, 1), shown(:, 2) / 1000, '.-', 'Color', [0 0.447 0.698], 'LineWidth', 1.2);
hold off;
grid on;
legend('interval, low', 'interval, high', 'median of launches', 'Location', 'northwest');
"""

_DRAW_POINT = """figure;
errorbar(data(:, 1), data(:, 2) / 1000, (data(:, 2) - data(:, 3)) / 1000, (data(:, 4) - data(:, 2)) / 1000, 'o');
grid on;
"""


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
