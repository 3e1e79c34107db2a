// Numbers of the last hour, day or week, from the log.

import {stream} from './shell.js';
import {$, h, fill, failure, empty, bytes, ago, when, plural, debounce} from './dom.js';
import {get} from './api.js';
import {bars, lines, share, ranks, spark} from './charts.js';
import {time} from './words.js';
import {seen} from './text.js';

const content = $('#content');
const chips = [...document.querySelectorAll('[data-window]')];
let shown = new URLSearchParams(location.search).get('window') ?? 'day';
if (!chips.some(c => c.dataset.window === shown)) shown = 'day';

const percent = share => share === 1 ? '100%' : share > 0 && share < .01 ? '<1%' : Math.floor(share * 100) + '%';

function card(title, value, about, values, kind) {
  return h('section', {class: 'panel number'},
    h('h2', {class: 'small muted'}, title), h('p', {class: 'value', data: {card: title}}, value), h('p', {class: 'small muted'}, about), spark(values, kind));
}

const others = b => b.cancelled + b.running + b.interrupted;

function cards(s) {
  const ran = s.ok + s.errors + s.cancelled;
  const of = f => s.buckets.map(f);
  return h('div', {class: 'numbers'},
    card('Calls', s.calls.toLocaleString(), plural(s.sessions, 'session') + (s.running ? ', ' + s.running + ' running' : ''), of(b => b.calls), 'ok'),
    card('Succeeded', ran ? percent(s.ok / ran) : '–', s.ok.toLocaleString() + ' of ' + ran.toLocaleString() + ' that ran', of(b => b.ok), 'good'),
    card('Failed', s.errors.toLocaleString(), s.codes.length ? plural(s.codes.length, 'code') : 'no errors', of(b => b.errors), 'bad'),
    card('Not allowed', s.refused.toLocaleString(),
      `${s.denials.person} by a person, ${s.denials.rule} by a rule, ${s.denials.unanswered} unanswered`, of(b => b.refused), 'warn'),
    card('Waiting for a person', s.approval.p50Ms ? time(s.approval.p50Ms) : '–',
      s.approval.asked ? `median; p95 ${time(s.approval.p95Ms)}; ${s.approval.approved} of ${s.approval.asked} approved` : 'nobody was asked', of(b => b.waitedMs), 'blue'),
    card('Spared the model', bytes(s.bytes.saved), `${bytes(s.bytes.output)} made, ${bytes(s.bytes.shown)} shown`, of(b => b.saved), 'plum'));
}

function charts(s) {
  const common = {buckets: s.buckets, width: s.window.bucketMs};
  return [
    h('section', {class: 'panel pad'}, h('h2', {}, 'Calls'), bars({
      ...common, about: `Calls over time: ${s.calls} in all, ${s.errors} failed, ${s.refused} not allowed`,
      read: b => `${plural(b.calls, 'call')}: ${b.ok} ok, ${b.errors} failed, ${b.refused} not allowed`,
      series: [
        {name: 'ok', kind: 'ok', of: b => b.ok}, {name: 'failed', kind: 'bad', of: b => b.errors},
        {name: 'not allowed', kind: 'warn', of: b => b.refused}, {name: 'other', kind: 'none', of: others},
      ],
    })),
    h('section', {class: 'panel pad'}, h('h2', {}, 'Running time'), lines({
      ...common, about: 'Running time of calls over time, median and 95th percentile', format: time,
      read: b => b.calls ? `median ${time(b.p50Ms)}, p95 ${time(b.p95Ms)}` : 'no calls',
      series: [{name: 'median', kind: 'ok', of: b => b.p50Ms}, {name: 'p95', kind: 'plum', of: b => b.p95Ms}],
    })),
    h('section', {class: 'panel pad'}, h('h2', {}, 'Decisions'), h('p', {class: 'small muted'}, 'What the rules came to, before anybody was asked.'), share([
      {name: 'pre-approved', kind: 'good', count: s.decisions.preApproved}, {name: 'on a copy', kind: 'blue', count: s.decisions.copy},
      {name: 'asked for', kind: 'warn', count: s.decisions.ask}, {name: 'blocked', kind: 'bad', count: s.decisions.blocked},
    ], 'Decisions'), h('p', {class: 'small'}, h('a', {href: '/policy'}, 'Rules, with how often each decided'))),
    h('section', {class: 'panel pad'}, h('h2', {}, 'Error codes'),
      s.codes.length ? ranks(s.codes.map(c => ({name: c.code, count: c.calls})), 'bad') : h('p', {class: 'muted'}, 'No call ended with an error.')),
  ];
}

function tools(s) {
  return h('section', {class: 'panel'}, h('div', {class: 'pad'}, h('h2', {}, 'Tools')), h('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Tools'},
    h('table', {class: 'table', id: 'tools'},
      h('thead', {}, h('tr', {}, ['Tool', 'Calls', 'Succeeded', 'Failed', 'Not allowed', 'Median', 'p95', 'Asked', 'Spared', 'Last used'].map((name, i) =>
        h('th', {scope: 'col', class: i ? 'num' : ''}, name)))),
      h('tbody', {}, s.tools.map(t => h('tr', {},
        h('td', {}, h('span', {class: 'mono'}, seen(t.tool)), ' ', t.source && t.source !== 'builtin' ? h('span', {class: 'badge'}, t.source) : null),
        [t.calls.toLocaleString(), t.ok + t.errors + t.cancelled ? percent(t.successRate) : '–', t.errors || '–', t.refused || '–', time(t.p50Ms), time(t.p95Ms),
          t.asked || '–', t.bytes.saved ? bytes(t.bytes.saved) : '–'].map(v => h('td', {class: 'num'}, String(v))),
        h('td', {class: 'num muted', title: when(t.lastUsed)}, ago(t.lastUsed))))))));
}

let busy = false;
async function load() {
  if (busy) return;
  busy = true;
  try {
    const s = await get('/api/statistics', {window: shown});
    if (!s.calls) fill(content, h('div', {class: 'panel'}, empty('No calls in the last ' + shown, 'Numbers appear here as agents call tools.')));
    else fill(content, cards(s), h('div', {class: 'charts'}, charts(s)), tools(s));
    content.dataset.calls = s.calls;
  } catch (error) {
    fill(content, failure(error));
  }
  busy = false;
}

function choose(window) {
  shown = window;
  for (const c of chips) c.setAttribute('aria-pressed', String(c.dataset.window === shown));
  history.replaceState(null, '', shown === 'day' ? location.pathname : '?window=' + shown);
  load();
}
for (const c of chips) c.addEventListener('click', () => choose(c.dataset.window));
choose(shown);

// What is new is shown in a while: numbers that jump with every call cannot be read.
stream.on('entries', debounce(load, 3000)).start();
