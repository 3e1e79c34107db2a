// How the pages about rules, sessions and statistics say numbers and decisions.

import {h} from './dom.js';

// time says milliseconds as a person would.
export function time(ms) {
  if (!ms) return '0';
  if (ms < 1) return '<1 ms';
  if (ms < 1000) return Math.round(ms) + ' ms';
  const s = ms / 1000;
  if (s < 60) return s.toFixed(s < 10 ? 1 : 0) + ' s';
  if (s < 3600) return Math.round(s / 60) + ' min';
  return (s / 3600).toFixed(1) + ' h';
}

// tokens says how many words of a model.
export function tokens(n) {
  if (n < 1000) return String(n);
  if (n < 1e6) return (n / 1000).toFixed(n < 10000 ? 1 : 0) + 'k';
  return (n / 1e6).toFixed(1) + 'M';
}

export const money = (cost, priced) => cost ? (priced ? '' : '≥ ') + '$' + cost.toFixed(cost < .1 ? 4 : 2) : priced ? '$0' : '–';

const decisions = {preApproved: ['good', 'pre-approved'], copy: ['blue', 'on a copy'], ask: ['warn', 'ask'], blocked: ['bad', 'blocked']};

// decision shows what was decided.
export const decision = word => h('span', {class: 'badge ' + (decisions[word]?.[0] ?? '')}, decisions[word]?.[1] ?? word);

const outcomes = {ok: 'good', error: 'bad', refused: 'warn', cancelled: '', running: 'blue', interrupted: 'bad', done: 'good', failed: 'bad', limited: 'warn', stopped: ''};

// outcome shows how something ended.
export const outcome = word => h('span', {class: 'badge ' + (outcomes[word] ?? '')}, word);
