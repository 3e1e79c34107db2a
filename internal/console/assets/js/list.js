// A list of any length that keeps only what is in sight on the page.

import {h} from './dom.js';

// List shows rows of one height. Options: height; key(i) names row i; make() returns an element for a row; show(el, i) fills it;
// open(i) is called when a row is chosen; end() when the end comes in sight.
export class List {
  #o;
  #count = 0;
  #rows = new Map(); // by key
  #spare = [];
  #due = false;
  #chosen = null;
  #space;

  constructor(options) {
    this.#o = options;
    this.#space = h('div', {class: 'space'});
    this.el = h('div', {class: 'vlist', role: 'listbox', tabindex: 0, 'aria-label': options.label}, this.#space);
    this.el.addEventListener('scroll', () => this.refresh(), {passive: true});
    this.el.addEventListener('keydown', event => this.#key(event));
    this.el.addEventListener('click', event => {
      const row = event.target.closest('[role=option]');
      if (row) this.choose(Number(row.dataset.i), true);
    });
    new ResizeObserver(() => this.refresh()).observe(this.el);
  }

  get count() { return this.#count; }

  // set says how many rows there are; grown are those that were added at the top, so that what is looked at stays in place.
  set(count, grown = 0) {
    this.#count = count;
    this.#space.style.height = count * this.#o.height + 'px';
    if (grown && this.el.scrollTop > 0) this.el.scrollTop += grown * this.#o.height;
    this.refresh();
  }

  // refresh shows what is in sight anew, once before the next frame.
  refresh() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      this.#draw();
    });
  }

  #draw() {
    const {height, key, make, show, end} = this.#o;
    const first = Math.max(0, Math.floor(this.el.scrollTop / height) - 5);
    const last = Math.min(this.#count, Math.ceil((this.el.scrollTop + this.el.clientHeight) / height) + 5);
    const keep = new Map();
    for (let i = first; i < last; i++) keep.set(key(i), i);
    for (const [name, el] of this.#rows) {
      if (keep.has(name)) continue;
      this.#rows.delete(name);
      el.remove();
      if (this.#spare.length < 20) this.#spare.push(el);
    }
    for (const [name, i] of keep) {
      let el = this.#rows.get(name);
      if (!el) {
        el = this.#spare.pop() ?? make();
        el.setAttribute('role', 'option');
        el.id = 'row-' + name;
        this.#rows.set(name, el);
        this.#space.append(el);
      }
      el.style.transform = 'translateY(' + i * height + 'px)';
      el.dataset.i = i;
      el.setAttribute('aria-setsize', this.#count);
      el.setAttribute('aria-posinset', i + 1);
      el.setAttribute('aria-selected', name === this.#chosen);
      show(el, i);
    }
    if (this.#chosen !== null) this.el.setAttribute('aria-activedescendant', 'row-' + this.#chosen);
    if (last >= this.#count - 20) end?.();
  }

  // choose marks a row and brings it into sight; open shows it as well.
  choose(i, open) {
    if (i < 0 || i >= this.#count) return;
    this.#chosen = this.#o.key(i);
    const {height} = this.#o, top = i * height;
    if (top < this.el.scrollTop) this.el.scrollTop = top;
    else if (top + height > this.el.scrollTop + this.el.clientHeight) this.el.scrollTop = top + height - this.el.clientHeight;
    this.refresh();
    if (open) this.#o.open(i);
  }

  // mark marks the row of a key without opening it; null marks none.
  mark(name) {
    this.#chosen = name;
    this.refresh();
  }

  #at() {
    const el = this.#chosen === null ? null : this.#rows.get(this.#chosen);
    return el ? Number(el.dataset.i) : -1;
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.el.clientHeight / this.#o.height) - 1);
    const to = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page}[event.key];
    if (to !== undefined) this.choose(Math.min(Math.max(0, this.#at() + to), this.#count - 1), true);
    else if (event.key === 'Home') this.choose(0, true);
    else if (event.key === 'End') this.choose(this.#count - 1, true);
    else if (event.key === 'Enter') this.choose(Math.max(0, this.#at()), true);
    else return;
    event.preventDefault();
  }
}
