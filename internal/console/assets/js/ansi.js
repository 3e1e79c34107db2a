// Output of programs, with colours. What is kept on the page is bounded, however much comes.

import {h, bytes} from './dom.js';
import {seen} from './text.js';

const maxLines = 2000, maxLine = 4000, maxSpans = 120;

// A sequence of a terminal: CSI, OSC and the like up to their end, or two characters.
const escape = /\u001b(?:\[[0-?]*[ -\/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -\/]*[0-~])/y;
const begun = /\u001b(?:\[[0-?]*[ -\/]*|[\]PX^_][^\u0007\u001b]{0,4096}\u001b?|[ -\/]*)?$/;

// basic is the nearest of the eight colours.
function basic(r, g, b) {
  const max = Math.max(r, g, b), min = Math.min(r, g, b);
  if (max - min < 40) return max > 140 ? 7 : 0;
  return (r > (max + min) / 2 ? 1 : 0) | (g > (max + min) / 2 ? 2 : 0) | (b > (max + min) / 2 ? 4 : 0);
}

function extended(codes, i) {
  if (codes[i + 1] === 5) {
    const n = codes[i + 2] ?? 0;
    if (n < 16) return [n % 8, i + 2];
    if (n > 231) return [n > 243 ? 7 : 0, i + 2];
    const c = n - 16;
    return [basic(Math.floor(c / 36) * 51, Math.floor(c / 6) % 6 * 51, c % 6 * 51), i + 2];
  }
  if (codes[i + 1] === 2) return [basic(codes[i + 2] ?? 0, codes[i + 3] ?? 0, codes[i + 4] ?? 0), i + 4];
  return [undefined, i + 1];
}

// Output is a box that output is added to.
export class Output {
  #box = h('div', {class: 'out-lines'});
  #more = h('div', {class: 'out-more muted small', hidden: true});
  #style = {};
  #line = null;
  #rest = '';
  #dropped = 0;
  #total = 0;
  #from = null;

  constructor() {
    this.el = h('div', {class: 'out mono', tabindex: 0, role: 'log', 'aria-label': 'Output'}, this.#more, this.#box);
  }

  // take adds a piece of news: parts that begin somewhere in the whole output. What is known already is left out.
  take(news) {
    let at = news.from;
    if (this.#from === null) {
      this.#from = at;
      if (at > 0) this.#gap(at);
    } else if (at > this.#total) this.#gap(at - this.#total);
    const bottom = this.el.scrollTop + this.el.clientHeight >= this.el.scrollHeight - 30;
    for (const part of news.parts) {
      const size = utf8(part.text);
      if (at + size > this.#total || this.#total === 0) {
        const text = at < this.#total ? cut(part.text, this.#total - at) : part.text;
        this.#add(text, part.stream);
      }
      at += size;
    }
    this.#total = Math.max(this.#total, at);
    this.#trim();
    if (bottom) this.el.scrollTop = this.el.scrollHeight;
  }

  // text shows a text as a whole.
  text(text) {
    this.take({from: 0, parts: [{stream: 'stdout', text}]});
    return this;
  }

  get size() { return this.#total; }

  #gap(n) {
    this.#open('note').append('… ' + bytes(n) + ' are not shown here …');
    this.#line = null;
  }

  #open(kind) {
    this.#line = h('div', {class: 'ln' + (kind === 'stderr' ? ' err' : kind === 'note' ? ' muted' : '')});
    this.#box.append(this.#line);
    return this.#line;
  }

  #add(text, stream) {
    text = this.#rest + text;
    this.#rest = '';
    const open = begun.exec(text);
    if (open && open[0].length < 4200) {
      this.#rest = open[0];
      text = text.slice(0, open.index);
    }
    let from = 0;
    for (let i = 0; i <= text.length; i++) {
      const c = text[i];
      if (c !== undefined && c !== '\n' && c !== '\u001b' && c !== '\r') continue;
      this.#put(text.slice(from, i), stream);
      from = i + 1;
      if (c === '\n') {
        if (!this.#line) this.#open(stream);
        this.#line = null;
      } else if (c === '\r') {
        if (text[i + 1] !== '\n' && i + 1 < text.length && this.#line) this.#line.replaceChildren();
      } else if (c === '\u001b') {
        escape.lastIndex = i;
        const m = escape.exec(text);
        if (m) {
          if (m[0][1] === '[' && m[0].endsWith('m')) this.#sgr(m[0].slice(2, -1));
          i += m[0].length - 1;
          from = i + 1;
        }
      }
    }
  }

  #put(text, stream) {
    if (!text) return;
    const line = this.#line ?? this.#open(stream);
    const length = Number(line.dataset.n ?? 0);
    if (length >= maxLine || line.childNodes.length >= maxSpans) {
      if (!line.dataset.cut) {
        line.dataset.cut = 1;
        line.append(h('span', {class: 'muted'}, ' … the rest of the line is not shown'));
      }
      return;
    }
    text = text.slice(0, maxLine - length);
    line.dataset.n = length + text.length;
    const s = this.#style;
    const names = [];
    if (s.fg !== undefined) names.push('f' + s.fg);
    if (s.bg !== undefined) names.push('b' + s.bg);
    for (const word of ['bold', 'dim', 'italic', 'under']) if (s[word]) names.push(word);
    line.append(names.length ? h('span', {class: names.join(' ')}, seen(text)) : seen(text));
  }

  #sgr(text) {
    const codes = text.split(/[;:]/).map(n => Number(n) || 0);
    for (let i = 0; i < codes.length; i++) {
      const n = codes[i], s = this.#style;
      if (n === 0) this.#style = {};
      else if (n === 1) s.bold = true;
      else if (n === 2) s.dim = true;
      else if (n === 3) s.italic = true;
      else if (n === 4) s.under = true;
      else if (n === 22) s.bold = s.dim = false;
      else if (n === 23) s.italic = false;
      else if (n === 24) s.under = false;
      else if (n >= 30 && n < 38) s.fg = n - 30;
      else if (n >= 90 && n < 98) s.fg = n - 90;
      else if (n >= 40 && n < 48) s.bg = n - 40;
      else if (n >= 100 && n < 108) s.bg = n - 100;
      else if (n === 39) s.fg = undefined;
      else if (n === 49) s.bg = undefined;
      else if (n === 38 || n === 48) {
        const [colour, next] = extended(codes, i);
        s[n === 38 ? 'fg' : 'bg'] = colour;
        i = next;
      }
    }
  }

  #trim() {
    while (this.#box.childElementCount > maxLines) {
      this.#box.firstChild.remove();
      this.#dropped++;
    }
    this.#more.hidden = this.#dropped === 0;
    this.#more.textContent = 'Only the last ' + maxLines + ' lines are shown; ' + this.#dropped + ' are not.';
  }
}

const encoder = new TextEncoder(), decoder = new TextDecoder();
const utf8 = text => encoder.encode(text).length;
const cut = (text, n) => decoder.decode(encoder.encode(text).slice(n));
