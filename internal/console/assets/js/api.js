// Requests of the API, and the stream of events.

const keyName = 'tongs-key';
export const storedKey = () => localStorage.getItem(keyName) ?? '';
export const storeKey = key => localStorage.setItem(keyName, key);

// Problem is a request that failed: status, code, message, details, and the answer of somebody who was first.
export class Problem extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? 'the server answered with status ' + status);
    this.status = status;
    this.code = body?.error?.code;
    this.details = body?.error?.details;
    this.answered = body?.answered;
  }
}

async function request(method, path, body, signal) {
  const headers = {'X-Tongs-Key': storedKey(), Accept: 'application/json'};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(path, {method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal, credentials: 'same-origin'});
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem(0, {error: {message: 'the server cannot be reached'}});
  }
  if (response.status === 401) return leave();
  const text = await response.text();
  let data;
  try { data = JSON.parse(text); } catch { data = undefined; }
  if (!response.ok) throw new Problem(response.status, data);
  return data;
}

// leave shows the page to log in. It never returns.
function leave() {
  location.replace('/login');
  return new Promise(() => {});
}

// query writes parameters; empty ones are left out.
export function query(path, params) {
  const list = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {})) {
    if (value !== undefined && value !== null && value !== '' && value !== false) list.set(name, value);
  }
  const text = list.toString();
  return text ? path + '?' + text : path;
}

export const get = (path, params, signal) => request('GET', query(path, params), undefined, signal);
export const post = (path, body = {}, signal) => request('POST', path, body, signal);

// save has the browser keep a file.
export async function save(path, name) {
  const response = await fetch(path, {headers: {'X-Tongs-Key': storedKey()}, credentials: 'same-origin'});
  if (!response.ok) throw new Problem(response.status, await response.json().catch(() => undefined));
  const url = URL.createObjectURL(await response.blob());
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// Stream follows the events of the server, and comes back to where it was after a break. Handlers are called with the data
// of each event; "state" with true or false when it connects or breaks.
export class Stream {
  #handlers = {};
  #last = '';
  #call = '';
  #abort;
  #wait = 500;
  #started = false;

  // on adds a handler for a kind of event: entries, questions, progress, output, summary, state.
  on(event, handler) {
    (this.#handlers[event] ??= []).push(handler);
    return this;
  }

  // start follows from the given entry of the log on; with nothing, from now on.
  start(since) {
    if (since !== undefined) this.#last = String(since);
    if (this.#started) return this;
    this.#started = true;
    this.#run();
    return this;
  }

  // output asks for the output of one call as it comes, '' for none.
  output(call) {
    if (call === this.#call) return;
    this.#call = call;
    if (this.#started) this.#abort?.abort('again');
  }

  #emit(event, data) {
    for (const handler of this.#handlers[event] ?? []) handler(data);
  }

  async #run() {
    for (;;) {
      this.#abort = new AbortController();
      try {
        await this.#follow(this.#abort.signal);
      } catch (error) {
        if (this.#abort.signal.aborted) continue;
      }
      this.#emit('state', false);
      await new Promise(done => setTimeout(done, this.#wait));
      this.#wait = Math.min(this.#wait * 1.5, 5000);
    }
  }

  async #follow(signal) {
    const headers = {'X-Tongs-Key': storedKey(), Accept: 'text/event-stream'};
    if (this.#last !== '') headers['Last-Event-ID'] = this.#last;
    const response = await fetch(query('/api/events', {call: this.#call}), {headers, signal, credentials: 'same-origin', cache: 'no-store'});
    if (response.status === 401) await leave();
    if (!response.ok) throw new Error('status ' + response.status);
    this.#wait = 500;
    this.#emit('state', true);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      rest += value;
      const blocks = rest.split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block) {
    let event = 'message', data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith('event: ')) event = line.slice(7);
      else if (line.startsWith('data: ')) data += line.slice(6);
      else if (line.startsWith('id: ')) this.#last = line.slice(4);
    }
    if (data) this.#emit(event, JSON.parse(data));
  }
}
