// The rules in force, remembered approvals, a tester, and the replay of proposed rules.

import {stream} from './shell.js';
import {$, h, fill, failure, empty, ago, when, plural, debounce, toast} from './dom.js';
import {get, post} from './api.js';
import {decision} from './words.js';
import {tester, proposer} from './policy-try.js';
import {seen} from './text.js';

const content = $('#content');
const chips = [...document.querySelectorAll('[data-window]')];
let shown = 'week';
let all = false; // whether built-in rules that decided nothing are listed

const layers = [
  ['managed', 'Managed', 'An administrator wrote these. Nothing below can loosen them.'],
  ['user', 'Yours', 'Your own configuration.'],
  ['workspace', 'Workspace', 'The file of this workspace. Untrusted, it can only narrow.'],
  ['worker', 'Worker', 'The worker that runs, and tools that bring rules.'],
  ['builtin', 'Comes with Tongs', 'Defaults. Your rules take precedence.'],
];

const doing = {execute: 'commands', network: 'hosts', read: 'reading', write: 'writing', delete: 'deleting'};

const source = r => r.builtIn ? 'builtin' : r.layer;

// about says what a rule is about, with its pattern set apart.
function about(r) {
  const words = [];
  if (r.tool) words.push('tool ', h('code', {}, r.tool), r.effects ? ': ' : ' ');
  else if (r.toolset) words.push(r.toolset + (r.effects ? ': ' : ' '));
  else if (!r.effects) words.push('every tool ');
  if (r.effects) words.push(r.effects.split(',').map(e => doing[e] ?? e).join(', ') + ' ');
  if (r.pattern) words.push(h('code', {class: 'pattern'}, seen(r.pattern)));
  return words;
}

function ruleRow(r, tools) {
  return h('tr', {class: r.void ? 'void' : '', data: {rule: r.id}},
    h('td', {class: 'num hits'}, r.hits.calls ? h('b', {}, r.hits.calls.toLocaleString()) : h('span', {class: 'muted'}, '0')),
    h('td', {}, decision(r.decision), r.fallback ? h('span', {class: 'muted small'}, ' by default') : null, r.copy ? h('span', {class: 'muted small'}, ' on a copy') : null),
    h('td', {}, about(r), r.void ? h('span', {class: 'badge warn', title: 'Its file is not trusted, or it changed since you trusted it; see tongs trust'}, 'does not count') : null),
    h('td', {class: 'muted small'}, r.builtIn ? '' : r.origin),
    h('td', {class: 'muted small num'}, r.hits.last ? ago(r.hits.last) : 'never'),
    h('td', {class: 'num'}, tools.saves && !r.void ? h('button', {
      type: 'button', class: 'quiet small', title: 'What would change without this rule?', onclick: () => tools.without(r),
    }, 'Without?') : null));
}

function ruleTable(list, tools) {
  return h('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Rules'}, h('table', {class: 'table rules'},
    h('thead', {}, h('tr', {}, h('th', {class: 'num', scope: 'col'}, 'Calls'), ['Decision', 'About', 'Where'].map(n => h('th', {scope: 'col'}, n)),
      h('th', {class: 'num', scope: 'col'}, 'Last'), h('th', {}, h('span', {class: 'sr'}, 'Actions')))),
    h('tbody', {}, list.map(r => ruleRow(r, tools)))));
}

function rules(p, tools) {
  return h('section', {class: 'panel'}, h('div', {class: 'pad'}, h('h2', {}, 'Rules in force'),
    h('p', {class: 'muted small'}, `Calls each rule applied to, of ${plural(p.calls, 'call')} in the last ${shown}. Blocked is final; the strictest rule wins.`)),
  layers.map(([name, title, hint]) => {
    const list = p.rules.filter(r => source(r) === name);
    const used = name === 'builtin' && !all ? list.filter(r => r.hits.calls) : list;
    if (!list.length && name !== 'user') return null;
    return h('div', {class: 'layer', data: {layer: name}},
      h('div', {class: 'pad head'}, h('h3', {}, title + ' · ' + list.length), h('span', {class: 'muted small'}, hint)),
      used.length ? ruleTable(used, tools) : h('p', {class: 'pad muted small'}, list.length ? 'None of them decided anything.' : 'You have no rules of your own yet. Propose one above.'),
      name === 'builtin' ? h('p', {class: 'pad'}, h('button', {type: 'button', class: 'quiet', onclick: () => { all = !all; load(); }},
        all ? 'Only those that decided something' : 'Show all ' + list.length)) : null);
  }));
}

function grants(p) {
  const list = p.grants;
  return h('section', {class: 'panel', id: 'grants'}, h('div', {class: 'pad'}, h('h2', {}, 'Remembered approvals'),
    h('p', {class: 'muted small'}, 'What you approved for a session or for always. Each lapses when the rules about it change.')),
  list.length ? h('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Remembered approvals'}, h('table', {class: 'table'},
    h('thead', {}, h('tr', {}, h('th', {class: 'num', scope: 'col'}, 'Calls'), ['Tool', 'Covers', 'For', 'Given'].map(n => h('th', {scope: 'col'}, n)), h('th', {}, h('span', {class: 'sr'}, 'Actions')))),
    h('tbody', {}, list.map(g => h('tr', {data: {grant: g.id}},
      h('td', {class: 'num hits'}, g.hits.calls.toLocaleString()),
      h('td', {class: 'mono'}, g.tool),
      h('td', {}, g.covers.map(c => h('code', {class: 'cover'}, seen(c)))),
      h('td', {}, h('span', {class: 'badge ' + (g.scope === 'always' ? 'blue' : '')}, g.scope), ' ', h('span', {class: 'muted small'},
        seen([g.session, ...g.agents].filter(Boolean).join(' › '))), g.here ? null : h('span', {class: 'muted small'}, ' another workspace')),
      h('td', {class: 'muted small', title: when(g.at)}, ago(g.at), g.by ? ' by ' + g.by : ''),
      h('td', {class: 'num'}, h('button', {type: 'button', class: 'danger', onclick: e => revoke(g, e.target)}, 'Revoke'))))))) :
    empty('Nothing is remembered', 'Approve a call for the session or for always, and it appears here.'));
}

async function revoke(g, button) {
  button.disabled = true;
  try {
    await post(`/api/grants/${encodeURIComponent(g.id)}/revoke`);
    toast('Revoked. The next call like it is asked for again.', 'good');
    await load();
  } catch (error) {
    button.disabled = false;
    toast(error.message, 'bad');
  }
}

const table = p => h('details', {class: 'panel pad'}, h('summary', {}, 'How a call is decided'),
  h('p', {class: 'muted small'}, 'Each effect of a call takes these rows from the top; the first that speaks decides it, and the strictest effect decides the call.'),
  h('ol', {class: 'decision-steps'}, p.steps.map(s => h('li', {}, h('b', {}, s.step), ' ', plain(s.when), ' ', h('span', {class: 'muted'}, plain(s.then))))));

// plain shows text with its `words` as code.
const plain = text => text.split('`').map((part, i) => i % 2 ? h('code', {}, part) : part);

let busy = false, again = false;
async function load() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const p = await get('/api/policy', {window: shown});
    $('#mode').textContent = 'mode ' + p.mode;
    fill(content, rules(p, {saves: p.saves, without: r => propose.without(r)}), grants(p), table(p));
  } catch (error) {
    fill(content, failure(error));
  }
  busy = false;
  if (again) { again = false; load(); }
}

for (const c of chips) c.addEventListener('click', () => {
  shown = c.dataset.window;
  mark();
  load();
});
const mark = () => { for (const c of chips) c.setAttribute('aria-pressed', String(c.dataset.window === shown)); };
mark();
const propose = proposer({saved: load});
tester({propose});
load();
stream.on('entries', debounce(load, 4000)).on('questions', debounce(load, 1000)).start();
