// Arguments as a form made from their schema, or as JSON; checked by the server while one types.

import {h, fill, debounce} from './dom.js';
import {post} from './api.js';
import {seen} from './text.js';

let last = 0;

// kind is the type of a schema, without null.
function kind(schema) {
  const types = [schema.type ?? schema.types ?? []].flat().filter(t => t !== 'null');
  if (schema.enum) return 'enum';
  return types.length === 1 ? types[0] : types.length === 0 && schema.properties ? 'object' : 'any';
}

const long = name => /content|text|code|body|string|command|prompt|message|query/i.test(name);

// field makes the control of one argument. Its value is undefined where it is left out.
function field(name, schema, value, required, changed) {
  const id = 'f' + ++last;
  const type = kind(schema);
  const error = h('p', {class: 'wrong small', id: id + 'e', hidden: true});
  const common = {id, 'aria-describedby': id + 'd ' + id + 'e', oninput: changed, onchange: changed};
  let control, read;
  if (type === 'boolean') {
    control = h('select', common, h('option', {value: ''}, 'default' + (schema.default !== undefined ? ': ' + schema.default : '')),
      h('option', {value: 'true'}, 'yes'), h('option', {value: 'false'}, 'no'));
    control.value = value === undefined ? '' : String(value);
    read = () => control.value === '' ? undefined : control.value === 'true';
  } else if (type === 'enum') {
    control = h('select', common, h('option', {value: ''}, required ? 'choose' : 'default'),
      schema.enum.map((word, i) => h('option', {value: String(i)}, seen(word))));
    const at = schema.enum.indexOf(value);
    control.value = at < 0 ? '' : String(at);
    read = () => control.value === '' ? undefined : schema.enum[Number(control.value)];
  } else if (type === 'integer' || type === 'number') {
    control = h('input', {...common, type: 'text', inputmode: 'decimal', placeholder: schema.default !== undefined ? String(schema.default) : ''});
    control.value = value ?? '';
    read = () => {
      const text = control.value.trim();
      if (text === '') return undefined;
      return Number.isFinite(Number(text)) ? Number(text) : text;
    };
  } else if (type === 'string') {
    const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
    control = long(name) || text.includes('\n') ? h('textarea', {...common, rows: Math.min(12, Math.max(2, text.split('\n').length)), spellcheck: 'false'})
      : h('input', {...common, type: 'text', spellcheck: 'false', autocomplete: 'off', placeholder: schema.default !== undefined ? String(schema.default) : ''});
    control.value = text;
    let touched = value !== undefined;
    control.addEventListener('input', () => { touched = true; });
    read = () => control.value === '' && (!required || !touched) ? undefined : control.value;
  } else {
    control = h('textarea', {...common, rows: 3, spellcheck: 'false', placeholder: type === 'array' ? '[ ]' : '{ }'});
    control.value = value === undefined ? '' : JSON.stringify(value, null, 2);
    read = () => {
      if (control.value.trim() === '') return undefined;
      try { return JSON.parse(control.value); } catch { return control.value; }
    };
  }
  const el = h('div', {class: 'field'},
    h('label', {for: id}, h('span', {class: 'mono'}, seen(name)), required ? h('span', {class: 'muted small'}, ' required') : null),
    control, schema.description ? h('p', {class: 'muted small', id: id + 'd'}, seen(schema.description)) : null, error);
  return {
    el, name, read,
    wrong(text) {
      error.textContent = seen(text ?? '');
      error.hidden = !text;
      control.setAttribute('aria-invalid', Boolean(text));
    },
  };
}

// Form edits the arguments of a tool. Options: tool, schema, value, change(valid, value) is called when they were checked.
export class Form {
  #o;
  #fields = [];
  #json = null;
  #extra = {};
  #status = h('p', {class: 'small', role: 'status'});
  #body = h('div', {class: 'fields'});
  #check;
  #turn = 0;
  #touched = false;

  constructor(options) {
    this.#o = options;
    this.valid = false;
    this.#check = debounce(() => this.check(), 200);
    const tabs = h('div', {class: 'chips', role: 'group', 'aria-label': 'How to edit'});
    for (const [name, label] of [['form', 'Form'], ['json', 'JSON']]) {
      tabs.append(h('button', {type: 'button', class: 'chip', 'aria-pressed': 'false', data: {how: name}, onclick: () => this.#as(name)}, label));
    }
    this.el = h('div', {class: 'form'}, tabs, this.#body, this.#status);
    this.#show(options.schema?.properties ? 'form' : 'json', options.value ?? {});
    this.check();
  }

  #changed = () => {
    this.#touched = true;
    this.#o.typing?.();
    this.#check();
  };

  #as(how) {
    let value;
    try { value = this.value(); } catch (error) { this.#say(error.message, 'wrong'); return; }
    this.#show(how, value);
    this.#changed();
  }

  #show(how, value) {
    for (const tab of this.el.querySelectorAll('[data-how]')) tab.setAttribute('aria-pressed', tab.dataset.how === how);
    const {schema} = this.#o;
    this.#fields = [];
    this.#json = null;
    this.#extra = {};
    if (how === 'json') {
      const text = JSON.stringify(value, null, 2);
      this.#json = h('textarea', {rows: Math.min(20, text.split('\n').length + 1), spellcheck: 'false', 'aria-label': 'Arguments as JSON', oninput: this.#changed});
      this.#json.value = text;
      fill(this.#body, this.#json);
      return;
    }
    const required = new Set(schema.required ?? []);
    const names = Object.keys(schema.properties);
    names.sort((a, b) => required.has(b) - required.has(a));
    for (const name of names) this.#fields.push(field(name, schema.properties[name], value[name], required.has(name), this.#changed));
    for (const name of Object.keys(value)) if (!(name in schema.properties)) this.#extra[name] = value[name];
    fill(this.#body, this.#fields.map(f => f.el), names.length ? null : h('p', {class: 'muted'}, 'It takes no arguments.'));
  }

  // value returns the arguments as they stand; it throws where the JSON cannot be read.
  value() {
    if (this.#json) {
      const value = JSON.parse(this.#json.value.trim() || '{}');
      if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Error('the arguments must be a JSON object');
      return value;
    }
    const value = {...this.#extra};
    for (const f of this.#fields) {
      const v = f.read();
      if (v !== undefined) value[f.name] = v;
    }
    return value;
  }

  #say(text, kind = 'muted') {
    this.#status.textContent = seen(text);
    this.#status.className = 'small ' + kind;
  }

  // check has the server check the arguments.
  async check() {
    const turn = ++this.#turn;
    let value;
    try {
      value = this.value();
      const checked = await post('/api/validate', {tool: this.#o.tool, args: value});
      if (turn !== this.#turn) return;
      this.valid = checked.ok;
      const left = [];
      for (const f of this.#fields) f.wrong('');
      for (const wrong of checked.fields) {
        const at = this.#fields.find(f => wrong.path === f.name || wrong.path.startsWith(f.name + '.') || wrong.path.startsWith(f.name + '['));
        if (!at) left.push(wrong.message);
        else if (this.#touched || wrong.value) at.wrong(wrong.message);
      }
      if (checked.ok) this.#say(checked.repaired.length ? 'Valid, after: ' + checked.repaired.join('; ') : 'Valid');
      else if (!this.#touched && !left.length && checked.fields.length) this.#say('Fill in what is required.');
      else this.#say(left.join(' ') || (checked.fields.length ? 'Not valid yet' : checked.message), 'wrong');
    } catch (error) {
      if (turn !== this.#turn) return;
      this.valid = false;
      this.#say(error.message, 'wrong');
    }
    this.#o.change?.(this.valid, value);
  }
}
