// One call, in full: used by the page Live and, for a call that was just made, by Tools.

import {h, fill, duration, bytes, when, failure, toast} from './dom.js';
import {get, post, save} from './api.js';
import {Output} from './ansi.js';
import {diff, isDiff} from './diff.js';
import {args, answered, badge, chain, commandTree, decision, effects, outcome, plain} from './say.js';
import {pretty, seen} from './text.js';

const section = (title, ...children) => h('section', {}, h('h3', {}, title), children);

// CallView shows a call and keeps that up to date. Give it the events of the stream.
export class CallView {
  #id;
  #close;
  #output = null;
  #detail = null;
  #explained = h('div');
  #turn = 0;
  #stale = false;
  #failed = false;

  constructor(id, close) {
    this.#id = id;
    this.#close = close;
    this.el = h('article', {class: 'panel call', 'aria-label': 'Call', data: {call: id}}, h('p', {class: 'pad muted'}, 'Loading'));
    this.load();
  }

  get id() { return this.#id; }

  async load() {
    const turn = ++this.#turn;
    this.#failed = false;
    try {
      const detail = await get('/api/calls/' + encodeURIComponent(this.#id));
      if (turn !== this.#turn) return;
      this.#show(detail);
      if (this.#stale) { // something happened while we asked
        this.#stale = false;
        this.load();
      }
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#failed = true;
      fill(this.el, h('div', {class: 'pad'}, failure(error)));
    }
  }

  // output takes news of what the call prints.
  output(news) {
    if (news.call !== this.#id || !this.#output) return;
    this.#output.take(news);
    this.#output.el.closest('section').hidden = false;
  }

  // entries takes news of the log.
  entries(list) {
    if (!this.#detail) {
      this.#stale = true;
      if (this.#failed) this.load();
      return;
    }
    const row = this.#detail.row.seq;
    if (list.some(e => e.row === row && e.kind !== 'open' || e.kind === 'open' && (e.data.call === this.#id || e.data.parent === this.#id))) this.load();
  }

  #show(d) {
    this.#detail = d;
    const {row} = d;
    row.waiting = d.state?.waiting && !row.close ? d.state.waiting : '';
    const [word, kind] = outcome(row);
    const keepOutput = this.#output;
    fill(this.el,
      h('header', {class: 'pad call-head'},
        h('div', {class: 'actions'}, badge(word, kind), row.close?.code ? badge(row.close.code, kind) : null, h('span', {class: 'grow'}),
          d.mine ? h('button', {type: 'button', class: 'danger', onclick: () => this.#cancel()}, 'Cancel') : null,
          h('button', {type: 'button', class: 'quiet', onclick: () => this.#explain()}, 'Explain'),
          h('a', {class: 'button quiet', href: '/tools#' + new URLSearchParams({tool: row.intent?.tool ?? row.tool, call: row.call})}, 'Replay'),
          this.#close ? h('button', {type: 'button', class: 'quiet', 'aria-label': 'Close', onclick: this.#close}, '✕') : null),
        h('h2', {}, seen(row.close?.title || d.state?.title || row.tool)),
        row.close?.error ? h('p', {class: 'failure'}, seen(row.close.error)) : null,
        row.waiting ? h('p', {}, h('a', {href: '/approvals#' + encodeURIComponent(row.waiting)}, 'It waits for an answer')) : null),
      h('div', {class: 'pad'}, this.#explained, this.#sections(d, keepOutput)));
  }

  #sections(d, output) {
    const {row} = d, parts = [];
    parts.push(this.#facts(d));
    parts.push(section('Arguments', args(row.args, row.intent?.repaired)));
    if (row.intent) {
      parts.push(section('Effects', effects(plain(row.intent.effects))));
      parts.push(section('Decision', h('p', {}, decision(row.intent.decision), ' ', h('span', {class: 'mono small'}, seen(row.intent.by))),
        row.intent.answered ? h('p', {class: 'small muted'}, 'Answered by ' + seen(row.intent.answered)) : null,
        d.question?.preview ? h('details', {open: isDiff(d.question.preview)}, h('summary', {}, 'What was shown to the person'), diff(d.question.preview)) : null));
    }
    parts.push(this.#outputs(d, output));
    if (d.result) parts.push(this.#result(d.result, d));
    if (d.files.length) parts.push(section('Files', h('ul', {class: 'files'}, d.files.map(f => h('li', {},
      h('button', {type: 'button', class: 'quiet', onclick: () => this.#save(f.name)}, seen(f.name)), h('span', {class: 'muted small'}, bytes(f.size)))))));
    if (d.children.length) parts.push(section('Calls that it made', h('ul', {class: 'files'}, d.children.map(c => h('li', {},
      h('a', {href: '/#' + encodeURIComponent(c.call)}, seen(c.tool)), ' ', badge(...outcome(c)), ' ', h('span', {class: 'muted small'}, seen(c.close?.title ?? '')))))));
    if (!d.known && row.close) parts.push(h('p', {class: 'muted small'}, 'Another process made this call, so that its result is not here: the log keeps what was decided and how it ended.'));
    return parts;
  }

  #facts(d) {
    const {row} = d, list = h('dl', {class: 'kv'});
    const fact = (name, value) => value ? list.append(h('dt', {}, name), h('dd', {}, value)) : null;
    fact('Tool', [h('code', {}, seen(row.intent?.tool ?? row.tool)), row.intent && row.intent.tool !== row.tool ? h('span', {class: 'muted'}, ' called as ' + seen(row.tool)) : null]);
    fact('Agent', row.agents?.length ? chain(row.agents) : null);
    fact('Session', row.session ? h('code', {}, seen(row.session)) : null);
    fact('Reason', row.reason ? seen(row.reason) : null);
    fact('Started', when(row.started));
    if (row.close) fact('Took', duration(row.close.total) + (row.close.waited ? ', of which ' + duration(row.close.waited) + ' waiting for a person' : ''));
    if (row.close?.output) fact('Output', bytes(row.close.output) + ', of which the model was given ' + bytes(row.close.shown));
    fact('Network', row.close?.connections?.length ? h('ul', {class: 'plain'}, row.close.connections.map(c => h('li', {class: 'mono small'}, seen(c)))) : null);
    fact('Call', h('code', {}, seen(row.call)));
    return list;
  }

  // outputs keeps the box that output streams into.
  #outputs(d, old) {
    if (!d.output) return null;
    if (!old) {
      this.#output = old = new Output();
      if (d.output.parts.length) old.take(d.output);
    } else old.take(d.output);
    return h('section', {hidden: old.size === 0}, h('h3', {}, 'Output'), old.el);
  }

  #result(res, d) {
    const parts = [];
    const text = res.display || res.content || '';
    if (isDiff(text)) parts.push(diff(text));
    else if (text && !(d.output?.parts.length && !res.display)) parts.push(new Output().text(text.slice(-300000)).el);
    else if (text) parts.push(h('details', {}, h('summary', {}, 'What the model was given'), new Output().text(text.slice(-300000)).el));
    if (res.value !== undefined) parts.push(h('details', {}, h('summary', {}, 'Value'), h('pre', {class: 'code'}, pretty(res.value).slice(0, 100000))));
    if (res.metadata) parts.push(h('details', {}, h('summary', {}, 'Metadata'), h('pre', {class: 'code'}, pretty(res.metadata).slice(0, 50000))));
    for (const a of res.attachments ?? []) parts.push(attachment(a));
    return parts.length ? section('Result', parts) : null;
  }

  async #explain() {
    const {row} = this.#detail;
    try {
      const e = await post('/api/explain', {tool: row.tool, args: row.args ?? {}});
      fill(this.#explained, explanation(e, 'How the same call would be decided now'));
    } catch (error) {
      fill(this.#explained, failure(error));
    }
  }

  async #cancel() {
    try { await post('/api/calls/' + encodeURIComponent(this.#id) + '/cancel'); } catch (error) { toast(error.message, 'bad'); }
  }

  async #save(name) {
    try { await save('/api/calls/' + encodeURIComponent(this.#id) + '/files/' + encodeURIComponent(name), this.#id + '-' + name); } catch (error) { toast(error.message, 'bad'); }
  }
}

// explanation shows how a call would be decided.
export function explanation(e, title) {
  return h('section', {class: 'explained'}, h('h3', {}, title),
    h('p', {}, decision(e.decision), ' ', seen(e.reason)),
    e.deferred ? h('p', {class: 'small muted'}, 'It would run on a copy first, and what it changes there would be decided then.') : null,
    h('p', {class: 'mono small muted'}, seen(e.rule)),
    effects(e.words), e.command ? commandTree(e.command) : null);
}

// attachment shows an image, or offers a file.
function attachment(a) {
  const name = seen(a.name || 'attachment');
  if (!a.data) return h('p', {class: 'small muted'}, name + ', ' + bytes(a.size) + ': see files');
  const url = URL.createObjectURL(new Blob([Uint8Array.from(atob(a.data), c => c.charCodeAt(0))], {type: /^image\/(png|jpeg|gif|webp)$/.test(a.mime) ? a.mime : 'application/octet-stream'}));
  if (/^image\/(png|jpeg|gif|webp)$/.test(a.mime)) return h('figure', {class: 'shot'}, h('img', {src: url, alt: name}), h('figcaption', {class: 'muted small'}, name + ', ' + bytes(a.size)));
  return h('p', {}, h('a', {href: url, download: a.name || 'attachment'}, name), h('span', {class: 'muted small'}, ' ' + bytes(a.size)));
}
