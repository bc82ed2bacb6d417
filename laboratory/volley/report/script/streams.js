// SPDX-License-Identifier: BSD-3-Clause
// Streams: one cell per message, so that what comes back every N messages can be seen.

const LATE = 10; // a message is late if its gap is this many times the median
const stream = { which: 0, side: 'receiver', row: 41, found: false };

const middle = (values) => [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];

/** How many messages are late, and the distance that most often lies between neighbouring late ones. */
function lateness(gaps) {
  const known = gaps.filter((gap) => gap !== null);
  if (!known.length) return { late: 0, times: 0, distances: 0, period: 0, median: 0 };
  const median = middle(known);
  const late = [];
  gaps.forEach((gap, at) => {
    if (gap !== null && gap > LATE * Math.max(1, median)) late.push(at);
  });
  const counts = new Map();
  for (let at = 1; at < late.length; at++) {
    const distance = late[at] - late[at - 1];
    counts.set(distance, (counts.get(distance) || 0) + 1);
  }
  const [period, times] = [...counts].sort((one, other) => other[1] - one[1])[0] || [0, 0];
  return { late: late.length, times, distances: Math.max(0, late.length - 1), period, median };
}

const streamName = (one) =>
  `${one.system}${one.variant === '-' ? '' : ` · ${one.variant}`} · ${formatSize(one.size)} · launch ${one.launch}`;

function labelled(text, ...elements) {
  return make('label', {}, text, ...elements);
}

function choice(options, chosen, onChange) {
  const select = make(
    'select',
    {},
    ...options.map(([value, text]) => make('option', { value, selected: value === chosen }, text)),
  );
  select.addEventListener('change', () => onChange(select.value));
  return select;
}

function showStreamChoices() {
  const one = data.streams[stream.which];
  const sides = [
    ['receiver', 'arrivals at the receiver'],
    ['sender', 'sends'],
  ].filter(([side]) => one[side]);
  if (!sides.some(([side]) => side === stream.side)) stream.side = sides[0][0];
  const setRow = (row) => {
    stream.row = Math.min(500, Math.max(2, Math.round(row) || 2));
    [slider.value, number.value] = [stream.row, stream.row];
    showStream();
  };
  const slider = make('input', {
    type: 'range',
    min: 2,
    max: 200,
    value: stream.row,
    'aria-label': 'Messages per row, slider',
  });
  const number = make('input', {
    type: 'number',
    min: 2,
    max: 500,
    value: stream.row,
    'aria-label': 'Messages per row',
  });
  slider.addEventListener('input', () => setRow(slider.value));
  number.addEventListener('change', () => setRow(number.value));
  byId('stream-choices').replaceChildren(
    labelled(
      'Stream',
      choice(
        data.streams.map((it, at) => [String(at), streamName(it)]),
        String(stream.which),
        (at) => {
          stream.which = Number(at);
          stream.found = false;
          showStreams();
        },
      ),
    ),
    labelled(
      'Side',
      choice(sides, stream.side, (side) => {
        stream.side = side;
        stream.found = false;
        showStreams();
      }),
    ),
    labelled('Messages per row', slider, number),
  );
}

function showStreams() {
  if (!data.streams.length) return;
  const one = data.streams[stream.which];
  if (!one.sender && !one.receiver) return;
  if (!one[stream.side]) stream.side = one.receiver ? 'receiver' : 'sender';
  const seen = lateness(one[stream.side]);
  // Start where the eye needs no searching: rows as long as the period that most late messages keep.
  if (!stream.found && seen.period > 1 && seen.period <= 500 && seen.times > 3 && seen.times > seen.distances / 2)
    stream.row = seen.period;
  stream.found = true;
  showStreamChoices();
  showStream();
}

function streamNote(one, gaps, seen) {
  const kept =
    gaps.length < one.messages
      ? `The first ${formatCount(gaps.length)} of ${formatCount(one.messages)} messages`
      : `${formatCount(gaps.length)} messages`;
  if (!seen.late) return `${kept}; median gap ${formatTime(seen.median)}; none took more than ${LATE} times that.`;
  const period =
    seen.times > 1
      ? `; most often ${seen.period} messages apart (${formatCount(seen.times)} of ${formatCount(seen.distances)} distances)`
      : '';
  const left = data.streams_left_out ? ` ${data.streams_left_out} more streams are in samples.parquet only.` : '';
  return `${kept}; median gap ${formatTime(seen.median)}; ${formatCount(seen.late)} took more than ${LATE} times that${period}.${left}`;
}

function showStream() {
  const one = data.streams[stream.which];
  const gaps = one[stream.side];
  byId('stream-note').textContent = streamNote(one, gaps, lateness(gaps));
  showStreamMap(gaps);
  showStreamLine(gaps, one);
}

function showStreamMap(gaps) {
  const logs = gaps.map((gap) => (gap === null ? null : Math.log10(Math.max(1, gap))));
  const rows = [];
  const texts = [];
  for (let from = 0; from < gaps.length; from += stream.row) {
    rows.push(logs.slice(from, from + stream.row));
    texts.push(
      gaps.slice(from, from + stream.row).map((gap, at) => `message ${formatCount(from + at + 1)}: ${formatTime(gap)}`),
    );
  }
  const known = logs.filter((value) => value !== null);
  const ends = known.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  );
  const ticks = logTicks(10 ** ends[0], 10 ** Math.max(ends[1], ends[0] + 0.01), 6);
  const layout = baseLayout(Math.min(printing ? 360 : 620, Math.max(220, 60 + 5 * rows.length)));
  Object.assign(layout.xaxis, {
    title: { text: 'Message within the row', font: { color: inks().muted } },
    showgrid: false,
    range: [0.5, stream.row + 0.5],
  });
  Object.assign(layout.yaxis, {
    title: { text: 'First message of the row', font: { color: inks().muted } },
    autorange: 'reversed',
    showgrid: false,
  });
  if (printing) layout.width = PRINT_WIDTH;
  draw(
    byId('stream-map'),
    [
      {
        type: 'heatmap',
        z: rows,
        text: texts,
        hovertemplate: '%{text}<extra></extra>',
        colorscale: 'Cividis',
        x0: 1,
        dx: 1,
        y0: 1,
        dy: stream.row,
        colorbar: {
          title: { text: 'Gap', side: 'top' },
          thickness: 12,
          outlinewidth: 0,
          tickvals: ticks.map(Math.log10),
          ticktext: ticks.map((tick) => short(formatTime(tick))),
        },
      },
    ],
    layout,
  );
}

function showStreamLine(gaps, one) {
  const system = systemCalled(one.system);
  const layout = baseLayout(220);
  const known = gaps.filter((gap) => gap > 0);
  const range = padded(known, true, 0.05);
  const ticks = logTicks(...range, 6);
  Object.assign(layout.xaxis, { title: { text: 'Message', font: { color: inks().muted } }, showgrid: false });
  Object.assign(layout.yaxis, {
    type: 'log',
    range: range.map(Math.log10),
    tickmode: 'array',
    tickvals: ticks,
    ticktext: ticks.map((tick) => short(formatTime(tick))),
  });
  if (printing) layout.width = PRINT_WIDTH;
  draw(
    byId('stream-line'),
    [
      {
        type: 'scatter',
        mode: 'markers',
        x: gaps.map((_, at) => at + 1),
        y: gaps,
        marker: { size: 3, color: isDark() ? system.dark : system.light, opacity: 0.7 },
        text: gaps.map(formatTime),
        hovertemplate: 'message %{x}: %{text}<extra></extra>',
      },
    ],
    layout,
  );
}
