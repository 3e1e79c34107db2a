// The page Tools: what can be called, and trying it.

import {$, h, fill, debounce, empty, failure, toast, plural} from './dom.js';
import {get, post} from './api.js';
import {stream} from './shell.js';
import {Form} from './form.js';
import {CallView, explanation} from './call.js';
import {diff} from './diff.js';
import {badge, decision} from './say.js';
import {pretty, seen} from './text.js';

let tools = [], current = null, view = null;

const groups = {builtin: 'Built in', forge: 'Forge', module: 'Modules', mcp: 'MCP servers', worker: 'Workers'};
const ready = t => t.callable && t.state.status === 'ready';
const stateBadge = t => badge(t.state.status, ready(t) ? 'good' : /changed|quarantin|not/.test(t.state.status) ? 'warn' : 'bad');

function draw() {
  const words = $('#search').value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = t => words.every(w => (t.name + ' ' + t.title + ' ' + t.description + ' ' + t.toolset + ' ' + t.aliases.join(' ')).toLowerCase().includes(w));
  const box = $('#catalogue');
  fill(box);
  for (const kind of Object.keys(groups)) {
    const list = tools.filter(t => (t.source.kind ?? 'builtin') === kind && fits(t));
    if (!list.length) continue;
    box.append(h('h3', {}, groups[kind] + ' · ' + list.length), h('ul', {class: 'cards'}, list.map(t => h('li', {}, h('button', {type: 'button', class: 'card', data: {tool: t.name}, 'aria-current': current?.name === t.name, onclick: () => select(t.name)},
      h('span', {class: 'actions'}, h('code', {class: 'name'}, seen(t.name)), ready(t) ? null : stateBadge(t), h('span', {class: 'grow'}), t.stats.calls ? h('span', {class: 'muted small'}, plural(t.stats.calls, 'call')) : null),
      h('span', {class: 'small muted say'}, seen(t.description)))))));
  }
  if (!box.childElementCount) box.append(empty('No tool fits'));
  $('#split').classList.toggle('open', current !== null);
}

// args lists the arguments of a schema.
function schemaTable(schema) {
  const names = Object.keys(schema?.properties ?? {});
  if (!names.length) return h('p', {class: 'muted'}, 'It takes no arguments.');
  const required = new Set(schema.required ?? []);
  const type = p => p.enum ? p.enum.map(w => JSON.stringify(w)).join(' | ') : [p.type ?? 'any'].flat().filter(t => t !== 'null').join(' or ');
  return h('table', {class: 'table'}, h('thead', {}, h('tr', {}, h('th', {}, 'Argument'), h('th', {}, 'Type'), h('th', {}, 'What it is'))),
    h('tbody', {}, names.map(n => h('tr', {}, h('td', {class: 'mono'}, seen(n), required.has(n) ? h('span', {class: 'muted'}, ' *') : null),
      h('td', {class: 'small'}, seen(type(schema.properties[n]))), h('td', {class: 'small'}, seen(schema.properties[n].description ?? ''), schema.properties[n].default !== undefined ? h('span', {class: 'muted'}, ' Default ' + seen(JSON.stringify(schema.properties[n].default)) + '.') : null)))));
}

function facts(t) {
  const list = h('dl', {class: 'kv'});
  const fact = (name, value) => list.append(h('dt', {}, name), h('dd', {}, value));
  fact('Permissions', t.needs.length || t.optional.length ? [t.needs.map(n => [badge(n), ' ']), t.optional.map(n => [badge(n + ', optional'), ' '])] : 'none');
  fact('Where no rule speaks', decision(t.default));
  if (t.aliases.length) fact('Also called', t.aliases.map((a, i) => [i ? ', ' : '', h('code', {}, seen(a))]));
  if (t.source.kind && t.source.kind !== 'builtin') fact('Source', [t.source.kind, ' ', h('code', {}, seen(t.source.name ?? '')), t.source.digest ? h('div', {class: 'mono small muted'}, seen(t.source.digest)) : null]);
  const s = t.stats;
  fact('Last week', s.calls ? plural(s.calls, 'call') + ', ' + s.errors + ' failed, ' + s.refused + ' refused, ' + s.asked + ' asked; p50 ' + s.p50Milliseconds + ' ms, p95 ' + s.p95Milliseconds + ' ms' : 'not used');
  return list;
}

function state(t) {
  if (ready(t)) return null;
  return h('section', {class: 'state-box'}, h('p', {}, stateBadge(t), ' ', seen(t.state.detail || 'It cannot be used as it is.')),
    t.state.next ? h('p', {class: 'small'}, 'Next, in a terminal: ', h('code', {}, seen(t.state.next))) : null,
    t.state.diff ? h('details', {open: true}, h('summary', {}, 'What would be approved'), diff(t.state.diff)) : null);
}

// trial is the form to try a tool, with its plan before it runs.
function trial(t, value) {
  const plan = h('div', {class: 'plan', 'aria-live': 'polite'}), result = h('div');
  const run = h('button', {type: 'button', class: 'primary', id: 'run', disabled: true}, 'Run');
  let turn = 0;
  const explain = debounce(async value => {
    const mine = ++turn;
    try {
      const e = await post('/api/explain', {tool: t.name, args: value});
      if (mine !== turn) return;
      fill(plan, explanation(e, 'What would happen'));
      run.disabled = e.decision === 'blocked';
      run.textContent = e.decision === 'ask' && !e.deferred ? 'Run, and ask for approval' : e.decision === 'blocked' ? 'Blocked' : 'Run';
    } catch (error) {
      if (mine !== turn) return;
      fill(plan, failure(error));
      run.disabled = true;
    }
  }, 100);
  const form = new Form({
    tool: t.name, schema: t.input, value,
    typing: () => { turn++; run.disabled = true; },
    change: (valid, value) => {
      if (valid) return explain(value);
      turn++;
      run.disabled = true;
      fill(plan);
    },
  });
  run.addEventListener('click', async () => {
    run.disabled = true;
    try {
      const {call} = await post('/api/call', {tool: t.name, args: form.value()});
      view = new CallView(call);
      stream.output(call);
      fill(result, h('h3', {}, 'The call'), view.el);
      result.scrollIntoView({block: 'nearest'});
    } catch (error) {
      toast(error.message, 'bad');
    } finally {
      run.disabled = false;
    }
  });
  return h('section', {class: 'try'}, h('h3', {}, 'Try it'), form.el, plan, h('div', {class: 'actions'}, run), result);
}

function select(name, value) {
  current = tools.find(t => t.name === name) ?? null;
  view = null;
  if (current) {
    const t = current;
    fill($('#side'), h('article', {class: 'panel pad tool', data: {tool: t.name}},
      h('div', {class: 'actions'}, h('h2', {class: 'mono'}, seen(t.name)), ready(t) ? null : stateBadge(t), t.readOnly ? badge('only reads', 'good') : null, t.destructive ? badge('can destroy', 'bad') : null,
        h('span', {class: 'grow'}), h('button', {type: 'button', class: 'quiet', 'aria-label': 'Close', onclick: () => select(null)}, '✕')),
      h('p', {}, seen(t.description)), state(t), facts(t),
      t.callable ? trial(t, value) : null,
      h('section', {}, h('h3', {}, 'Arguments'), schemaTable(t.input),
        t.input ? h('details', {}, h('summary', {}, 'Schema'), h('pre', {class: 'code'}, pretty(t.input))) : null,
        t.output ? h('details', {}, h('summary', {}, 'Schema of the value'), h('pre', {class: 'code'}, pretty(t.output))) : null)));
  }
  $('#side').hidden = !current;
  history.replaceState(null, '', current ? '#' + new URLSearchParams({tool: name}) : '/tools');
  draw();
}

// arrive opens what the address names: a tool, and the arguments of a call to make again.
async function arrive() {
  const want = new URLSearchParams(location.hash.slice(1));
  if (!want.get('tool')) return;
  let value;
  if (want.get('call')) {
    try {
      value = (await get('/api/calls/' + encodeURIComponent(want.get('call')))).row.args;
      if (JSON.stringify(value).includes('sha256')) toast('Long or secret values are not kept in the log: fill them in again.', 'ask');
    } catch (error) {
      toast(error.message, 'bad');
    }
  }
  select(want.get('tool'), value);
}

stream.on('entries', entries => view?.entries(entries));
stream.on('output', news => view?.output(news));
stream.on('state', up => { if (up) view?.load(); }); // what came in between
stream.on('progress', list => { if (view && list.some(p => p.call === view.id && (p.waiting || p.ended))) view.load(); });
$('#search').addEventListener('input', debounce(draw, 100));
addEventListener('hashchange', arrive);

try {
  tools = (await get('/api/tools')).tools;
  draw();
  await arrive();
} catch (error) {
  fill($('#catalogue'), failure(error));
}
stream.start();
