// SPDX-License-Identifier: BSD-3-Clause
// Unpacks what the page carries, and starts. Nothing is fetched from anywhere.

const PRINT_WIDTH = 680; // A4 less its margins, in CSS pixels

async function unpack(element) {
  const packed = Uint8Array.from(atob(element.textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).text();
}

async function readData() {
  const element = byId('data');
  return JSON.parse(element.type === 'application/gzip' ? await unpack(element) : element.textContent);
}

async function loadPlotly() {
  const code = await unpack(byId('plotly'));
  byId('plotly').remove();
  document.head.append(make('script', { textContent: code }));
  if (!window.Plotly) throw new Error('the plotting library did not start');
}

/** Says what is missing; the still picture and the tables stay. */
function giveUp(reason) {
  const box = byId('trouble');
  box.textContent = `The interactive plots cannot be shown (${reason}). Below is a still picture; the tables are complete. A browser from 2023 or later shows all.`;
  box.hidden = false;
  document.documentElement.dataset.report = 'still';
}

function redraw() {
  showControls();
  showPlot();
  showStreams();
  showBoxes();
}

function listen() {
  byId('plot').on('plotly_relayout', retick);
  byId('points-save').addEventListener('click', savePoints);
  window.addEventListener('hashchange', () => {
    const view = fromHash(location.hash);
    if (!view) return;
    state = view;
    showAll();
  });
  const print = (on) => () => {
    printing = on;
    redraw();
  };
  window.addEventListener('beforeprint', print(true));
  window.addEventListener('afterprint', print(false));
  for (const query of ['(prefers-color-scheme: dark)', '(max-width: 60rem)']) {
    matchMedia(query).addEventListener('change', () => {
      if (!printing) redraw();
    });
  }
}

function reveal() {
  document.documentElement.classList.add('live');
  byId('explorer').hidden = false;
  byId('points').hidden = false;
  for (const [name, list] of [
    ['streams', data.streams],
    ['spread', data.boxes],
  ]) {
    byId(name).hidden = !list.length;
    byId(`nav-${name}`).hidden = !list.length;
  }
  byId('controls').open = !isNarrow();
}

async function start() {
  document.querySelectorAll('table.sortable').forEach(makeSortable);
  startFindings();
  if (!('DecompressionStream' in window)) {
    giveUp('this browser cannot unpack them');
    return;
  }
  data = await readData();
  if (!data.curves.length) {
    document.documentElement.dataset.report = 'empty';
    return;
  }
  await loadPlotly();
  data.streams = data.streams.filter((one) => one.sender || one.receiver);
  state = fromHash(location.hash) || firstView();
  reveal();
  showPresets();
  showAll();
  showStreams();
  showBoxes();
  listen();
  document.documentElement.dataset.report = 'ready';
}

start().catch((problem) => giveUp(problem.message));
