// Unified diffs, side by side where there is room.

import {h, plural} from './dom.js';
import {seen} from './text.js';

const maxRows = 1500;

// isDiff reports whether a text is a unified diff.
export const isDiff = text => /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text ?? '');

// parse returns the files of a diff, each with rows: {kind: 'same'|'change'|'hunk'|'note', old, new, a, b}.
export function parse(text) {
  const files = [];
  let file = null, a = 0, b = 0, left = 0, right = 0, removed = [], added = [];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++) {
      file.rows.push({kind: 'change', old: removed[i]?.[0], a: removed[i]?.[1], new: added[i]?.[0], b: added[i]?.[1]});
    }
    removed = [];
    added = [];
  };
  const open = () => file ??= (files.push({name: '', rows: []}), files.at(-1));
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const hunk = left <= 0 && right <= 0 ? /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)/.exec(line) : null;
    if (hunk) {
      open();
      flush();
      [a, b] = [Number(hunk[1]), Number(hunk[3])];
      [left, right] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
      file.rows.push({kind: 'hunk', text: hunk[5].trim(), a});
    } else if (left > 0 || right > 0) {
      if (line.startsWith('-')) { removed.push([line.slice(1), a++]); left--; }
      else if (line.startsWith('+')) { added.push([line.slice(1), b++]); right--; }
      else if (line.startsWith('\\')) { flush(); file.rows.push({kind: 'note', text: line.slice(2)}); }
      else { flush(); file.rows.push({kind: 'same', old: line.slice(1), a: a++, new: line.slice(1), b: b++}); left--; right--; }
    } else if (line.startsWith('--- ')) {
      if (file) flush();
      file = {name: '', rows: []};
      files.push(file);
      file.old = line.slice(4).split('\t')[0];
    } else if (line.startsWith('+++ ') && file) {
      file.new = line.slice(4).split('\t')[0];
    } else if (line.startsWith('\\') && file) {
      flush();
      file.rows.push({kind: 'note', text: line.slice(2)});
    } else if (line !== '') {
      if (file) flush();
      if (!file || file.rows.length) { file = {name: '', rows: []}; files.push(file); }
      file.rows.push({kind: 'note', text: line});
      if (!/^(diff|index|new file|deleted|similarity|rename|old mode|new mode)/.test(line)) continue;
    }
  }
  if (file) flush();
  return files;
}

// spans marks what differs between two lines.
function spans(text, other, name) {
  if (other === undefined || text === undefined) return seen(text ?? '');
  let p = 0, s = 0;
  while (p < text.length && p < other.length && text[p] === other[p]) p++;
  while (s < text.length - p && s < other.length - p && text[text.length - 1 - s] === other[other.length - 1 - s]) s++;
  if (p + s < Math.min(text.length, other.length) / 3) return seen(text);
  return [seen(text.slice(0, p)), h(name, {}, seen(text.slice(p, text.length - s))), seen(text.slice(text.length - s))];
}

function row(r) {
  if (r.kind === 'hunk') return h('tr', {class: 'hunk'}, h('td', {colspan: 4}, 'line ' + r.a + (r.text ? '  ' + seen(r.text) : '')));
  if (r.kind === 'note') return h('tr', {class: 'hunk'}, h('td', {colspan: 4}, seen(r.text)));
  const changed = r.kind === 'change';
  return h('tr', {class: changed ? (r.old === undefined ? 'only-new' : r.new === undefined ? 'only-old' : 'both') : ''},
    h('td', {class: 'no'}, r.a ?? ''),
    h('td', {class: 'old' + (changed && r.old !== undefined ? ' del' : '')}, changed ? spans(r.old, r.new, 'del') : seen(r.old)),
    h('td', {class: 'no'}, r.b ?? ''),
    h('td', {class: 'new' + (changed && r.new !== undefined ? ' add' : '')}, changed ? spans(r.new, r.old, 'ins') : seen(r.new)));
}

const fileName = f => {
  const name = f.new && f.new !== '/dev/null' ? f.new : f.old ?? '';
  return name.replace(/^[ab]\//, '');
};

// lines shows a part of a diff as it is, line by line: where a part begins, nothing tells which file it is of.
export function lines(text) {
  const kind = line => line.startsWith('+') ? 'add' : line.startsWith('-') ? 'del' : line.startsWith('@@') ? 'hunk' : '';
  return h('pre', {class: 'code lines'}, text.replace(/\n$/, '').split('\n').map(line => h('span', {class: kind(line)}, seen(line) + '\n')));
}

// diff shows a text: as a diff where it is one, else as it is.
export function diff(text) {
  if (!isDiff(text)) return h('pre', {class: 'code'}, seen(text));
  const box = h('div', {class: 'diff'});
  for (const file of parse(text)) {
    const changes = file.rows.filter(r => r.kind === 'change');
    const added = changes.filter(r => r.new !== undefined).length, removed = changes.filter(r => r.old !== undefined).length;
    const body = h('tbody');
    const more = h('button', {type: 'button', class: 'quiet', hidden: true});
    let shown = 0;
    const grow = () => {
      body.append(...file.rows.slice(shown, shown + maxRows).map(row));
      shown = Math.min(shown + maxRows, file.rows.length);
      more.hidden = shown >= file.rows.length;
      more.textContent = 'Show more: ' + plural(file.rows.length - shown, 'row') + ' left';
    };
    more.addEventListener('click', grow);
    grow();
    const name = fileName(file);
    const title = f => f === '/dev/null';
    box.append(h('figure', {},
      h('figcaption', {}, h('strong', {class: 'mono'}, seen(name || 'changes')),
        title(file.old) ? h('span', {class: 'badge good'}, 'new file') : null, title(file.new) ? h('span', {class: 'badge bad'}, 'deleted') : null,
        h('span', {class: 'plus'}, '+' + added), h('span', {class: 'minus'}, '−' + removed)),
      h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Changes of ' + seen(name)}, h('table', {}, h('colgroup', {}, h('col', {class: 'c-no'}), h('col'), h('col', {class: 'c-no'}), h('col')), body)), more));
  }
  return box;
}
