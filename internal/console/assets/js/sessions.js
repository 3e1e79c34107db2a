// Sessions: runs of workers as a transcript, and what other clients called.

import {stream} from './shell.js';
import {$, h, fill, failure, empty, ago, when, plural, debounce} from './dom.js';
import {get} from './api.js';
import {time, tokens, money, outcome} from './words.js';
import {transcript, todoList} from './transcript.js';
import {seen} from './text.js';

const list = $('#list'), detail = $('#detail'), split = $('#split'), find = $('#find');
const chips = [...document.querySelectorAll('[data-window]')];
let shown = 'week';
let sessions = [];
let open = {session: '', run: '', calls: false};

// read takes what is open from the address: #session, #session/run, #session/calls.
function read() {
  const [session, run] = location.hash.slice(1).split('/').map(decodeURIComponent);
  open = {session: session ?? '', run: run && run !== 'calls' ? run : '', calls: run === 'calls'};
}
const address = (session, part) => '#' + [session, part].filter(Boolean).map(encodeURIComponent).join('/');

function item(s) {
  const bad = s.errors + s.interrupted;
  return h('a', {class: 'session', href: address(s.id), 'aria-current': s.id === open.session ? 'true' : null, data: {session: s.id}},
    h('span', {class: 'headline'}, h('b', {}, seen(s.title)), s.kind === 'worker' ? h('span', {class: 'badge blue'}, 'worker') : null, s.state ? outcome(s.state) : null,
      h('span', {class: 'muted small when', title: when(s.last)}, ago(s.last))),
    s.prompt ? h('span', {class: 'prompt'}, seen(s.prompt)) : null,
    h('span', {class: 'muted small facts'},
      h('span', {}, plural(s.calls, 'call')), bad ? h('span', {class: 'bad'}, bad + ' failed') : null, s.refused ? h('span', {class: 'warn'}, s.refused + ' not allowed') : null,
      s.asked ? h('span', {}, s.asked + ' asked') : null, s.tokens.input + s.tokens.output ? h('span', {}, tokens(s.tokens.input + s.tokens.output) + ' tokens') : null,
      s.cost ? h('span', {}, money(s.cost, s.priced)) : null, s.agents.length > 1 ? h('span', {}, plural(s.agents.length, 'agent')) : null));
}

function show() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = sessions.filter(s => {
    const text = [s.id, s.title, s.prompt, s.model, s.state, ...s.tools, ...s.agents.map(a => a.name)].join('\n').toLowerCase();
    return words.every(w => text.includes(w));
  });
  fill(list, fits.length ? fits.map(item) : empty(sessions.length ? 'No session fits' : 'No sessions in the last ' + shown,
    sessions.length ? '' : 'Run a worker with “tongs run”, or connect an agent; what it does appears here.'));
}

async function load() {
  try {
    sessions = (await get('/api/sessions', {window: shown})).sessions;
    show();
  } catch (error) {
    fill(list, failure(error));
  }
}

// tree shows agents below those that they work for: runs of workers, or what the log knows of agents.
function tree(d) {
  if (d.runs.length) {
    return h('ul', {class: 'tree'}, d.runs.map(r => h('li', {class: 'depth' + Math.min(r.depth, 6)},
      h('a', {href: address(d.session.id, r.id), 'aria-current': r.id === open.run ? 'true' : null, data: {run: r.id}},
        h('b', {}, seen(r.worker)), ' ', outcome(r.state), h('span', {class: 'muted small'}, ` ${plural(r.turns, 'turn')}, ${plural(r.calls, 'call')}, ${tokens(r.usage.input + r.usage.output)} tokens`)))));
  }
  if (!d.session.agents.length) return null;
  return h('ul', {class: 'tree'}, d.session.agents.map(a => h('li', {class: 'depth' + Math.min(a.depth, 6)},
    h('b', {}, seen(a.name)), h('span', {class: 'muted small'}, a.calls ? ' ' + plural(a.calls, 'call') : ' delegated only', a.errors ? `, ${a.errors} failed` : ''))));
}

function head(d) {
  const s = d.session;
  return h('header', {class: 'pad head'},
    h('div', {class: 'headline'}, h('h2', {tabindex: -1, id: 'session-title'}, seen(s.title)), s.state ? outcome(s.state) : null,
      h('a', {class: 'button quiet close', href: '#', title: 'Close'}, 'Close')),
    s.prompt ? h('p', {class: 'prompt whole'}, seen(s.prompt)) : null,
    h('dl', {class: 'kv small'},
      h('dt', {}, 'Session'), h('dd', {class: 'mono'}, seen(s.id)),
      h('dt', {}, 'Time'), h('dd', {}, when(s.first) + ' to ' + when(s.last)),
      s.model ? [h('dt', {}, 'Model'), h('dd', {}, s.model)] : null,
      s.kind === 'worker' ? [h('dt', {}, 'Tokens'), h('dd', {id: 'tokens'}, `${tokens(s.tokens.input)} in, ${tokens(s.tokens.output)} out`,
        s.tokens.cacheRead ? `, ${tokens(s.tokens.cacheRead)} from cache` : ''), h('dt', {}, 'Cost'), h('dd', {id: 'cost'}, money(s.cost, s.priced))] : null,
      h('dt', {}, 'Calls'), h('dd', {}, `${s.calls}: ${s.ok} ok, ${s.errors} failed, ${s.refused} not allowed`, s.waitedMs ? `; waited ${time(s.waitedMs)} for people` : ''),
      s.workspace ? [h('dt', {}, 'Workspace'), h('dd', {class: 'mono'}, s.workspace)] : null),
    tree(d));
}

function calls(d) {
  const rows = d.calls.map(c => h('li', {class: 'did', data: {call: c.call}},
    h('span', {class: 'muted small mono at'}, when(c.started)),
    h('div', {},
      h('p', {class: 'doing'}, h('a', {href: '/#' + encodeURIComponent(c.call)}, h('span', {class: 'mono'}, seen(c.tool))), ' ', h('span', {}, c.title && c.title !== c.tool ? seen(c.title) : ''), ' ',
        c.outcome === 'ok' ? null : outcome(c.outcome), c.code ? h('span', {class: 'badge bad'}, c.code) : null, c.asked ? h('span', {class: 'badge'}, 'asked') : null),
      c.agents.length ? h('p', {class: 'muted small'}, seen(c.agents.join(' › '))) : null,
      c.reason ? h('p', {class: 'small'}, '“' + seen(c.reason) + '”') : null,
      c.error ? h('p', {class: 'small bad'}, seen(c.error)) : null,
      c.args && c.args !== '{}' ? h('details', {class: 'small'}, h('summary', {}, 'Arguments'), h('pre', {class: 'code'}, seen(c.args))) : null),
    h('span', {class: 'muted small num'}, c.ranMs ? time(c.ranMs) : '')));
  return h('div', {}, d.left ? h('p', {class: 'pad muted small'}, `${plural(d.left, 'older call')} not shown; see Live.`) : null,
    rows.length ? h('ol', {class: 'calls'}, rows) : empty('It called nothing'));
}

let turn = 0;
async function showDetail(focus) {
  split.classList.toggle('open', open.session !== '');
  detail.hidden = open.session === '';
  for (const a of list.querySelectorAll('.session')) a.dataset.session === open.session ? a.setAttribute('aria-current', 'true') : a.removeAttribute('aria-current');
  if (!open.session) return;
  const mine = ++turn;
  try {
    const d = await get('/api/sessions/' + encodeURIComponent(open.session));
    const run = open.calls ? '' : open.run || d.runs[0]?.id || '';
    const r = run ? await get('/api/runs/' + encodeURIComponent(run)) : null;
    if (mine !== turn) return;
    if (r) open.run = run;
    const kept = detail.scrollTop;
    fill(detail, h('div', {class: 'panel'}, head(d)),
      d.runs.length ? h('nav', {class: 'chips tabs', 'aria-label': 'What to show'},
        h('a', {class: 'chip', href: address(open.session, d.runs[0].id), 'aria-pressed': String(!!r)}, 'Transcript'),
        h('a', {class: 'chip', href: address(open.session, 'calls'), 'aria-pressed': String(!r)}, 'Calls · ' + d.session.calls)) : null,
      r ? [todoList(r.todos), transcript(r, d)] : h('div', {class: 'panel'}, calls(d)));
    detail.scrollTop = kept;
    if (focus) $('#session-title').focus();
  } catch (error) {
    if (mine === turn) fill(detail, failure(error));
  }
}

const mark = () => { for (const c of chips) c.setAttribute('aria-pressed', String(c.dataset.window === shown)); };
for (const c of chips) c.addEventListener('click', () => {
  shown = c.dataset.window;
  mark();
  load();
});
mark();
find.addEventListener('input', debounce(show, 120));
addEventListener('hashchange', () => {
  read();
  showDetail(true);
});
read();
load().then(() => showDetail(false));
stream.on('entries', debounce(() => { load(); showDetail(false); }, 2000)).start();
