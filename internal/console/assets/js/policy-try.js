// Trying rules: what would happen to a call, and what a proposed rule would change.

import {$, h, fill, failure, toast, when, plural} from './dom.js';
import {get, post} from './api.js';
import {decision, outcome} from './words.js';
import {seen} from './text.js';

const sentence = {
  preApproved: 'It runs without a question.', ask: 'You are asked before it runs.', blocked: 'It is blocked. Nobody can approve it.',
};

// verdict tells what will happen to a call.
function verdict(e) {
  if (!e.deferred || e.decision === 'blocked') return sentence[e.decision];
  if (e.keepsUndoable) return 'It runs on a copy. You are asked only about changes that cannot be undone.';
  return e.decision === 'ask' ? 'It runs on a copy. You are asked about what it changed.' : 'It runs on a copy. Its changes are decided by the rules.';
}

// tester asks what would happen to a call.
export function tester({propose}) {
  const form = $('#test'), tool = $('#test-tool'), input = $('#test-input'), args = $('#test-args'), more = $('#test-more'), result = $('#test-result');
  // main is the argument that a person would type first, by tool.
  const main = {};
  get('/api/tools').then(list => {
    const callable = list.tools.filter(t => t.callable);
    for (const t of callable) {
      const required = t.input?.required ?? [];
      const text = Object.entries(t.input?.properties ?? {}).filter(([, p]) => p.type === 'string').map(([name]) => name);
      main[t.name] = required.length <= 1 ? ['command', 'path', 'url', 'pattern', 'query'].find(n => text.includes(n)) ?? '' : '';
    }
    callable.sort((a, b) => (b.name === 'shell') - (a.name === 'shell') || a.name.localeCompare(b.name));
    const before = tool.value;
    fill(tool, callable.map(t => h('option', {value: t.name, selected: t.name === before}, t.name)));
    shape();
  }).catch(error => fill(result, failure(error)));

  function shape() {
    const name = main[tool.value] ?? 'command';
    input.hidden = name === '';
    input.required = name !== '';
    more.hidden = name !== '';
    input.placeholder = {command: 'git push', path: 'src/main.go', url: 'https://example.com/'}[name] ?? name;
    form.querySelector('label[for=test-input]').textContent = name;
  }
  tool.addEventListener('change', shape);
  form.addEventListener('submit', async event => {
    event.preventDefault();
    let given;
    const name = main[tool.value] ?? 'command';
    try {
      given = name ? {[name]: input.value} : JSON.parse(args.value || '{}');
    } catch (error) {
      fill(result, failure({message: 'The arguments are not JSON: ' + error.message}));
      return;
    }
    try {
      fill(result, explained(await post('/api/explain', {tool: tool.value, args: given}), propose));
    } catch (error) {
      fill(result, failure(error));
    }
  });
}

function explained(e, propose) {
  const first = e.effects.find(x => !x.unknown && (x.kind === 'execute' || x.path || x.host));
  return h('div', {class: 'told', data: {decision: e.decision}},
    h('p', {class: 'verdict'}, decision(e.deferred ? 'copy' : e.decision), ' ',
      verdict(e)),
    h('p', {}, seen(e.reason)),
    h('dl', {class: 'kv small'},
      h('dt', {}, 'Decided by'), h('dd', {}, h('code', {}, seen(e.rule))),
      h('dt', {}, 'It would'), h('dd', {}, h('ul', {class: 'lines'}, e.effects.map((x, i) => h('li', {}, effect(e, x, i))))),
      e.repaired?.length ? [h('dt', {}, 'Repaired'), h('dd', {}, e.repaired.join('; '))] : null),
    first ? h('p', {}, h('button', {type: 'button', class: 'quiet', onclick: () => propose.about(e, first)}, 'Propose a rule about this')) : null);
}

// effect says one effect: in the server's words where it has some.
function effect(e, x, i) {
  const words = e.words?.length === e.effects.length ? e.words[i] : null;
  const why = words?.why ?? x.why;
  return [seen(words?.text ?? x.kind), ' ', x.mustAsk ? h('span', {class: 'badge warn'}, 'must be asked for') : null, why ? h('span', {class: 'muted'}, ' ' + seen(why)) : null];
}

// proposer replays and saves proposed rules.
export function proposer({saved}) {
  const form = $('#propose'), result = $('#propose-result');
  const fields = {decision: $('#p-decision'), kind: $('#p-kind'), pattern: $('#p-pattern')};
  const hints = {command: 'git push', path: 'secrets/**', read: '**/*.pem', write: 'docs/**', delete: '**', host: '*.example.com', tool: 'edit'};
  const hint = () => { fields.pattern.placeholder = hints[fields.kind.value]; };
  fields.kind.addEventListener('change', hint);
  const line = () => `${fields.decision.value} ${fields.kind.value} ${fields.pattern.value.trim()}`;

  async function replay(body, title) {
    fill(result, h('p', {class: 'muted'}, 'Deciding logged calls again'));
    try {
      const tried = await post('/api/policy/try', {...body, last: 1000});
      if (tried.wrong) {
        fill(result, failure({message: tried.wrong}));
        return;
      }
      fill(result, shownReplay(tried, title), tried.draft ? save(tried, body.rules) : tried.unsaved ? h('p', {class: 'note'}, tried.unsaved) : null);
    } catch (error) {
      fill(result, failure(error));
    }
  }

  function save(tried, lines) {
    const button = h('button', {type: 'button', class: tried.replay.looser ? 'danger' : 'primary', id: 'save'}, 'Save this rule');
    button.addEventListener('click', async () => {
      button.disabled = true;
      try {
        const done = await post('/api/policy/save', {rules: lines, base: tried.draft.base});
        toast('Saved in ' + done.path, 'good');
        fill(result, h('p', {class: 'told'}, 'Saved in ', h('code', {}, done.path), '. It counts from the next call on.'));
        saved();
      } catch (error) {
        button.disabled = false;
        toast(error.message, 'bad');
      }
    });
    return h('div', {class: 'draft'},
      h('h3', {}, 'What would be written to ', h('code', {}, tried.draft.path)),
      h('pre', {class: 'code draft-diff'}, tried.draft.diff.split('\n').filter(l => !/^(---|\+\+\+) /.test(l)).map(l =>
        h('span', {class: l[0] === '+' ? 'add' : l[0] === '-' ? 'del' : 'muted'}, l + '\n'))),
      h('div', {class: 'actions'}, button, tried.replay.looser ? h('span', {class: 'small muted'}, 'It lets agents do more without asking.') : null));
  }

  form.addEventListener('submit', event => {
    event.preventDefault();
    replay({rules: [line()]}, 'With this rule');
  });
  hint();
  return {
    // without shows what would change without a rule.
    without(r) {
      form.scrollIntoView({block: 'center'});
      replay({rules: [], without: [r.id]}, 'Without “' + r.text + '”');
    },
    // about fills in the form for an effect of a tested call.
    about(e, x) {
      fields.kind.value = x.kind === 'execute' ? 'command' : x.kind === 'network' ? 'host' : x.kind;
      fields.decision.value = e.decision === 'preApproved' ? 'ask' : 'blocked';
      fields.pattern.value = x.kind === 'execute' ? x.argv.filter(w => !w.includes('\0')).join(' ') : x.kind === 'network' ? x.host : (x.path.root ? '/' + x.path.root + '/' : '') + x.path.rel;
      hint();
      fields.pattern.focus();
    },
  };
}

function shownReplay(tried, title) {
  const r = tried.replay;
  const left = [];
  if (r.unjudged.notDecided) left.push(`${r.unjudged.notDecided} ended before a decision`);
  if (r.unjudged.redacted) left.push(`${r.unjudged.redacted} contain something that the log did not keep`);
  if (r.unjudged.older) left.push(`${r.unjudged.older} were logged by an older version`);
  if (r.unjudged.elsewhere) left.push(`${r.unjudged.elsewhere} belong to other workspaces`);
  return h('div', {class: 'told', data: {changed: r.changed}},
    tried.rules.map(rule => h('p', {class: 'small'}, 'The rule: ', h('code', {}, seen(rule.text)))),
    h('p', {class: 'verdict'}, h('b', {}, title + ', '), r.changed ? `${r.changed} of ${plural(r.judged, 'call')} would be decided differently` : `none of ${plural(r.judged, 'call')} would be decided differently`,
      r.changed ? ': ' + [r.stricter && r.stricter + ' more strictly', r.looser && r.looser + ' more leniently'].filter(Boolean).join(', ') + '.' : '.'),
    r.turns.map(t => h('p', {class: 'turn'}, h('b', {}, t.calls), ' ', decision(t.now), h('span', {'aria-label': 'becomes'}, ' → '), decision(t.then))),
    r.changes.length ? h('div', {class: 'wide changed-calls', tabindex: 0, role: 'region', 'aria-label': 'Calls that would be decided differently'}, h('table', {class: 'table'},
      h('thead', {}, h('tr', {}, ['When', 'Call', 'Ended', 'Now', 'Then'].map(n => h('th', {scope: 'col'}, n)))),
      h('tbody', {}, r.changes.map(c => h('tr', {data: {call: c.call}},
        h('td', {class: 'small muted'}, when(c.started)),
        h('td', {}, h('a', {href: '/#' + encodeURIComponent(c.call)}, h('span', {class: 'mono'}, seen(c.tool))), h('div', {class: 'small mono'}, seen(c.effects.slice(0, 4).join('; ')), c.effects.length > 4 ? ' …' : '')),
        h('td', {}, outcome(c.outcome)),
        h('td', {title: c.nowBy}, decision(c.now)), h('td', {title: c.thenBy}, decision(c.then))))))) : null,
    r.changed > r.changes.length ? h('p', {class: 'small muted'}, `${r.changed - r.changes.length} more are not listed.`) : null,
    left.length ? h('p', {class: 'small muted'}, 'Not decided again: ' + left.join(', ') + '.') : null,
    r.drifted ? h('p', {class: 'small muted'}, `${plural(r.drifted, 'call')} had another decision when they were made: rules or approvals changed since.`) : null);
}
