// SPDX-License-Identifier: BSD-3-Clause
// From chosen curves to what Plotly draws.

const SYMBOLS = ['circle', 'square', 'diamond', 'triangle-up', 'triangle-down', 'x', 'star', 'pentagon', 'hexagon'];
const VARIANT_COLOURS = [
  ['#0072b2', '#5ab4f0'],
  ['#d55e00', '#ff8b45'],
  ['#009e73', '#35c99b'],
  ['#aa3377', '#e27fb5'],
  ['#b8860b', '#f0c040'],
  ['#332288', '#9a8cf0'],
  ['#56a0d3', '#8cc8f5'],
  ['#882255', '#d77fae'],
];
const CEILING_DASHES = ['2px,2px', '5px,2px', '8px,3px', '8px,2px,2px,2px'];

const formatOf = (quantity) => ({ time: formatTime, relative: formatTimes })[quantity] || formatRate;
const axisOf = (curve) => data.tests[curve.test].axis;

/** x, value and interval of a curve in the chosen quantity; empty where it has no meaning. */
function series(curve) {
  if (state.quantity === 'relative') return relativeSeries(curve);
  if (state.quantity === 'time')
    return pick(
      curve,
      () => true,
      (ns) => ns,
      (one) => one,
    );
  const traffic = curve.traffic / (state.quantity === 'perrank' ? curve.ranks : 1);
  if (!traffic) return emptySeries();
  return pick(
    curve,
    (x) => x > 0,
    (ns, x) => (traffic * x * 1e9) / ns,
    ([low, high]) => [high, low],
  );
}

const emptySeries = () => ({ at: [], x: [], y: [], low: [], high: [] });

function pick(curve, isWanted, convert, order) {
  const made = emptySeries();
  curve.x.forEach((x, at) => {
    if (!isWanted(x) || !(curve.y[at] > 0) || !(curve.low[at] > 0)) return;
    const [low, high] = order([curve.low[at], curve.high[at]]);
    made.at.push(at);
    made.x.push(x);
    made.y.push(convert(curve.y[at], x));
    made.low.push(convert(low, x));
    made.high.push(convert(high, x));
  });
  return made;
}

/** Time over the reference's time where both were measured; the band is all that both intervals allow. */
function relativeSeries(curve) {
  const same = data.curves.filter(
    (one) => one.system === state.reference && one.test === curve.test && one.ranks === curve.ranks,
  );
  const base = same.find((one) => one.variant === curve.variant) || (same.length === 1 ? same[0] : null);
  if (!base) return emptySeries();
  const place = new Map(base.x.map((x, at) => [x, at]));
  const made = pick(
    curve,
    (x) => base.y[place.get(x)] > 0 && base.low[place.get(x)] > 0,
    (ns) => ns,
    (one) => one,
  );
  made.x.forEach((x, at) => {
    const from = place.get(x);
    made.y[at] /= base.y[from];
    made.low[at] = curve === base ? 1 : made.low[at] / base.high[from];
    made.high[at] = curve === base ? 1 : made.high[at] / base.low[from];
  });
  return made;
}

/** How each curve looks: colour by system (by variant where one system is alone), symbol by what else differs. */
function appearances(curves) {
  const kinds = distinct(curves.map(kindOf));
  const alone = distinct(curves.map((curve) => curve.system)).length === 1 && kinds.length > 1;
  return new Map(
    curves.map((curve) => {
      const system = systemCalled(curve.system);
      const kind = kinds.indexOf(kindOf(curve));
      const pair = alone ? VARIANT_COLOURS[kind % VARIANT_COLOURS.length] : [system.light, system.dark];
      return [
        curve,
        {
          colour: pair[isDark() ? 1 : 0],
          dash: system.dash,
          symbol: SYMBOLS[kind % SYMBOLS.length],
          size: curves.length > 12 ? 4 : kinds.length > 1 ? 7 : 5, // symbols that must be told apart are larger
          label: labelOf(curve, curves),
        },
      ];
    }),
  );
}

const kindOf = (curve) => JSON.stringify([curve.test, curve.variant, curve.ranks]);

function labelOf(curve, among) {
  const differ = (name) => distinct(among.map((one) => one[name])).length > 1;
  const parts = [curve.system];
  if (differ('test')) parts.push(data.tests[curve.test].title);
  if (curve.variant !== '-') parts.push(curve.variant);
  if (differ('ranks') && curve.ranks) parts.push(`${curve.ranks} ranks`);
  return parts.join(' · ');
}

function hoverText(curve, made, label) {
  const format = formatOf(state.quantity);
  return made.at.map((from, at) =>
    [
      `<b>${plain(label)}</b>`,
      `${axisOf(curve) === 'ranks' ? `${made.x[at]} ranks` : formatSize(made.x[at])}: <b>${format(made.y[at])}</b>`,
      `interval ${format(made.low[at])} … ${format(made.high[at])} (covers ${formatPercent(cell(curve.coverage, from))})`,
      `${formatCount(cell(curve.launches, from))} launches, ${formatCount(cell(curve.operations, from))} operations`,
    ].join('<br>'),
  );
}

function curveTraces(curve, made, look, several) {
  const line = { color: look.colour, width: several > 12 ? 1.4 : 2, dash: look.dash };
  const traces = [
    {
      meta: 'curve',
      name: plain(look.label),
      type: 'scatter',
      mode: 'lines+markers',
      x: made.x,
      y: made.y,
      line,
      marker: { color: look.colour, size: look.size, symbol: look.symbol },
      text: hoverText(curve, made, look.label),
      hovertemplate: '%{text}<extra></extra>',
    },
  ];
  if (state.bands) {
    traces.unshift({
      meta: 'band',
      type: 'scatter',
      mode: 'none',
      fill: 'toself',
      hoverinfo: 'skip',
      x: made.x.concat([...made.x].reverse()),
      y: made.high.concat([...made.low].reverse()),
      fillcolor: `${look.colour}2e`,
    });
  }
  return traces;
}

/** The machine's own limits, where a point-to-point test is shown against size. */
function ceilingTraces(shown, limits) {
  const fits = shown.some(([curve]) => data.tests[curve.test].point_to_point);
  if (!state.ceilings || !fits || !['time', 'bandwidth'].includes(state.quantity)) return [];
  const own = data.curves.filter((curve) => curve.system === 'machine' && curve.test === 'ceilings');
  return own
    .map((curve, number) => {
      let made = series(curve);
      if (made.x.length === 1 && state.quantity === 'time') {
        made = {
          ...made,
          x: limits,
          y: [made.y[0], made.y[0]],
          at: [0, 0],
          low: [made.low[0], made.low[0]],
          high: [made.high[0], made.high[0]],
        };
      }
      const label = `machine: ${data.ceilings[curve.variant] || curve.variant}`;
      return {
        meta: 'ceiling',
        name: plain(label),
        type: 'scatter',
        mode: 'lines',
        x: made.x,
        y: made.y,
        line: { color: inks().reference, width: 1.1, dash: CEILING_DASHES[number % CEILING_DASHES.length] },
        text: made.x.map(
          (x, at) => `<b>${plain(label)}</b><br>${formatSize(Math.round(x))}: ${formatOf(state.quantity)(made.y[at])}`,
        ),
        hovertemplate: '%{text}<extra></extra>',
      };
    })
    .filter((trace) => trace.x.length > 1);
}

/** [low, high] with some room around, on the axis's own scale. */
function padded(values, log, room) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!(high >= low)) return [1, 10];
  if (!log) return [Math.min(low, 0), high * (1 + room / 2) || 1];
  const more = Math.max(1.15, (high / low) ** room);
  return [low / more, high * more];
}

function axisTicks(name, range) {
  const narrow = isNarrow();
  if (name === 'x') {
    const bySize = state.tests.every((test) => data.tests[test].axis === 'size');
    const most = narrow ? 6 : 9;
    const values = !bySize
      ? evenOrPowers(range, most)
      : state.xlog
        ? sizeTicks(...range, most)
        : evenTicks(...range, most, true);
    return {
      values,
      text: values.map(bySize ? (tick) => (Number.isInteger(tick) ? tickSize(tick) : String(tick)) : String),
    };
  }
  const values = state.ylog ? logTicks(...range, 9) : evenTicks(...range, 8);
  return { values, text: values.map((tick) => (tick === 0 ? '0' : short(formatOf(state.quantity)(tick)))) };
}

function evenOrPowers(range, most) {
  return (state.xlog ? sizeTicks(...range, most) : evenTicks(...range, most)).filter(Number.isInteger);
}

function axisLayout(name, range, log, title) {
  const ticks = axisTicks(name, range);
  return {
    type: log ? 'log' : 'linear',
    range: log ? range.map(Math.log10) : range,
    tickmode: 'array',
    tickvals: ticks.values,
    ticktext: ticks.text,
    title: { text: title, font: { color: inks().muted } },
  };
}

function cacheMarks(range) {
  if (!state.caches || !state.tests.every((test) => data.tests[test].axis === 'size')) return {};
  const ink = inks();
  const seen = data.caches.filter((cache) => cache.bytes > range[0] && cache.bytes < range[1]);
  return {
    shapes: seen.map((cache) => ({
      type: 'line',
      x0: cache.bytes,
      x1: cache.bytes,
      y0: 0,
      y1: 1,
      yref: 'paper',
      layer: 'below',
      line: { color: ink.muted, width: 0.8, dash: '1px,3px' },
    })),
    annotations: seen.map((cache) => ({
      x: state.xlog ? Math.log10(cache.bytes) : cache.bytes,
      y: 1,
      yref: 'paper',
      yanchor: 'bottom',
      text: plain(cache.label),
      showarrow: false,
      font: { size: 11, color: ink.muted },
    })),
  };
}

function quantityTitle() {
  return {
    time: 'Time of one operation',
    bandwidth: 'Bandwidth',
    perrank: 'Bandwidth per rank',
    relative: `Time as a multiple of ${state.reference}'s`,
  }[state.quantity];
}

/** Everything to draw: {traces, layout, shown: [[curve, series, look]], ceilings}. */
function buildFigure(height) {
  const curves = chosenCurves();
  let shown = curves.map((curve) => [curve, series(curve)]).filter(([, made]) => made.x.length);
  const looks = appearances(shown.map(([curve]) => curve));
  shown = shown.map(([curve, made]) => [curve, made, looks.get(curve)]);
  if (distinct(shown.flatMap(([, made]) => made.x)).length === 1) return singleFigure(shown);
  const log = state.xlog;
  if (log) shown = shown.map(([curve, made, look]) => [curve, withoutZero(made), look]);
  const inside = (x) => !state.zoom || (x >= state.zoom[0] && x <= state.zoom[1]);
  const xs = shown.flatMap(([, made]) => made.x);
  const xRange = state.zoom || padded(xs, log, 0.02);
  const ceilings = ceilingTraces(shown, xRange);
  const ys = shown.flatMap(([, made]) => made.x.flatMap((x, at) => (inside(x) ? [made.low[at], made.high[at]] : [])));
  const flat =
    state.quantity === 'time' ? ceilings.filter((trace) => trace.x.length === 2).map((trace) => trace.y[0]) : [];
  const yRange = padded([...ys, ...flat], state.ylog, 0.04);
  const layout = baseLayout(height);
  const bySize = state.tests.every((test) => data.tests[test].axis === 'size');
  Object.assign(layout.xaxis, axisLayout('x', xRange, log, bySize ? 'Message size' : 'Ranks'));
  Object.assign(layout.yaxis, axisLayout('y', yRange, state.ylog, ''), { title: { text: '' } });
  Object.assign(layout, cacheMarks(xRange));
  const traces = [...ceilings, ...shown.flatMap(([curve, made, look]) => curveTraces(curve, made, look, shown.length))];
  if (state.quantity === 'relative') layout.shapes = [...(layout.shapes || []), unityLine()];
  return { traces, layout, shown, ceilings };
}

const unityLine = () => ({
  type: 'line',
  xref: 'paper',
  x0: 0,
  x1: 1,
  y0: 1,
  y1: 1,
  layer: 'below',
  line: { color: inks().muted, width: 1 },
});

function withoutZero(made) {
  const kept = made.x.map((_x, at) => at).filter((at) => made.x[at] > 0);
  return Object.fromEntries(Object.entries(made).map(([name, column]) => [name, kept.map((at) => column[at])]));
}

/** Tests without a size: one value per system, names down the side. */
function singleFigure(shown) {
  const layout = baseLayout(Math.max(180, 90 + 34 * shown.length));
  const range = padded(
    shown.flatMap(([, made]) => [made.low[0], made.high[0]]),
    state.ylog,
    0.12,
  );
  const ticks = state.ylog ? logTicks(...range, isNarrow() ? 4 : 8) : evenTicks(...range, isNarrow() ? 4 : 8);
  const format = formatOf(state.quantity);
  Object.assign(layout.xaxis, {
    type: state.ylog ? 'log' : 'linear',
    range: state.ylog ? range.map(Math.log10) : range,
    tickmode: 'array',
    tickvals: ticks,
    ticktext: ticks.map((tick) => short(format(tick))),
  });
  Object.assign(layout.yaxis, {
    range: [shown.length - 0.5, -0.5],
    tickmode: 'array',
    tickvals: shown.map((_, at) => at),
    ticktext: shown.map(([, , look]) => plain(look.label)),
  });
  const traces = shown.map(([curve, made, look], at) => ({
    meta: 'curve',
    type: 'scatter',
    mode: 'markers+text',
    x: made.y,
    y: [at],
    marker: { color: look.colour, size: 9, symbol: look.symbol },
    error_x: {
      type: 'data',
      symmetric: false,
      array: [made.high[0] - made.y[0]],
      arrayminus: [made.y[0] - made.low[0]],
      color: look.colour,
      thickness: 4,
      width: 0,
    },
    text: [`  ${format(made.y[0])}`],
    textposition: 'middle right',
    cliponaxis: false,
    customdata: hoverText(curve, made, look.label),
    hovertemplate: '%{customdata}<extra></extra>',
  }));
  return { traces, layout, shown, ceilings: [], single: true };
}
