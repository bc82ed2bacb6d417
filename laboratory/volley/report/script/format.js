// SPDX-License-Identifier: BSD-3-Clause
// Numbers as a person reads them, ticks, and small helpers for the page's elements.

const KIBI = 1024;
const SIZE_UNITS = [
  [KIBI ** 3, 'GiB'],
  [KIBI ** 2, 'MiB'],
  [KIBI, 'KiB'],
];
const TIME_UNITS = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
];
const RATE_UNITS = [
  [1e12, 'TB/s'],
  [1e9, 'GB/s'],
  [1e6, 'MB/s'],
  [1e3, 'kB/s'],
  [1, 'B/s'],
];

function threeDigits(value) {
  return value >= 99.95 ? value.toFixed(0) : value.toPrecision(3);
}

/** 10 µs for 10.0 µs: as ticks are written. */
const short = (text) => text.replace(/(\.\d*?)0+(?= )/, '$1').replace('. ', ' ');

function withUnit(value, units) {
  if (value === null || !Number.isFinite(value)) return '–';
  const [unit, name] = units.find(([least]) => value >= least * 0.9995) || units[units.length - 1];
  return `${threeDigits(value / unit)} ${name}`;
}

const formatTime = (nanoseconds) => withUnit(nanoseconds, TIME_UNITS);
const formatRate = (bytesPerSecond) => withUnit(bytesPerSecond, RATE_UNITS);
const formatTimes = (ratio) => `${threeDigits(ratio)} ×`;
const formatCount = (count) => (count === null ? '–' : Math.round(count).toLocaleString('en'));
const formatPercent = (share) => `${(100 * share).toFixed(1)} %`;

function formatSize(bytes) {
  const unit = SIZE_UNITS.find(([least]) => bytes >= least && bytes % least === 0);
  return unit ? `${bytes / unit[0]} ${unit[1]}` : `${bytes.toLocaleString('en')} B`;
}

function tickSize(bytes) {
  const unit = SIZE_UNITS.find(([least]) => bytes >= least && bytes % least === 0);
  return unit ? `${bytes / unit[0]} ${unit[1]}` : String(bytes);
}

/** Powers of 2, 4, 16 or 256 within [low, high]: as many as fit. */
function sizeTicks(low, high, most) {
  let ticks = [];
  for (const step of [1, 2, 4, 8]) {
    ticks = [];
    for (let exponent = 0; exponent < 50; exponent += step) ticks.push(2 ** exponent);
    ticks = ticks.filter((tick) => tick >= low && tick <= high);
    if (ticks.length <= most) break;
  }
  return ticks.length > 1 ? ticks : evenTicks(low, high, most);
}

// From dense to sparse: the first that does not crowd the axis is taken.
const TICK_MANTISSAS = [
  [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9],
  [1, 1.5, 2, 3, 4, 5, 7],
  [1, 2, 5],
  [1, 3],
  [1],
];

/** Round numbers within [low, high] for a logarithmic axis. */
function logTicks(low, high, most) {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  for (const mantissas of TICK_MANTISSAS) {
    const ticks = [];
    for (let exponent = first; exponent <= last; exponent++) {
      for (const mantissa of mantissas) ticks.push(Number(`${mantissa}e${exponent}`));
    }
    const inside = ticks.filter((tick) => tick >= low && tick <= high);
    if (inside.length <= most) return inside.length > 1 ? inside : evenTicks(low, high, most);
  }
  const step = Math.ceil((last - first) / most);
  const decades = [];
  for (let exponent = first; exponent <= last; exponent += step) decades.push(10 ** exponent);
  return decades.filter((tick) => tick >= low && tick <= high);
}

/** Equal steps of 1, 2 or 5 times a power of ten; for sizes of powers of two. */
function evenTicks(low, high, most, binary = false) {
  const wanted = (high - low) / most;
  if (!(wanted > 0)) return [low];
  const base = 10 ** Math.floor(Math.log10(wanted));
  const step = binary
    ? 2 ** Math.max(0, Math.ceil(Math.log2(wanted)))
    : base * [1, 2, 5, 10].find((factor) => base * factor >= wanted);
  const ticks = [];
  for (let count = Math.ceil(low / step); count * step <= high; count++) ticks.push(count * step);
  return ticks.map((tick) => Number(tick.toPrecision(12)));
}

const byId = (id) => document.getElementById(id);

/** An element with properties and children; text never becomes markup. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes('-')) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

const distinct = (values) => [...new Set(values)];

/** Plotly reads a few HTML tags in its texts; names of systems are not to be read that way. */
function plain(text) {
  return String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

const isDark = () => !printing && matchMedia('(prefers-color-scheme: dark)').matches;
const isNarrow = () => !printing && matchMedia('(max-width: 60rem)').matches;
let printing = false;

function inks() {
  return isDark()
    ? { paper: '#14181d', ink: '#e6e9ed', muted: '#a2abb6', rule: '#2c343d', reference: '#8d97a3' }
    : { paper: '#ffffff', ink: '#1d232b', muted: '#596270', rule: '#e3e6ea', reference: '#6b7480' };
}

/** What all plots share. */
function baseLayout(height) {
  const ink = inks();
  const axis = { gridcolor: ink.rule, zeroline: false, linecolor: ink.muted, automargin: true, fixedrange: isNarrow() };
  return {
    height,
    paper_bgcolor: ink.paper,
    plot_bgcolor: ink.paper,
    font: { family: getComputedStyle(document.body).fontFamily, size: isNarrow() ? 11 : 12.5, color: ink.ink },
    margin: { l: 10, r: 14, t: 40, b: 10 },
    showlegend: false,
    modebar: { bgcolor: 'rgba(0,0,0,0)', color: ink.muted, activecolor: ink.ink },
    hovermode: 'closest',
    hoverlabel: { align: 'left', bgcolor: ink.paper, font: { color: ink.ink, size: 12.5 } },
    xaxis: { ...axis },
    yaxis: { ...axis },
  };
}

const PLOT_OPTIONS = {
  displaylogo: false,
  responsive: true,
  doubleClick: 'reset',
  modeBarButtons: [['toImage'], ['zoom2d', 'pan2d'], ['resetScale2d']],
  toImageButtonOptions: { format: 'svg', filename: 'volley' },
};

/** Draws into an element; on a phone without the bar of buttons, which would cover the plot. */
function draw(element, traces, layout) {
  return Plotly.react(element, traces, layout, { ...PLOT_OPTIONS, displayModeBar: isNarrow() ? false : 'hover' });
}
