// SPDX-License-Identifier: BSD-3-Clause
// Tables that sort, and the table of all points of the chosen curves.

const UNIT_FACTORS = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };

/** What a cell is sorted by: its data-value, a time in ns, a number, or its text. */
function sortValue(shown) {
  if (shown.dataset.value !== undefined) return Number(shown.dataset.value);
  const text = shown.textContent.trim();
  const match = /^[±]?\s*([\d,.]+)\s*(ns|µs|ms|s|%)?$/.exec(text);
  if (!match) return text;
  return Number(match[1].replace(/,/g, '')) * (UNIT_FACTORS[match[2]] || 1);
}

function compare(one, other) {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (typeof one === 'number') return -1; // numbers before "–" and words
  if (typeof other === 'number') return 1;
  return one.localeCompare(other, 'en', { numeric: true });
}

function sortBy(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const falling = heads[column].getAttribute('aria-sort') === 'ascending';
  heads.forEach((head) => head.removeAttribute('aria-sort'));
  heads[column].setAttribute('aria-sort', falling ? 'descending' : 'ascending');
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [sortValue(row.cells[column]), row]);
  keyed.sort(([one], [other]) => (falling ? -1 : 1) * compare(one, other));
  body.append(...keyed.map(([, row]) => row));
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = make('button', { type: 'button', title: 'Sort by this column' }, ...head.childNodes);
    button.addEventListener('click', () => sortBy(table, column));
    head.replaceChildren(button);
  });
}

const POINT_COLUMNS = [
  ['System', (curve) => curve.system],
  ['Test', (curve) => curve.test],
  ['Variant', (curve) => curve.variant],
  ['Ranks', (curve) => curve.ranks, formatCount],
  ['Size', (curve, at) => curve.x[at], formatCount],
  ['Median', (curve, at) => curve.y[at], formatTime],
  ['Interval from', (curve, at) => curve.low[at], formatTime],
  ['to', (curve, at) => curve.high[at], formatTime],
  [
    'Half-width',
    (curve, at) => (curve.high[at] - curve.low[at]) / 2 / curve.y[at],
    (share) => `± ${formatPercent(share)}`,
  ],
  ['Coverage', (curve, at) => cell(curve.coverage, at), formatPercent],
  ['Launches', (curve, at) => cell(curve.launches, at), formatCount],
  ['Operations', (curve, at) => cell(curve.operations, at), formatCount],
  [
    'Bandwidth',
    (curve, at) => (curve.traffic && curve.y[at] ? (curve.traffic * curve.x[at] * 1e9) / curve.y[at] : null),
    formatRate,
  ],
  ['Fastest operation', (curve, at) => curve.fastest[at], formatTime],
  ['Slowest operation', (curve, at) => curve.slowest[at], formatTime],
];

/** Columns that say something: not the test where only one is shown, not "-" as variant. */
function pointColumns(curves) {
  const differ = (name) => distinct(curves.map((curve) => curve[name])).length > 1;
  const empty = {
    Test: !differ('test'),
    Variant: curves.every((curve) => curve.variant === '-'),
    Ranks: !differ('ranks'),
  };
  return POINT_COLUMNS.filter(([title]) => !empty[title]);
}

function showPoints() {
  const curves = chosenCurves();
  const columns = pointColumns(curves);
  const byRanks = curves.some((curve) => axisOf(curve) === 'ranks');
  const head = columns.map(([title, , format]) =>
    make(
      'th',
      { scope: 'col', className: format ? 'number' : '' },
      title === 'Size' ? (byRanks ? 'x' : 'Size (bytes)') : title,
    ),
  );
  const rows = curves.flatMap((curve) =>
    curve.x.map((_, at) =>
      make(
        'tr',
        {},
        ...columns.map(([, value, format]) => {
          const raw = value(curve, at);
          return format
            ? make('td', { className: 'number', 'data-value': raw ?? -1 }, format(raw))
            : make('td', {}, String(raw));
        }),
      ),
    ),
  );
  const table = make(
    'table',
    { className: 'sortable' },
    make('thead', {}, make('tr', {}, ...head)),
    make('tbody', {}, ...rows),
  );
  makeSortable(table);
  byId('points-table').replaceChildren(table);
}

/** The same points for a spreadsheet: times in ns, bandwidth in bytes per second. */
function savePoints() {
  const quoted = (value) =>
    /[",\n]/.test(String(value)) ? `"${String(value).replace(/"/g, '""')}"` : String(value ?? '');
  const lines = [POINT_COLUMNS.map(([title]) => title.toLowerCase().replace(/\W+/g, '_')).join(',')];
  for (const curve of chosenCurves()) {
    curve.x.forEach((_, at) => lines.push(POINT_COLUMNS.map(([, value]) => quoted(value(curve, at))).join(',')));
  }
  const address = URL.createObjectURL(new Blob([`${lines.join('\n')}\n`], { type: 'text/csv' }));
  make('a', { href: address, download: `${state.tests.join('-')}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
