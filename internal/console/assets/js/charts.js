// Charts as drawings of the page: no library, no styles in attributes. Colours are classes, so that both themes fit.

import {h, svg, fill} from './dom.js';

// nice returns a round number that is at least n, to end an axis with.
export function nice(n) {
  if (n <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(n));
  for (const step of [1, 2, 4, 5, 10]) if (step * power >= n) return step * power;
  return 10 * power;
}

// responsive draws again when its width changes. Draw is given a width in pixels and returns an element.
export function responsive(draw) {
  const box = h('div', {class: 'chart'});
  let width = 0;
  new ResizeObserver(list => {
    const now = Math.round(list[0].contentRect.width);
    if (now && now !== width) {
      width = now;
      fill(box, draw(width));
    }
  }).observe(box);
  return box;
}

const clock = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', hour12: false});
const date = new Intl.DateTimeFormat(undefined, {weekday: 'short', day: 'numeric'});
const whole = new Intl.DateTimeFormat(undefined, {weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hour12: false});

// label names the start of a bucket on the axis.
const label = (at, width) => width >= 6 * 3600e3 ? date.format(at) : clock.format(at);
// spoken names a bucket in full.
const spoken = (at, width) => width >= 3600e3 ? whole.format(at) : clock.format(at);

const left = 44, right = 6, top = 8, bottom = 22;

// frame is what bars and lines share: the axis, a readout, and the columns that answer to the pointer.
function frame({buckets, width: step, most, format, height, about, read, draw}) {
  const readout = h('p', {class: 'readout muted small', 'aria-hidden': 'true'}, '\u00a0');
  const chart = responsive(width => {
    const inner = {w: width - left - right, h: height - top - bottom};
    const column = inner.w / buckets.length;
    const x = i => left + i * column;
    const y = value => top + inner.h * (1 - value / most);
    const el = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': about});
    for (let i = 0; i <= 4; i++) {
      const value = most * i / 4;
      el.append(
        svg('line', {class: 'gridline', x1: left, x2: width - right, y1: y(value), y2: y(value)}),
        svg('text', {class: 'tick', x: left - 8, y: y(value) + 4, 'text-anchor': 'end'}, format(value)));
    }
    draw(el, {x, y, column, base: y(0)});
    const every = Math.ceil(buckets.length / Math.max(2, Math.floor(inner.w / 90)));
    let said = '';
    buckets.forEach((b, i) => {
      const name = label(new Date(b.start), step);
      if (i % every === 0 && name !== said && x(i) < width - 50) {
        said = name;
        el.append(svg('text', {class: 'tick', x: x(i), y: height - 6}, name));
      }
    });
    buckets.forEach((b, i) => {
      const words = spoken(new Date(b.start), step) + ': ' + read(b);
      const show = () => { readout.textContent = words; };
      el.append(svg('rect', {class: 'slot', x: x(i), y: top, width: column, height: inner.h, onpointerenter: show}, svg('title', {}, words)));
    });
    el.addEventListener('pointerleave', () => { readout.textContent = '\u00a0'; });
    return el;
  });
  return [chart, readout];
}

// bars shows buckets as bars, each of parts upon each other: series are {name, kind, of}.
export function bars({buckets, width, series, about, read, format = n => String(Math.round(n)), height = 190}) {
  const total = b => series.reduce((sum, s) => sum + s.of(b), 0);
  const most = nice(Math.max(...buckets.map(total), 0));
  return h('figure', {class: 'figure'}, frame({
    buckets, width, most, format, height, about, read,
    draw(el, {x, y, column, base}) {
      const gap = Math.min(3, column * .2);
      buckets.forEach((b, i) => {
        let at = base;
        for (const s of series) {
          const value = s.of(b);
          if (!value) continue;
          const size = Math.max(1.5, base - y(value));
          at -= size;
          el.append(svg('rect', {class: 'ink ' + s.kind, x: x(i) + gap / 2, y: at, width: Math.max(1, column - gap), height: size}));
        }
      });
    },
  }), legend(series));
}

// lines shows buckets as lines, broken where there is nothing.
export function lines({buckets, width, series, about, read, format, height = 190}) {
  const most = nice(Math.max(...series.flatMap(s => buckets.map(s.of)), 0));
  return h('figure', {class: 'figure'}, frame({
    buckets, width, most, format, height, about, read,
    draw(el, {x, y, column}) {
      for (const s of series) {
        let path = '', open = false;
        buckets.forEach((b, i) => {
          const value = s.of(b);
          if (!b.calls) { open = false; return; }
          const cx = x(i) + column / 2, cy = y(value);
          path += (open ? 'L' : 'M') + cx.toFixed(1) + ' ' + cy.toFixed(1);
          open = true;
          el.append(svg('circle', {class: 'point ' + s.kind, cx, cy, r: 2.2}));
        });
        if (path) el.append(svg('path', {class: 'stroke ' + s.kind, d: path}));
      }
    },
  }), legend(series));
}

const legend = series => h('figcaption', {class: 'legend'},
  series.map(s => h('span', {}, svg('svg', {width: 10, height: 10, 'aria-hidden': 'true'}, svg('rect', {class: 'ink ' + s.kind, width: 10, height: 10, rx: 2})), s.name)));

// share shows parts of a whole in one line: parts are {name, kind, count}.
export function share(parts, about) {
  const total = parts.reduce((sum, p) => sum + p.count, 0);
  const bar = responsive(width => {
    const el = svg('svg', {width, height: 14, role: 'img', 'aria-label': about + ': ' + parts.map(p => p.name + ' ' + p.count).join(', ')});
    let x = 0;
    for (const p of parts) {
      if (!p.count) continue;
      const w = Math.max(3, (width - 2 * parts.length) * p.count / total);
      el.append(svg('rect', {class: 'ink ' + p.kind, x, y: 0, width: w, height: 14, rx: 3}));
      x += w + 2;
    }
    if (!total) el.append(svg('rect', {class: 'ink none', width, height: 14, rx: 3}));
    return el;
  });
  return h('div', {}, bar, h('dl', {class: 'parts'}, parts.map(p => h('div', {},
    h('dt', {}, svg('svg', {width: 10, height: 10, 'aria-hidden': 'true'}, svg('rect', {class: 'ink ' + p.kind, width: 10, height: 10, rx: 2})), p.name),
    h('dd', {}, p.count.toLocaleString())))));
}

// ranks shows a list of things with how many each is: items are {name, count}.
export function ranks(items, kind) {
  const most = Math.max(...items.map(i => i.count), 1);
  return h('ul', {class: 'ranks'}, items.map(i => h('li', {},
    h('span', {class: 'mono small'}, i.name),
    svg('svg', {class: 'rank', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
      svg('rect', {class: 'ink none', width: 100, height: 8, rx: 2}), svg('rect', {class: 'ink ' + kind, width: Math.max(1, 100 * i.count / most), height: 8, rx: 2})),
    h('b', {class: 'num'}, i.count.toLocaleString()))));
}

// spark is a small line without an axis.
export function spark(values, kind) {
  const most = Math.max(...values, 1), w = 120, hgt = 26;
  const at = (v, i) => (i * w / Math.max(1, values.length - 1)).toFixed(1) + ' ' + (hgt - 2 - (hgt - 4) * v / most).toFixed(1);
  const path = values.map((v, i) => (i ? 'L' : 'M') + at(v, i)).join('');
  return svg('svg', {class: 'spark', viewBox: `0 0 ${w} ${hgt}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    svg('path', {class: 'area ' + kind, d: path + `L${w} ${hgt}L0 ${hgt}Z`}), svg('path', {class: 'stroke ' + kind, d: path}));
}
