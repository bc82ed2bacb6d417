// SPDX-License-Identifier: BSD-3-Clause
// One box per launch: whether launches differ more than the operations within them.

const box = { picture: null, log: true };

const boxKey = (one) => JSON.stringify([one.test, one.variant, one.ranks]);

function boxName(one) {
  const several = data.boxes.filter((other) => other.test === one.test && other.variant === one.variant);
  const ranks = distinct(several.map((other) => other.ranks)).length > 1 ? ` · ${one.ranks} ranks` : '';
  return `${data.tests[one.test].title}${one.variant === '-' ? '' : ` · ${one.variant}`}${ranks}`;
}

function showBoxes() {
  if (!data.boxes.length) return;
  if (!box.picture) box.picture = data.boxes.find((one) => one.test === state.tests[0]) || data.boxes[0];
  const kinds = new Map(data.boxes.map((one) => [boxKey(one), boxName(one)]));
  const alike = data.boxes.filter((one) => boxKey(one) === boxKey(box.picture));
  const nearest = (key, size) => {
    const those = data.boxes.filter((one) => boxKey(one) === key);
    return those.find((one) => one.size === size) || those[0];
  };
  const parts = [
    labelled(
      'Test',
      choice([...kinds], boxKey(box.picture), (key) => {
        box.picture = nearest(key, box.picture.size);
        showBoxes();
      }),
    ),
  ];
  if (alike.length > 1) {
    parts.push(
      labelled(
        'Size',
        choice(
          alike.map((one) => [String(one.size), formatSize(one.size)]),
          String(box.picture.size),
          (size) => {
            box.picture = nearest(boxKey(box.picture), Number(size));
            showBoxes();
          },
        ),
      ),
    );
  }
  parts.push(
    checkBox('logarithmic', box.log, (on) => {
      box.log = on;
      showBoxPlot();
    }),
  );
  byId('box-choices').replaceChildren(...parts);
  byId('box-note').textContent = data.boxes_left_out
    ? `${formatCount(data.boxes_left_out)} boxes of other sizes were left out to keep this page small.`
    : '';
  showBoxPlot();
}

/** Boxes of one system side by side, a gap between systems, the system's name below its middle. */
function boxTraces(rows) {
  const names = data.systems.map((system) => system.name).filter((name) => rows.some((row) => row[0] === name));
  const places = [];
  const traces = [];
  let place = 0;
  for (const name of names) {
    const own = rows.filter((row) => row[0] === name).sort((one, other) => one[1] - other[1]);
    const x = own.map((_, at) => place + at);
    const system = systemCalled(name);
    const colour = isDark() ? system.dark : system.light;
    traces.push(
      {
        type: 'box',
        name: plain(name),
        x,
        lowerfence: own.map((row) => row[2]),
        q1: own.map((row) => row[3]),
        median: own.map((row) => row[4]),
        q3: own.map((row) => row[5]),
        upperfence: own.map((row) => row[6]),
        width: 0.7,
        line: { color: colour, width: 1.2 },
        fillcolor: `${colour}55`,
        hoverinfo: 'skip',
      },
      {
        type: 'scatter',
        mode: 'markers',
        x,
        y: own.map((row) => row[4]),
        marker: { size: 12, opacity: 0 },
        text: own.map(
          (row) =>
            `<b>${plain(name)}</b>, launch ${row[1]}<br>median ${formatTime(row[4])}<br>half of all within ${formatTime(row[3])} … ${formatTime(row[5])}<br>fastest ${formatTime(row[2])}, slowest ${formatTime(row[6])}`,
        ),
        hovertemplate: '%{text}<extra></extra>',
      },
    );
    places.push([place + (own.length - 1) / 2, name]);
    place += own.length + 1;
  }
  return { traces, places, end: place };
}

function showBoxPlot() {
  const rows = box.picture.boxes;
  const { traces, places, end } = boxTraces(rows);
  const layout = baseLayout(isNarrow() ? 420 : 440);
  const range = padded(
    rows.flatMap((row) => [row[2], row[6]]).filter((value) => value > 0),
    box.log,
    0.05,
  );
  const ticks = box.log ? logTicks(...range, 9) : evenTicks(...range, 8);
  Object.assign(layout.xaxis, {
    tickmode: 'array',
    tickvals: places.map(([at]) => at),
    ticktext: places.map(([, name]) => plain(name).replace('==', '<br>')),
    showgrid: false,
    range: [-1, end - 0.5],
    tickangle: isNarrow() ? -60 : 0,
  });
  Object.assign(layout.yaxis, {
    type: box.log ? 'log' : 'linear',
    range: box.log ? range.map(Math.log10) : range,
    tickmode: 'array',
    tickvals: ticks,
    ticktext: ticks.map((tick) => short(formatTime(tick))),
  });
  if (printing) layout.width = PRINT_WIDTH;
  draw(byId('box-plot'), traces, layout);
}
