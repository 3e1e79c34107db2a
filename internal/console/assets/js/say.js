// How calls, questions, decisions and effects are said and shown.

import {h} from './dom.js';
import {seen, pretty} from './text.js';

// outcome of a row of the log: its word and the colour of it.
export function outcome(row) {
  if (row.close) {
    return {ok: ['done', 'good'], error: ['failed', 'bad'], refused: ['refused', 'warn'], cancelled: ['cancelled', '']}[row.close.outcome] ?? [row.close.outcome, ''];
  }
  if (row.interrupted) return ['interrupted', 'bad'];
  return row.waiting ? ['waiting', 'blue'] : ['running', 'blue'];
}

export const badge = (text, kind = '') => h('span', {class: 'badge ' + kind}, seen(text));

// decision shows a decision.
export const decision = word => badge({preApproved: 'pre-approved', ask: 'ask', blocked: 'blocked'}[word] ?? word, {preApproved: 'good', ask: 'warn', blocked: 'bad'}[word]);

// chain shows on whose behalf a call is made.
export const chain = agents => h('span', {class: 'chain'}, (agents ?? []).flatMap((name, i) => [i ? h('span', {class: 'muted'}, ' → ') : null, h('span', {}, seen(name))]));

// effects lists what a call would do, in plain words.
export function effects(words) {
  if (!words?.length) return h('p', {class: 'muted'}, 'Nothing that is known of.');
  const list = h('ul', {class: 'effects'});
  const max = 200;
  for (const e of words.slice(0, max)) {
    list.append(h('li', {class: e.grave ? 'grave' : ''}, h('span', {}, seen(e.text)), e.why ? h('span', {class: 'muted small'}, ' · ' + seen(e.why)) : null));
  }
  if (words.length > max) list.append(h('li', {class: 'muted'}, 'and ' + (words.length - max) + ' more'));
  return list;
}

const verb = {read: 'read', write: 'write', delete: 'delete', execute: 'run', network: 'connect to'};

// plain says effects as the log has them.
export function plain(list) {
  return (list ?? []).map(e => {
    let target = e.host ?? '';
    if (e.unknown) target = 'something that cannot be told beforehand';
    else if (e.path) target = e.path.root ? '/' + e.path.root + '/' + e.path.rel : e.path.rel;
    else if (e.argv) target = e.argv.map(word => word.slice(word.indexOf('\0') + 1)).join(' ');
    const text = e.sends ? 'send data to ' + target : (verb[e.kind] ?? e.kind) + ' ' + target;
    return {text, grave: e.unknown || e.mustAsk || e.sends || e.kind === 'delete', why: e.why};
  });
}

// commandTree shows a command line taken apart, what is risky marked in its place.
export function commandTree(tree) {
  if (tree.error) return [h('pre', {class: 'code'}, seen(tree.text)), h('p', {class: 'note'}, 'It cannot be read: ' + seen(tree.error))];
  const bytes = new TextEncoder().encode(tree.text), decoder = new TextDecoder();
  const part = (from, to) => seen(decoder.decode(bytes.slice(from, to)));
  const risky = tree.commands.filter(c => c.risk && c.end > c.start).sort((a, b) => a.start - b.start || b.end - a.end);
  const line = h('pre', {class: 'code command'});
  let at = 0;
  for (const c of risky) {
    if (c.start < at) continue;
    line.append(part(at, c.start), h('mark', {title: seen(c.risk)}, part(c.start, c.end)));
    at = c.end;
  }
  line.append(part(at, bytes.length));
  const steps = h('ol', {class: 'steps'});
  for (const c of tree.commands.slice(0, 100)) {
    const li = h('li', {class: c.risk ? 'grave' : ''},
      c.wrappers?.length ? h('span', {class: 'muted mono small'}, seen(c.wrappers.join(' ')) + ' ') : null,
      h('code', {}, seen((c.argv?.length ? c.argv.join(' ') : c.text).slice(0, 2000))),
      c.within ? h('span', {class: 'muted small'}, ' in ' + seen(c.within).slice(0, 200)) : null,
      c.risk ? h('div', {class: 'small why'}, seen(c.risk)) : null);
    li.style.setProperty('--depth', Math.min(c.depth ?? 0, 8));
    steps.append(li);
  }
  return [line, tree.commands.length > 1 || risky.length ? steps : null, tree.notes.map(n => h('p', {class: 'note small'}, seen(n)))];
}

// args shows arguments: short ones in a line each, long texts as they are.
export function args(value, repaired) {
  const names = Object.keys(value ?? {});
  const list = h('dl', {class: 'kv args'});
  for (const name of names) {
    const v = value[name];
    const text = typeof v === 'string' ? seen(v) : pretty(v);
    list.append(h('dt', {class: 'mono'}, seen(name)), h('dd', {}, text.length > 90 || text.includes('\n') ? h('pre', {class: 'code'}, text) : h('code', {}, text)));
  }
  return [names.length ? list : h('p', {class: 'muted'}, 'No arguments.'),
    repaired?.length ? h('p', {class: 'note small'}, 'Repaired: ' + seen(repaired.join('; '))) : null];
}

// answered says how a question was answered.
export function answered(state, answer) {
  if (!answer) return {expired: 'Nobody answered in time.', withdrawn: 'The call that asked was cancelled.'}[state] ?? 'It is over.';
  const who = answer.by ? ' by ' + answer.by : '';
  const scope = answer.approved && answer.scope && answer.scope !== 'once' ? ' (' + answer.scope + ')' : '';
  return seen((answer.approved ? 'Approved' + scope : 'Denied') + who + ', ' + answer.channel + (answer.reason ? ': ' + answer.reason : ''));
}
