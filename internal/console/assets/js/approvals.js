// The page Approvals: the questions that wait, and one of them in full.

import {$, h, fill, ago, bytes, debounce, empty, failure, toast, plural, when} from './dom.js';
import {get, post} from './api.js';
import {stream} from './shell.js';
import {Form} from './form.js';
import {diff, isDiff, lines} from './diff.js';
import {args, answered, badge, chain, commandTree, effects} from './say.js';
import {seen} from './text.js';

// armed is how long a question is on the screen before it can be approved: nobody approves what just appeared under the mouse.
const armed = 400;

let pending = [], recent = [], current = null; // current: the Question that is open
const wide = matchMedia('(min-width: 1081px)');

const kinds = {read: ['reads', ''], write: ['writes', 'blue'], execute: ['runs', 'warn'], destructive: ['destructive', 'bad']};
const kindBadge = kind => badge(...(kinds[kind] ?? [kind, '']));

const section = (title, ...children) => h('section', {}, h('h3', {}, title), children);

// paged shows a preview: at once, or one part after the other where it is longer than that. Only the part on the screen is kept.
function paged(q) {
  if (!q.previewBytes) return diff(q.preview);
  const part = h('div', {class: 'part'}), where = h('span', {class: 'muted small', role: 'status'});
  const before = []; // where the parts began that one can go back to
  let at = 0, next = 0, size = q.previewBytes;
  const button = (id, label, go) => h('button', {type: 'button', class: 'quiet', data: {page: id}, onclick: go}, label);
  const start = button('start', 'Start', () => { before.length = 0; load(0); });
  const back = button('back', 'Back', () => load(before.pop() ?? 0));
  const on = button('next', 'Next', () => { before.push(at); load(next); });
  const end = button('end', 'End', () => { before.push(at); load(Math.max(0, size - 32768)); });
  const load = async offset => {
    try {
      const d = await get('/api/approvals/' + encodeURIComponent(q.id) + '/preview', {offset});
      [at, next, size] = [d.offset, d.next, d.size];
      fill(part, lines(d.text));
      where.textContent = bytes(at) + ' to ' + bytes(next) + ' of ' + bytes(size);
      start.disabled = back.disabled = at === 0;
      on.disabled = end.disabled = next >= size;
    } catch (error) {
      fill(part, failure(error));
    }
  };
  load(0);
  return h('div', {class: 'paged'}, h('div', {class: 'actions'}, start, back, on, end, where), part);
}

// Question is one question on the screen.
class Question {
  #d = null;
  #form = null;
  #body = h('div');
  #foot = h('footer', {class: 'answer pad'});
  #banner = h('div', {role: 'status'});
  #lines = [];
  #reach = {}; // the choices that approve, by how far they reach
  #reason = h('input', {type: 'text', id: 'reason', placeholder: 'Why, for the agent (optional)', 'aria-label': 'Reason', autocomplete: 'off'});
  #approve = null;
  #busy = false;

  constructor(id) {
    this.id = id;
    this.done = false;
    this.el = h('article', {class: 'panel question', 'aria-label': 'Question', data: {question: id}}, this.#banner, this.#body, this.#foot);
    this.#load();
  }

  async #load() {
    try {
      this.#show(await get('/api/approvals/' + encodeURIComponent(this.id)));
    } catch (error) {
      fill(this.#body, h('div', {class: 'pad'}, failure(error)));
    }
  }

  // check looks whether the question still waits, and leaves what is on the screen where it does.
  async check() {
    const d = await get('/api/approvals/' + encodeURIComponent(this.id));
    if (d.state !== 'pending' && !this.done) this.over(d.state, d.question.answer);
  }

  // over shows that the question is no longer pending, and who answered.
  over(state, answer) {
    this.done = true;
    fill(this.#banner, h('p', {class: 'pad over ' + (answer?.approved ? 'good' : 'bad')}, answered(state, answer)));
    this.#foot.hidden = true;
    for (const control of this.#body.querySelectorAll('input, textarea, select, button')) control.disabled = true;
  }

  #show(d) {
    this.#d = d;
    const q = d.question;
    const changes = q.changeCount > 0, head = d.parts.headline;
    fill(this.#body, h('header', {class: 'pad'},
      h('div', {class: 'actions'}, h('h2', {class: 'ask-for'}, h('code', {}, seen(head.tool)), head.source ? h('span', {class: 'muted small'}, seen(head.source)) : null,
        head.target ? h('span', {class: head.grave ? 'grave' : ''}, seen(head.target)) : null, head.size ? h('span', {class: 'size'}, seen(head.size)) : null),
        h('span', {class: 'grow'}), h('span', {class: 'muted small'}, seen([head.asker, head.workspace].filter(Boolean).join(' · '))),
        h('button', {type: 'button', class: 'quiet back', onclick: () => select(null)}, 'Back')),
      (d.parts.warnings ?? []).map(n => h('p', {class: 'note small'}, seen(n))),
      d.parts.offer ? h('p', {class: 'muted small', data: {offer: ''}}, 'To stop being asked about this: ', h('code', {}, seen(d.parts.offer))) : null),
    h('div', {class: 'pad'},
      d.command ? commandTree(d.command) : d.parts.command ? h('pre', {class: 'code command'}, seen(d.parts.command)) : null,
      changes ? this.#changes(q) : null,
      q.preview && (isDiff(q.preview) || q.previewBytes) ? paged(q) : d.parts.text ? h('pre', {class: 'code'}, seen(d.parts.text)) : null,
      this.#arguments(d),
      h('details', {class: 'everything'}, h('summary', {}, 'Details ', h('kbd', {}, '?')),
        q.reason ? h('blockquote', {}, h('span', {class: 'muted small'}, 'The agent says: '), seen(q.reason)) : null,
        changes ? null : section('It would', effects(d.effects)), section('Arguments', args(q.args)), this.#facts(q))));
    this.#answer(q);
    if (d.state !== 'pending') this.over(d.state, q.answer);
  }

  #facts(q) {
    const list = h('dl', {class: 'kv small'});
    const fact = (name, value) => value ? list.append(h('dt', {}, name), h('dd', {}, value)) : null;
    fact('Asked because', seen(q.why));
    fact('Who asks', q.agents?.length ? chain(q.agents) : 'a caller without a name');
    fact('Session', q.session ? h('code', {}, seen(q.session)) : null);
    fact('Workspace', q.workspace ? h('code', {}, seen(q.workspace)) : null);
    fact('Asked', when(q.created) + ', ' + ago(q.created) + '; expires ' + when(q.expires));
    fact('Call', h('a', {href: '/#' + encodeURIComponent(q.call)}, seen(q.call)));
    return section('Where it comes from', list);
  }

  #changes(q) {
    const word = {added: ['new', 'good'], modified: ['changed', 'blue'], deleted: ['deleted', 'bad'], renamed: ['moved', 'blue']};
    const path = p => p.root ? '/' + p.root + '/' + p.rel : p.rel;
    const whole = q.changes?.length === q.changeCount;
    const rows = (q.changes ?? []).slice(0, 500).map(c => h('li', {},
      h('label', {}, h('input', {type: 'checkbox', checked: true, data: {keep: path(c.path)}, disabled: !whole, onchange: () => this.#count()}),
        badge(...(word[c.kind] ?? [c.kind, ''])), h('code', {}, seen(path(c.path))),
        c.from ? h('span', {class: 'muted small'}, 'from ' + seen(path(c.from))) : null,
        c.protected ? h('span', {class: 'why small'}, seen(c.protected)) : null,
        h('span', {class: 'muted small'}, c.below ? 'and ' + plural(c.below, 'more') + ' below, ' + bytes(c.after ?? 0) : c.kind === 'deleted' ? '' : bytes(c.after ?? 0)))));
    this.kept = h('p', {class: 'muted small', role: 'status'});
    return section('It ran on a copy. Which changes do you want to keep?', h('ul', {class: 'changes'}, rows),
      whole ? null : h('p', {class: 'note small'}, 'There are ' + q.changeCount + ' changes, of which ' + (q.changes?.length ?? 0) + ' are listed: keep all of them, or deny.'), this.kept);
  }

  #count() {
    const boxes = [...this.el.querySelectorAll('[data-keep]')], n = boxes.filter(b => b.checked).length;
    this.kept.textContent = n === boxes.length ? '' : n === 0 ? 'None is kept: deny instead.' : plural(n, 'change') + ' of ' + boxes.length + ' are kept.';
    this.#approve.disabled = n === 0;
    this.#label();
  }

  // keep returns the paths to keep, undefined for all of them.
  #keep() {
    const boxes = [...this.el.querySelectorAll('[data-keep]')];
    if (!boxes.length || boxes.every(b => b.checked)) return undefined;
    return boxes.filter(b => b.checked).map(b => b.dataset.keep);
  }

  #arguments(d) {
    const q = d.question;
    const shown = h('div');
    if (!d.editable || d.state !== 'pending') return null;
    const edit = h('button', {type: 'button', class: 'quiet', id: 'edit', onclick: () => {
      if (this.#form) {
        this.#form = null;
        fill(shown);
      } else {
        this.#form = new Form({tool: q.tool, schema: d.schema, value: q.args, change: () => this.#label(), typing: () => { this.#form && (this.#form.valid = false); this.#label(); }});
        fill(shown, this.#form.el);
        this.#form.el.querySelector('input, textarea, select')?.focus();
      }
      edit.replaceChildren(this.#form ? 'Leave as they are' : 'Change the arguments', ' ', h('kbd', {}, 'E'));
      this.#label();
    }}, 'Change the arguments ', h('kbd', {}, 'E'));
    return h('section', {}, shown, edit);
  }

  // edited returns the changed arguments, undefined where they are as asked.
  #edited() {
    if (!this.#form) return undefined;
    const value = this.#form.value();
    return JSON.stringify(value) === JSON.stringify(this.#d.question.args) ? undefined : value;
  }

  #answer(q) {
    const scopes = h('div', {class: 'scopes', role: 'radiogroup', 'aria-label': 'How far it reaches'});
    const values = {yes: 'once', same: 'session', files: 'files', always: 'always'};
    this.#reach = {};
    for (const c of this.#d.parts.choices.filter(c => values[c.name])) {
      this.#reach[values[c.name]] = c;
      scopes.append(h('label', {}, h('input', {type: 'radio', name: 'scope', value: values[c.name], checked: c.name === 'yes', onchange: () => this.#scope(rule)}), c.name === 'yes' ? 'this once' : c.label.replace('…', '')));
    }
    const rule = h('div', {class: 'rule', hidden: true});
    this.#lines = (q.remember ?? []).map(line => h('input', {type: 'text', class: 'mono', value: line, 'aria-label': 'Rule', spellcheck: 'false', oninput: debounce(() => this.#checkLines(), 200)}));
    this.ruleError = h('p', {class: 'wrong small', role: 'status'});
    rule.append(h('p', {class: 'small muted'}, 'This is what will be allowed from then on, for ' + seen(q.tool) + '. You can narrow or widen it.'), ...this.#lines, this.ruleError);
    this.#approve = h('button', {type: 'button', class: 'good', id: 'approve', disabled: true, onclick: () => this.#send(true)}, 'Approve');
    setTimeout(() => { this.#approve.disabled = false; this.#label(); }, armed);
    const deny = h('button', {type: 'button', class: 'danger', id: 'deny', onclick: () => this.#send(false)}, 'Deny ', h('kbd', {}, 'D'));
    this.#reason.addEventListener('keydown', event => { if (event.key === 'Enter') this.#send(false); });
    fill(this.#foot, Object.keys(this.#reach).length > 1 ? scopes : h('p', {class: 'small muted'}, 'This is asked each time, and cannot be remembered.'), rule,
      h('div', {class: 'actions'}, this.#approve, deny, h('span', {class: 'grow'}, this.#reason)));
    this.#label();
  }

  #scopeNow() { return this.el.querySelector('[name=scope]:checked')?.value ?? 'once'; }

  #scope(rule) {
    rule.hidden = this.#scopeNow() !== 'always';
    this.#label();
  }

  #label() {
    if (!this.#approve) return;
    let edited = false, broken = false;
    try { edited = this.#edited() !== undefined; } catch { broken = true; }
    const scope = this.#scopeNow(), keep = this.#keep();
    this.#approve.replaceChildren(edited ? 'Approve the edited call' : keep ? 'Keep ' + plural(keep.length, 'change') : scope === 'once' ? 'Approve' : 'Approve ' + (scope === 'always' ? 'always' : 'for the session'), ' ', h('kbd', {}, 'A'));
    for (const radio of this.el.querySelectorAll('[name=scope]')) radio.disabled = edited && radio.value !== 'once';
    if (edited && scope !== 'once') this.el.querySelector('[name=scope][value=once]').click();
    this.#approve.classList.toggle('invalid', broken || (edited && !this.#form.valid));
    this.#approve.setAttribute('aria-disabled', broken || (edited && !this.#form.valid));
  }

  async #checkLines() {
    const {errors} = await post('/api/rules/check', {lines: this.#lines.map(l => l.value)});
    errors.forEach((text, i) => this.#lines[i].setAttribute('aria-invalid', Boolean(text)));
    this.ruleError.textContent = seen(errors.find(Boolean) ?? '');
  }

  async #send(approved) {
    if (this.#busy || (approved && this.#approve.disabled)) return;
    let body = {approved, reason: this.#reason.value.trim() || undefined};
    if (approved) {
      let edited;
      try { edited = this.#edited(); } catch (error) { return toast(error.message, 'bad'); }
      if (edited && !this.#form.valid) await this.#form.check();
      if (edited && !this.#form.valid) return toast('The edited arguments are not valid yet.', 'bad');
      const reach = this.#scopeNow();
      body = {...body, scope: this.#reach[reach]?.scope ?? 'once', args: edited, keep: this.#keep(),
        remember: reach === 'files' ? this.#reach.files.remember : reach === 'always' && this.#lines.length ? this.#lines.map(l => l.value.trim()).filter(Boolean) : undefined};
    }
    this.#busy = true;
    try {
      const d = await post('/api/approvals/' + encodeURIComponent(this.id) + '/answer', body);
      this.over(d.state, d.question.answer);
      toast(approved ? 'Approved' : 'Denied', approved ? 'good' : '');
      leave(this.id);
    } catch (error) {
      if (error.answered) {
        this.over('answered', error.answered);
        toast('Somebody was first. ' + answered('answered', error.answered), 'ask');
      } else toast(error.message, 'bad');
    } finally {
      this.#busy = false;
    }
  }

  key(name) {
    if (name === 'a') this.#approve?.focus();
    else if (name === 'd') this.#reason.focus();
    else if (name === 'e') this.el.querySelector('#edit')?.click();
    else if (name === '?') this.el.querySelector('.everything')?.toggleAttribute('open');
  }
}

// leave takes an answered question off the queue, and goes on to the next.
function leave(id) {
  pending = pending.filter(q => q.id !== id);
  draw();
  goOn();
}

// pause is how long an answered question stays on the screen before the next one takes its place.
const pause = 900;
let going;

// goOn opens the next question where none is open that waits.
function goOn() {
  clearTimeout(going);
  if (!pending.length || (current && !current.done) || !wide.matches && !current) return;
  const next = () => { if (pending.length && (!current || current.done)) select(pending[0].id); };
  if (current) going = setTimeout(next, pause);
  else next();
}

const card = q => h('button', {type: 'button', class: 'card', data: {id: q.id}, 'aria-current': current?.id === q.id, onclick: () => select(q.id)},
  h('span', {class: 'actions'}, kindBadge(q.kind), h('span', {class: 'grow'}), h('span', {class: 'muted small'}, ago(q.created))),
  h('span', {class: 'say'}, seen(q.what)), q.where ? h('span', {class: 'small muted'}, seen(q.where)) : null);

function draw() {
  fill($('#queue'), pending.length ? pending.map(card) : empty('Nothing waits for you', 'Questions of agents appear here by themselves.'));
  fill($('#recent'), recent.map(q => h('li', {}, h('button', {type: 'button', class: 'quiet', onclick: () => select(q.id)}, badge(q.answer ? (q.answer.approved ? 'approved' : 'denied') : q.state, q.answer?.approved ? 'good' : q.answer ? 'bad' : ''), h('span', {class: 'say'}, seen(q.what)), h('span', {class: 'muted small'}, q.answer ? seen(q.answer.by || q.answer.channel) + ', ' + ago(q.answer.at) : ago(q.created))))));
  $('#past').hidden = recent.length === 0;
  $('#split').classList.toggle('open', current !== null);
}

function select(id) {
  if (current?.id === id) return;
  current = id ? new Question(id) : null;
  fill($('#side'), current?.el);
  $('#side').hidden = !current;
  history.replaceState(null, '', id ? '#' + encodeURIComponent(id) : '/approvals');
  draw();
}

async function load() {
  try {
    const list = await get('/api/approvals');
    pending = list.pending;
    recent = list.recent;
    draw();
  } catch (error) {
    fill($('#queue'), failure(error));
  }
}

stream.on('questions', news => {
  pending = news.pending;
  for (const q of news.ended) if (current?.id === q.id) current.over(q.state, q.answer);
  if (current && !current.done && !pending.some(q => q.id === current.id)) current.check().catch(() => {}); // answered while we were away
  draw();
  goOn();
  if (news.ended.length) load();
});

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape') return document.activeElement.blur();
  if (/INPUT|TEXTAREA|SELECT/.test(event.target.tagName) && event.target.type !== 'radio' && event.target.type !== 'checkbox') return;
  const at = pending.findIndex(q => q.id === current?.id);
  if (event.key === 'j') select((pending[at + 1] ?? pending[0])?.id ?? null);
  else if (event.key === 'k') select((pending[at - 1] ?? pending.at(-1))?.id ?? null);
  else if ('ade?'.includes(event.key)) current?.key(event.key);
  else return;
  event.preventDefault();
});

const notify = $('#notify');
if ('Notification' in window && Notification.permission === 'default') {
  notify.hidden = false;
  notify.addEventListener('click', async () => {
    await Notification.requestPermission();
    notify.hidden = true;
  });
}
addEventListener('hashchange', () => { if (location.hash.length > 1) select(decodeURIComponent(location.hash.slice(1))); });

await load();
if (location.hash.length > 1) select(decodeURIComponent(location.hash.slice(1)));
stream.start();
setInterval(draw, 30000);
