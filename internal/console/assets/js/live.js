// The page Live: the calls of every process, as they happen.

import {$, h, fill, duration, bytes, when, debounce, empty, failure} from './dom.js';
import {get} from './api.js';
import {stream} from './shell.js';
import {List} from './list.js';
import {CallView} from './call.js';
import {outcome} from './say.js';
import {seen} from './text.js';

const maxRows = 20000;

let rows = [];            // newest first
const bySeq = new Map();  // by the number of the opening entry
const byCall = new Map();
let next = 0, loading = false, turn = 0, view = null;
const filter = {q: '', outcome: '', tool: ''};

const split = $('#split'), side = $('#side'), none = $('#none');

function make() {
  const el = h('div', {class: 'row'}, h('i', {class: 'pulse dot'}), h('span', {class: 'tool mono'}), h('span', {class: 'what'}), h('span', {class: 'who muted'}), h('span', {class: 'bar'}), h('span', {class: 'took num'}), h('time', {class: 'num muted'}));
  el.bar = h('i');
  el.querySelector('.bar').append(el.bar);
  return el;
}

const elapsed = row => row.close ? duration(row.close.total) : row.interrupted ? '' : duration((Date.now() - new Date(row.started)) * 1e6);

function what(row) {
  if (row.close) return row.close.error ? row.close.error.split('\n')[0] : row.close.title ?? '';
  const p = row.progress;
  if (p?.waiting) return 'waits for approval';
  return p?.line || p?.title || Object.values(row.args ?? {}).find(v => typeof v === 'string') || '';
}

const set = (el, text) => { if (el.textContent !== text) el.textContent = text; };

function show(el, i) {
  const row = rows[i];
  row.waiting = row.progress?.waiting;
  const [word, kind] = outcome(row);
  el.className = 'row ' + kind + (row.close || row.interrupted ? '' : ' running');
  const [dot, tool, text, who, bar, took, time] = el.children;
  dot.title = word;
  set(tool, seen(row.intent?.tool ?? row.tool));
  set(text, seen(what(row)).slice(0, 300));
  set(who, seen(row.agents?.length ? row.agents.join(' → ') : row.session ?? ''));
  const p = row.close ? null : row.progress;
  bar.hidden = !(p?.total > 0);
  if (p?.total > 0) el.bar.style.width = Math.min(100, 100 * p.done / p.total) + '%';
  set(took, elapsed(row) + (p?.bytes > 100000 ? ' · ' + bytes(p.bytes) : ''));
  set(time, when(row.started));
  el.setAttribute('aria-label', [word, tool.textContent, text.textContent, who.textContent, took.textContent, time.textContent].join(', '));
}

const list = new List({
  height: 40, label: 'Calls', make, show,
  key: i => rows[i].seq, open: i => open(rows[i].call), end: more,
});
$('#list').append(list.el);

function fits(row) {
  if (filter.tool && row.tool !== filter.tool && row.intent?.tool !== filter.tool) return false;
  if (filter.outcome) {
    const now = row.close?.outcome ?? (row.interrupted ? 'interrupted' : 'running');
    if (now !== filter.outcome) return false;
  }
  if (!filter.q) return true;
  const text = JSON.stringify([row.call, row.tool, row.session, row.reason, row.args, row.agents, row.close?.title, row.close?.error, row.close?.code, row.intent?.tool]).toLowerCase();
  return filter.q.toLowerCase().split(/\s+/).every(word => text.includes(word));
}

function shown() {
  none.hidden = rows.length > 0;
  list.el.hidden = rows.length === 0;
  if (!rows.length) fill(none, filter.q || filter.outcome || filter.tool ? empty('No call fits') : empty('No calls yet', 'Connect an agent with the snippet that tongs serve printed, or try a tool on the page ', h('a', {href: '/tools'}, 'Tools'), '.'));
}

// load reads the first rows anew.
async function load() {
  const mine = ++turn;
  loading = true;
  try {
    const page = await get('/api/calls', {limit: 200, ...filter});
    if (mine !== turn) return;
    rows = page.calls;
    bySeq.clear();
    byCall.clear();
    index(rows, page.running);
    next = page.next;
    list.set(rows.length);
    shown();
    stream.start(page.head);
  } catch (error) {
    if (mine === turn) fill(none, failure(error)).hidden = false;
  } finally {
    if (mine === turn) loading = false;
  }
}

function index(list, running) {
  for (const row of list) {
    bySeq.set(row.seq, row);
    byCall.set(row.call, row);
  }
  for (const p of running ?? []) if (byCall.has(p.call)) byCall.get(p.call).progress = p;
}

// more reads older rows when the end comes in sight.
async function more() {
  if (loading || !next || rows.length >= maxRows) return;
  const mine = turn;
  loading = true;
  try {
    const page = await get('/api/calls', {limit: 500, before: next, ...filter});
    if (mine !== turn) return;
    index(page.calls, page.running);
    rows.push(...page.calls);
    next = page.next;
    list.set(rows.length);
  } finally {
    if (mine === turn) loading = false;
  }
}

stream.on('entries', entries => {
  const fresh = [];
  for (const e of entries) {
    let row = bySeq.get(e.row);
    if (e.kind === 'open' && !row) {
      row = {...e.data, seq: e.seq};
      bySeq.set(e.seq, row);
      byCall.set(row.call, row);
      fresh.push(row);
    } else if (row && e.kind === 'intent') row.intent = e.data;
    else if (row && e.kind === 'close') {
      row.close = e.data;
      row.progress = null;
    }
  }
  if (filter.outcome) {
    const before = rows.length, seqs = new Set(rows.map(r => r.seq));
    for (const e of entries) {
      const row = bySeq.get(e.row);
      if (row && !seqs.has(row.seq) && fits(row)) { rows.push(row); seqs.add(row.seq); }
    }
    rows = rows.filter(fits).sort((a, b) => b.seq - a.seq);
    list.set(rows.length, rows.length - before);
  } else {
    const wanted = fresh.filter(fits).reverse();
    if (wanted.length) rows = wanted.concat(rows).slice(0, maxRows);
    list.set(rows.length, wanted.length);
  }
  if (bySeq.size > 2 * maxRows) {
    const keep = new Set(rows);
    for (const [seq, row] of bySeq) if (!keep.has(row)) { bySeq.delete(seq); byCall.delete(row.call); }
  }
  shown();
  view?.entries(entries);
});
stream.on('progress', all => {
  for (const p of all) {
    const row = byCall.get(p.call);
    if (row && !row.close) row.progress = p;
  }
  list.refresh();
});
stream.on('output', news => view?.output(news));
stream.on('summary', load);
stream.on('state', up => { if (up) view?.load(); }); // what came in between

// open shows a call beside the list.
function open(call, keep) {
  if (view?.id === call) return;
  view = new CallView(call, close);
  fill(side, view.el);
  side.hidden = false;
  split.classList.add('open');
  stream.output(call);
  if (!keep) history.replaceState(null, '', '#' + encodeURIComponent(call));
  list.refresh();
}

function close() {
  view = null;
  side.hidden = true;
  split.classList.remove('open');
  stream.output('');
  history.replaceState(null, '', '/');
  list.mark(null);
  list.el.focus();
}

document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && view) close();
  if (event.key === '/' && !/INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) {
    event.preventDefault();
    $('#search').focus();
  }
});
$('#search').addEventListener('input', debounce(event => { filter.q = event.target.value.trim(); load(); }, 200));
for (const chip of document.querySelectorAll('[data-outcome]')) {
  chip.addEventListener('click', () => {
    filter.outcome = chip.dataset.outcome;
    for (const other of document.querySelectorAll('[data-outcome]')) other.setAttribute('aria-pressed', other === chip);
    load();
  });
}
addEventListener('hashchange', () => { if (location.hash.length > 1) open(decodeURIComponent(location.hash.slice(1)), true); });
setInterval(() => { if (rows.some(r => !r.close && !r.interrupted)) list.refresh(); }, 1000);

await load();
if (location.hash.length > 1) open(decodeURIComponent(location.hash.slice(1)), true);
