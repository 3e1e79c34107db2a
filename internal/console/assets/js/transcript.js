// A run of a worker, readable: what was said, thought, called and answered.

import {h, when, plural} from './dom.js';
import {time, tokens, money, outcome} from './words.js';
import {seen} from './text.js';

const marks = {pending: '○', in_progress: '◐', completed: '●', cancelled: '⊘'};
const spoken = {pending: 'to do', in_progress: 'in progress', completed: 'done', cancelled: 'cancelled'};

// todoList shows what a run has to do.
export function todoList(items) {
  if (!items.length) return null;
  const done = items.filter(i => i.status === 'completed').length;
  return h('section', {class: 'panel pad todos', 'aria-label': 'Todos'}, h('h3', {}, `Todos · ${done} of ${items.length} done`),
    h('ul', {}, items.map(i => h('li', {class: i.status}, h('span', {class: 'mark-' + i.status, role: 'img', 'aria-label': spoken[i.status] ?? i.status}, marks[i.status] ?? '○'), ' ',
      seen(i.status === 'in_progress' && i.activeForm ? i.activeForm : i.content)))));
}

// transcript shows the steps of a run. Results stand with the calls that they answer.
export function transcript(r, d) {
  const results = new Map();
  for (const e of r.entries) for (const p of e.parts) if (p.kind === 'result') results.set(p.id, p);
  const steps = [];
  if (r.left) steps.push(h('p', {class: 'muted small'}, plural(r.left, 'older step') + ' not shown.'));
  for (const e of r.entries) {
    const parts = e.parts.filter(p => p.kind !== 'result');
    if (!parts.length) continue;
    steps.push(message(e, parts, results, d));
  }
  const run = r.run;
  return h('section', {class: 'transcript', 'aria-label': 'Transcript of ' + run.worker},
    h('p', {class: 'muted small'}, `${run.worker}, ${run.model}: ${plural(run.turns, 'turn')}, ${tokens(run.usage.input)} tokens in and ${tokens(run.usage.output)} out`,
      run.cost ? `, ${money(run.cost, run.priced)} with what it delegated` : '', run.files ? `; changed ${plural(run.files, 'file')} (${plural(run.lines, 'line')})` : ''),
    steps, run.why ? h('p', {class: run.state === 'failed' ? 'failure' : 'note'}, seen(run.why)) : null);
}

function message(e, parts, results, d) {
  const mine = e.role === 'assistant';
  return h('article', {class: 'message ' + (mine ? 'model' : 'person')},
    h('header', {class: 'muted small'}, h('b', {}, mine ? e.model || 'Model' : e.role === 'system' ? 'Instructions' : 'Asked'), h('span', {}, when(e.at)),
      mine && e.usage.output ? h('span', {}, `${tokens(e.usage.input)} → ${tokens(e.usage.output)} tokens`) : null, mine && e.tookMs ? h('span', {}, time(e.tookMs)) : null),
    parts.map(p => part(p, results, d)));
}

function part(p, results, d) {
  const rest = p.cut ? h('p', {class: 'muted small'}, plural(p.cut, 'more byte') + ' not shown') : null;
  switch (p.kind) {
    case 'thinking': return h('details', {class: 'thinking'}, h('summary', {}, 'Thought'), h('pre', {}, seen(p.text)), rest);
    case 'call': return call(p, results.get(p.id), d);
    case 'image': return h('p', {class: 'muted'}, 'an image, ' + p.text);
    default: return [h('pre', {class: 'said'}, seen(p.text)), rest];
  }
}

function call(p, result, d) {
  const delegated = result?.run && d.runs.some(r => r.id === result.run);
  return h('details', {class: 'called' + (result?.code ? ' failed' : ''), data: {tool: p.tool}},
    h('summary', {}, h('span', {class: 'mono'}, seen(p.tool)), ' ', h('span', {class: 'title'}, result?.title && result.title !== p.tool ? seen(result.title) : ''),
      result ? result.code ? h('span', {class: 'badge bad'}, result.code) : null : outcome('running'),
      h('span', {class: 'muted small took'}, result?.tookMs ? time(result.tookMs) : '')),
    h('div', {class: 'inside'},
      h('h3', {}, 'Arguments'), h('pre', {class: 'code'}, pretty(p.text)),
      result ? [h('h3', {}, 'Answer'), h('pre', {class: 'code'}, seen(result.text)), result.cut ? h('p', {class: 'muted small'}, plural(result.cut, 'more byte') + ' not shown') : null] : null,
      result?.changed.length ? h('p', {class: 'small'}, 'Changed ', result.changed.map(c => h('span', {class: 'changed'}, h('code', {}, seen(c.path)), ` +${c.added} −${c.removed} `))) : null,
      h('p', {class: 'small'}, result?.call ? h('a', {href: '/#' + encodeURIComponent(result.call)}, 'The call in the log') : null,
        delegated ? [' ', h('a', {href: '#' + encodeURIComponent(d.session.id) + '/' + encodeURIComponent(result.run)}, 'What the worker did')] : null)));
}

// pretty sets JSON out in lines; anything else stays as it is.
function pretty(text) {
  try {
    return seen(JSON.stringify(JSON.parse(text), null, 2));
  } catch {
    return seen(text);
  }
}
