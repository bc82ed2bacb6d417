// SPDX-License-Identifier: BSD-3-Clause
// What is chosen, and the same as the address's fragment, so that a view can be linked.

const DEFAULT = {
  tests: [],
  quantity: 'time',
  reference: '',
  systems: null,
  variants: null,
  ranks: null,
  xlog: true,
  ylog: true,
  bands: true,
  ceilings: true,
  caches: true,
  overlay: false,
  zoom: null,
};
const LISTS = ['tests', 'systems', 'variants'];
const SWITCHES = ['xlog', 'ylog', 'bands', 'ceilings', 'caches', 'overlay'];
const QUANTITIES = ['time', 'bandwidth', 'perrank', 'relative'];
const VARIANTS_AT_FIRST = 6;

let data = null;
let state = { ...DEFAULT };

function toHash(view) {
  const words = new URLSearchParams();
  for (const name of LISTS) if (view[name]) view[name].forEach((one) => words.append(name, one));
  if (view.ranks) view.ranks.forEach((one) => words.append('ranks', one));
  if (view.quantity !== 'time') words.set('quantity', view.quantity);
  if (view.quantity === 'relative') words.set('reference', view.reference);
  for (const name of SWITCHES) if (view[name] !== DEFAULT[name]) words.set(name, view[name] ? '1' : '0');
  if (view.zoom) words.set('zoom', view.zoom.join('-'));
  return `#${words}`;
}

/** The view a fragment describes; null for the fragment of a section, and for what this study does not have. */
function fromHash(hash) {
  if (!hash.includes('=')) return null;
  const words = new URLSearchParams(hash.slice(1));
  const view = { ...DEFAULT };
  for (const name of LISTS) if (words.has(name)) view[name] = words.getAll(name);
  if (words.has('ranks')) view.ranks = words.getAll('ranks').map(Number);
  if (QUANTITIES.includes(words.get('quantity'))) view.quantity = words.get('quantity');
  view.reference = words.get('reference') || '';
  for (const name of SWITCHES) if (words.has(name)) view[name] = words.get(name) === '1';
  const zoom = (words.get('zoom') || '').split('-').map(Number);
  if (zoom.length === 2 && zoom[0] > 0 && zoom[1] > zoom[0]) view.zoom = zoom;
  view.tests = view.tests.filter((test) => testsWithCurves().includes(test));
  return view.tests.length ? view : null;
}

const testsWithCurves = () => distinct(data.curves.map((curve) => curve.test));

function firstView() {
  const tests = testsWithCurves();
  return { ...DEFAULT, tests: [tests.includes('pingpong') ? 'pingpong' : tests[0]] };
}

/** Curves of the chosen tests, before systems, variants and ranks are chosen. */
const offered = () => data.curves.filter((curve) => state.tests.includes(curve.test));

function chosenVariants() {
  const all = distinct(offered().map((curve) => curve.variant));
  const known = state.variants?.filter((one) => all.includes(one));
  return known?.length ? known : all.slice(0, all.length > 8 ? VARIANTS_AT_FIRST : 8);
}

function chosenCurves() {
  const variants = chosenVariants();
  const order = data.systems.map((system) => system.name);
  return offered()
    .filter((curve) => !state.systems || state.systems.includes(curve.system))
    .filter((curve) => variants.includes(curve.variant))
    .filter((curve) => !state.ranks || state.ranks.includes(curve.ranks))
    .sort((one, other) => order.indexOf(one.system) - order.indexOf(other.system));
}

const systemCalled = (name) => data.systems.find((system) => system.name === name);

/** A number of a column that is written once where it is the same everywhere. */
const cell = (column, at) => (Array.isArray(column) ? column[at] : column);
