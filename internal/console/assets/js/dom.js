// Small helpers to build what is shown. Text is only ever set as text: nothing here parses markup, and the page's policy
// forbids it.

// h makes an element: h('p', {class: 'note', onclick: f, hidden: true}, 'text', child, [more]).
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value);
    else if (name === 'class') el.className = value;
    else if (name === 'data') Object.assign(el.dataset, value);
    else if (name === 'value' || name === 'checked' || name === 'selected') el[name] = value;
    else el.setAttribute(name, value === true && !name.startsWith('aria-') ? '' : String(value));
  }
  add(el, children);
  return el;
}

// add appends children: nodes, text, lists of them; nothing for null and false.
export function add(el, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    el.append(child);
  }
  return el;
}

// fill replaces what is in an element.
export function fill(el, ...children) {
  el.replaceChildren();
  return add(el, children);
}

// svg makes an element of a drawing.
export function svg(tag, props, ...children) {
  const el = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, String(value));
  }
  return add(el, children);
}

export const $ = (selector, from = document) => from.querySelector(selector);

// icon shows a symbol of the layout.
export const icon = name => svg('svg', {class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true'}, svg('use', {href: '#i-' + name}));

// The times of rows are durations of Go: nanoseconds.
export function duration(ns) {
  const ms = ns / 1e6;
  if (ms < 1) return '<1 ms';
  if (ms < 1000) return Math.round(ms) + ' ms';
  const s = ms / 1000;
  if (s < 60) return s.toFixed(s < 10 ? 1 : 0) + ' s';
  const m = Math.floor(s / 60);
  if (m < 60) return m + ' min ' + Math.round(s % 60) + ' s';
  return Math.floor(m / 60) + ' h ' + (m % 60) + ' min';
}

export function bytes(n) {
  if (n < 1000) return n + ' B';
  for (const unit of ['KB', 'MB', 'GB']) {
    n /= 1000;
    if (n < 1000 || unit === 'GB') return (n < 10 ? n.toFixed(1) : Math.round(n)) + ' ' + unit;
  }
}

export const plural = (n, word) => n + ' ' + word + (n === 1 ? '' : 's');

const clock = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false});
const day = new Intl.DateTimeFormat(undefined, {month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hour12: false});

// when says a moment: the time of today, else the date.
export function when(text) {
  const at = new Date(text);
  return at.toDateString() === new Date().toDateString() ? clock.format(at) : day.format(at);
}

export function ago(text) {
  const s = Math.max(0, (Date.now() - new Date(text)) / 1000);
  if (s < 5) return 'just now';
  if (s < 60) return Math.floor(s) + ' s ago';
  if (s < 3600) return Math.floor(s / 60) + ' min ago';
  if (s < 86400) return Math.floor(s / 3600) + ' h ago';
  return Math.floor(s / 86400) + ' d ago';
}

// debounce calls f when it was not called for a while.
export function debounce(f, ms) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), ms);
  };
}

// toast tells something in passing.
export function toast(text, kind = '') {
  const box = document.getElementById('toasts');
  const el = h('div', {class: 'toast ' + kind}, text);
  box.append(el);
  while (box.children.length > 4) box.firstChild.remove();
  setTimeout(() => el.remove(), 6000);
}

// fail shows an error where a page, or a part of it, would be.
export const failure = error => h('div', {class: 'failure', role: 'alert'}, error.message ?? String(error));

// empty says that there is nothing, and what to do about it.
export const empty = (title, ...more) => h('div', {class: 'empty'}, h('strong', {}, title), more.length ? h('p', {}, more) : null);
