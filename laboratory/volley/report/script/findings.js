// SPDX-License-Identifier: BSD-3-Clause
// The table of all findings: only those that contain the words, and have a status that is ticked.

function filterFindings() {
  const words = byId('finding-words').value.toLowerCase().split(/\s+/).filter(Boolean);
  const boxes = [...byId('finding-choices').querySelectorAll('input[name=status]')];
  const statuses = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
  const lines = [...byId('findings-table').tBodies[0].rows];
  for (const line of lines) {
    const text = `${line.textContent} ${line.dataset.words}`.toLowerCase();
    line.hidden = !statuses.has(line.dataset.status) || !words.every((word) => text.includes(word));
  }
  const shown = lines.filter((line) => !line.hidden).length;
  byId('finding-count').textContent = shown === lines.length ? '' : `${shown} of ${lines.length}`;
}

function startFindings() {
  const form = byId('finding-choices');
  if (!form) return;
  form.hidden = false;
  form.addEventListener('input', filterFindings);
  form.addEventListener('submit', (event) => event.preventDefault());
}
