// SPDX-License-Identifier: BSD-3-Clause
// Choosing what to see, the legend, and views worth a look.

/** A box to tick, or a radio button, that looks like a chip. */
function chip(text, checked, options, onChange) {
  const input = make('input', {
    type: options.radio ? 'radio' : 'checkbox',
    checked,
    disabled: Boolean(options.disabled),
  });
  if (options.radio) input.name = options.radio;
  input.addEventListener('change', () => onChange(input.checked));
  const swatch = options.swatch ? [options.swatch] : [];
  return make('label', { className: 'chip', title: options.title || text }, input, ...swatch, make('span', {}, text));
}

function swatch(colour, dash, symbol) {
  const space = 'http:' + '//www.w3.org/2000/svg'; // the name of SVG, not an address to load
  const svg = document.createElementNS(space, 'svg');
  const line = document.createElementNS(space, 'line');
  const lengths = {
    solid: '',
    dash: '6 3',
    dot: '2 2.5',
    dashdot: '6 2.5 2 2.5',
    longdash: '10 3',
    longdashdot: '10 3 2 3',
  };
  const set = (element, values) => Object.entries(values).forEach(([name, value]) => element.setAttribute(name, value));
  set(svg, { width: 26, height: 10, 'aria-hidden': 'true' });
  set(line, { x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour, 'stroke-width': symbol === null ? 1.3 : 2.5 });
  set(line, { 'stroke-dasharray': lengths[dash] ?? dash.replace(/px,?/g, ' ') });
  svg.append(line);
  if (symbol) {
    const mark = document.createElementNS(space, 'path');
    set(mark, { d: SYMBOL_PATHS[symbol] || SYMBOL_PATHS.circle, fill: colour, transform: 'translate(13 5)' });
    svg.append(mark);
  }
  return svg;
}

const SYMBOL_PATHS = {
  circle: 'M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0',
  square: 'M-3.5-3.5h7v7h-7z',
  diamond: 'M0-4.6L4.6 0 0 4.6-4.6 0z',
  'triangle-up': 'M0-4.5L4.5 3.5h-9z',
  'triangle-down': 'M0 4.5L4.5-3.5h-9z',
  x: 'M-4-2.5l1.5-1.5L0-1.5 2.5-4 4-2.5 1.5 0 4 2.5 2.5 4 0 1.5-2.5 4-4 2.5-1.5 0z',
  star: 'M0-5l1.5 3.3 3.5.4-2.6 2.4.7 3.6L0 3l-3.1 1.7.7-3.6L-5-1.3l3.5-.4z',
  pentagon: 'M0-4.3L4.3-1 2.6 4h-5.2L-4.3-1z',
  hexagon: 'M-4 0l2-3.6h4l2 3.6-2 3.6h-4z',
};

function group(title, className, chips, onAll) {
  const legend = make('legend', {}, title);
  if (onAll) {
    legend.append(make('button', { type: 'button', onclick: () => onAll(true) }, 'all'));
    legend.append(make('button', { type: 'button', onclick: () => onAll(false) }, 'none'));
  }
  return make(
    'fieldset',
    { className },
    legend,
    make('div', { className: chips.length > 24 ? 'chips long' : 'chips' }, ...chips),
  );
}

function change(changes) {
  state = { ...state, ...changes };
  showAll();
}

/** Chips of which several may be chosen; `null` in the state stands for all. */
function manyOf(name, title, values, chosen, describe = () => ({})) {
  const chips = values.map((value) => {
    const options = describe(value);
    return chip(options.text || String(value), chosen.includes(value), options, (on) => {
      const next = values.filter((one) => (one === value ? on : chosen.includes(one)));
      change({ [name]: next.length === values.length ? null : next });
    });
  });
  return group(title, name, chips, (on) => change({ [name]: on ? [...values] : [] }));
}

function testChips() {
  const chips = testsWithCurves().map((test) => {
    const options = { radio: state.overlay ? '' : 'test', title: data.tests[test].summary };
    return chip(data.tests[test].title, state.tests.includes(test), options, (on) => {
      const kept = state.overlay ? state.tests.filter((one) => one !== test) : [];
      const tests = on || !kept.length ? [...kept, test] : kept;
      change({ tests, zoom: null, variants: state.overlay ? state.variants : null });
    });
  });
  const box = group(state.overlay ? 'Tests' : 'Test', 'tests', chips);
  const overlay = checkBox('lay several over each other', state.overlay, (on) =>
    change({ overlay: on, tests: on ? state.tests : state.tests.slice(0, 1) }),
  );
  box.append(overlay);
  return box;
}

function checkBox(text, checked, onChange) {
  const input = make('input', { type: 'checkbox', checked });
  input.addEventListener('change', () => onChange(input.checked));
  return make('label', { className: 'check' }, input, text);
}

function quantityChips() {
  const moves = offered().some((curve) => curve.traffic);
  const slices = offered().some((curve) => curve.traffic > 1 && curve.ranks > 1);
  const choices = [
    ['time', 'Time', true],
    ['bandwidth', 'Bandwidth', moves],
    ['perrank', 'Bandwidth per rank', slices],
    ['relative', 'Relative to…', true],
  ];
  const chips = choices
    .filter(([name, , has]) => has || name === state.quantity)
    .map(([name, text]) =>
      chip(text, state.quantity === name, { radio: 'quantity' }, () =>
        change({ quantity: name, reference: state.reference || offered()[0].system }),
      ),
    );
  const box = group('Quantity', 'quantity', chips);
  if (state.quantity === 'relative') {
    const systems = distinct(offered().map((curve) => curve.system));
    const select = make(
      'select',
      { 'aria-label': 'System that is 1' },
      ...systems.map((name) => make('option', { value: name, selected: name === state.reference }, name)),
    );
    select.addEventListener('change', () => change({ reference: select.value }));
    box.append(select);
  }
  return box;
}

function axisChecks() {
  const box = group('Axes and marks', 'axes', []);
  const add = (name, text) => box.append(checkBox(text, state[name], (on) => change({ [name]: on })));
  add('xlog', 'size: logarithmic');
  add('ylog', 'value: logarithmic');
  add('bands', 'intervals as bands');
  if (data.curves.some((curve) => curve.test === 'ceilings')) add('ceilings', 'what the machine itself can do');
  if (data.caches.length) add('caches', 'caches (message size = cache size)');
  if (state.zoom)
    box.append(make('button', { type: 'button', onclick: () => change({ zoom: null }) }, 'Show all sizes'));
  return box;
}

/** Draws the controls anew, the keyboard's focus staying where it was. */
function showControls() {
  const form = byId('choices');
  const focusable = () => [...form.querySelectorAll('input, select, button')];
  const focused = focusable().indexOf(document.activeElement);
  const scrolled = [...form.querySelectorAll('.chips')].map((chips) => chips.scrollTop);
  const present = offered();
  const names = data.systems
    .map((system) => system.name)
    .filter((name) => data.curves.some((curve) => curve.system === name));
  const here = (name) => present.some((curve) => curve.system === name);
  const chosen = state.systems || names;
  const systems = names.filter(here);
  const parts = [testChips(), quantityChips()];
  parts.push(
    manyOf(
      'systems',
      'Systems',
      systems,
      systems.filter((name) => chosen.includes(name)),
      (name) => {
        const system = systemCalled(name);
        return { swatch: swatch(isDark() ? system.dark : system.light, system.dash) };
      },
    ),
  );
  const variants = distinct(present.map((curve) => curve.variant));
  if (variants.length > 1)
    parts.push(
      manyOf('variants', 'Variants', variants, chosenVariants(), (one) => ({ text: one === '-' ? '(plain)' : one })),
    );
  const ranks = distinct(present.map((curve) => curve.ranks))
    .filter(Boolean)
    .sort((one, other) => one - other);
  if (ranks.length > 1) parts.push(manyOf('ranks', 'Ranks', ranks, state.ranks || ranks));
  parts.push(axisChecks());
  form.replaceChildren(...parts);
  form.querySelectorAll('.chips').forEach((chips, at) => {
    chips.scrollTop = scrolled[at] || 0;
  });
  if (focused >= 0) focusable()[focused]?.focus({ preventScroll: true });
}

/** Views that tell something in this study's own data. */
function presets() {
  const has = (test) => testsWithCurves().includes(test);
  const found = [];
  const lam = data.curves.filter((curve) => curve.test === 'pingpong' && /^lam\b.*\/(tcp|c2c)$/.test(curve.system));
  if (lam.some((curve) => curve.x.some((x) => x <= 65536) && curve.x.some((x) => x >= 131072))) {
    found.push([
      'LAM: drop between 64 and 128 KiB',
      {
        tests: ['pingpong'],
        systems: distinct(lam.map((curve) => curve.system)),
        quantity: 'bandwidth',
        zoom: [4096, 2 ** 21],
      },
    ]);
  }
  if (has('sendrecv')) found.push(['Lockless: Sendrecv bandwidth', { tests: ['sendrecv'], quantity: 'bandwidth' }]);
  if (has('alltoall')) found.push(['Alltoall by slice', { tests: ['alltoall'], quantity: 'perrank' }]);
  const names = distinct(data.curves.filter((curve) => curve.test === 'tcp').map((curve) => curve.variant));
  const pairs = names
    .filter((name) => /writev/.test(name))
    .map((name) => [name, name.replace('writev', 'write').replace('readv', 'read')])
    .filter(([, other]) => names.includes(other));
  if (pairs.length) found.push(['TCP: write against writev', { tests: ['tcp'], variants: pairs.slice(0, 3).flat() }]);
  return found.map(([text, view]) => [text, { ...DEFAULT, ...view }]);
}

function showPresets() {
  const links = presets().map(([text, view]) => make('a', { href: toHash(view) }, text));
  byId('presets').replaceChildren(...links);
}

/** Whether any of a trace lies within the axes: what cannot be seen needs no legend. */
function inSight(trace, layout) {
  const ends = (axis) => (axis.type === 'log' ? axis.range.map((end) => 10 ** end) : axis.range);
  const [left, right] = ends(layout.xaxis);
  const [low, high] = ends(layout.yaxis);
  return trace.x.some((x, at) => x >= left && x <= right && trace.y[at] >= low && trace.y[at] <= high);
}

function showLegend(figure) {
  const entries = figure.single
    ? []
    : figure.shown.map(([curve, , look]) =>
        make(
          'span',
          { title: curve.touched.join('; ') },
          swatch(look.colour, look.dash, look.symbol),
          look.label + (curve.touched.length ? ' ⚠' : ''),
        ),
      );
  for (const trace of figure.ceilings.filter((one) => inSight(one, figure.layout))) {
    entries.push(make('span', { className: 'machine' }, swatch(trace.line.color, trace.line.dash, null), trace.name));
  }
  byId('legend').replaceChildren(...entries);
}

function caption(figure) {
  const parts = [];
  if (!figure.shown.length)
    parts.push('Nothing is chosen that was measured in this quantity: choose a system, or another quantity.');
  else if (state.bands) parts.push('Bands: interval of the median of launches (see Method).');
  if (state.quantity === 'relative')
    parts.push('Above 1 is slower. The band is all that both intervals allow; only sizes measured on both are shown.');
  if (state.quantity === 'bandwidth') parts.push('Decimal units: 1 GB/s = 10⁹ B/s, of all bytes one operation moves.');
  if (state.quantity === 'perrank')
    parts.push('Decimal units; bytes one operation moves, divided by the number of ranks.');
  const touched = distinct(figure.shown.flatMap(([curve]) => curve.touched));
  if (touched.length) parts.push(`⚠ touched by what the machine did: ${touched.join('; ')}.`);
  if (figure.ceilings.length) parts.push('Thin dashed lines: this machine without any MPI.');
  if (!figure.single && figure.shown.length && !isNarrow() && !printing)
    parts.push('Drag to zoom, double-click to go back.');
  return parts.join(' ');
}

let current = null;

function showPlot() {
  const plot = byId('plot');
  const height = printing ? 430 : isNarrow() ? 400 : 560;
  const figure = buildFigure(height);
  const titles = state.tests.map((test) => data.tests[test].title).join(', ');
  byId('plot-title').textContent = `${titles}: ${quantityTitle().replace(/^./, (letter) => letter.toLowerCase())}`;
  byId('plot-note').textContent = state.tests.length === 1 ? data.tests[state.tests[0]].summary : '';
  byId('plot-caption').textContent = caption(figure);
  if (printing) figure.layout.width = PRINT_WIDTH;
  current = figure;
  draw(plot, figure.traces, figure.layout);
  plot.dataset.curves = figure.traces.filter((trace) => trace.meta === 'curve').length;
  plot.dataset.ceilings = figure.ceilings.length;
  showLegend(figure);
}

/** After zooming, round numbers for what is now in sight. */
function retick() {
  const layout = byId('plot').layout;
  if (!layout || !current || current.single || !current.shown.length) return;
  const update = {};
  for (const [name, log] of [
    ['x', state.xlog],
    ['y', state.ylog],
  ]) {
    const range = layout[`${name}axis`].range.map((end) => (log ? 10 ** end : end));
    const ticks = axisTicks(name, range);
    if (ticks.values.join() === [...layout[`${name}axis`].tickvals].join()) continue;
    update[`${name}axis.tickvals`] = ticks.values;
    update[`${name}axis.ticktext`] = ticks.text;
  }
  if (Object.keys(update).length) Plotly.relayout('plot', update);
}

function showAll() {
  try {
    history.replaceState(null, '', toHash(state));
  } catch {
    // Some browsers forbid it for local files: the view is then not in the address, and all else works.
  }
  showControls();
  showPlot();
  showPoints();
}
