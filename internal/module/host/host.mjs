// The host of a JavaScript module: it speaks MCP for the tools that the module exports.
import { AsyncLocalStorage } from "node:async_hooks";
import fs from "node:fs";
import Module from "node:module";
import net from "node:net";
import { fileURLToPath } from "node:url";

const settings = JSON.parse(fs.readFileSync(new URL("./settings.json", import.meta.url), "utf8"));
settings.tools = JSON.parse(process.env.TONGS_TOOLS);
for (const name of ["TONGS_TOOLS", "TONGS_LANGUAGE"]) delete process.env[name];
const workspace = process.env.AGENT_WORKSPACE_ROOT;

// Everything that the module can import was bundled with it and looked at; what comes up later is refused.
const refuse = (name) => {
  throw new Error(`${name} was not bundled with the module, and nothing else is imported while it runs`);
};
const bundle = fileURLToPath(new URL("./src/module.mjs", import.meta.url));
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (name, ...rest) {
  return Module.isBuiltin(name) ? resolveFilename.call(this, name, ...rest) : refuse(name);
};
for (const kind of Object.keys(Module._extensions)) Module._extensions[kind] = (_, name) => refuse(name);
Module._load = ((load) => function (name, ...rest) {
  return Module.isBuiltin(name) ? load.call(this, name, ...rest) : refuse(name);
})(Module._load);
Module.syncBuiltinESMExports();
const own = new URL("./src/module.mjs", import.meta.url).href;
if (Module.registerHooks) {
  Module.registerHooks({
    resolve: (name, context, next) => {
      const found = next(name, context);
      return found.url.startsWith("node:") || found.url === own ? found : refuse(name);
    },
  });
} else {
  Module.register("data:text/javascript," + encodeURIComponent(`
    let own;
    export const initialize = (data) => { own = data; };
    export const resolve = async (name, context, next) => {
      const found = await next(name, context);
      if (found.url.startsWith("node:") || found.url === own) return found;
      throw new Error(name + " was not bundled with the module, and nothing else is imported while it runs");
    };`), { data: own });
}

const out = (message) => {
  const data = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  for (let at = 0; at < data.length; ) {
    try {
      at += fs.writeSync(3, data, at);
    } catch (e) {
      if (e.code !== "EAGAIN") process.exit(1);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
};

const text = (e) => (e instanceof Error ? (e.stack && e.stack.startsWith(`${e.name}`) ? e.stack : `${e.name}: ${e.message}\n${e.stack ?? ""}`) : String(e));
const short = (e) => text(e).replaceAll(bundle, "module.mjs").replaceAll("file://", "").split("\n")
  .filter((line) => !/^\s+at .*(host\.mjs|node:internal)/.test(line)).slice(0, 12).join("\n");

// The keys of a tool object. Each line is one thing with its spellings; those of ignored matter to model providers only.
const spellings = { schema: ["inputSchema", "parameters", "schema"], says: ["needsApproval", "requiresApproval"], output: ["outputSchema"] };
const ignored = ["type", "strict", "providerOptions", "inputExamples", "onInputStart", "onInputDelta", "onInputAvailable"];
const known = new Set(["id", "name", "title", "description", "execute", ...Object.values(spellings).flat(), ...ignored]);

const isClass = (v) => typeof v === "function" && /^class\b/.test(Function.prototype.toString.call(v));
const isPlain = (v) => [Object.prototype, null].includes(Object.getPrototypeOf(v));

// one is the value that has one of several names, undefined where none is given.
function one(what, names, get) {
  const given = names.filter((n) => get(n) !== undefined);
  if (given.length > 1) throw new Error(`${what} has both ${given.join(" and ")}, which mean the same; keep one`);
  return given.length ? get(given[0]) : undefined;
}

// describe makes a tool of an export, or says in a sentence why there is none.
async function describe(name, exported, toJSONSchema) {
  let found = exported[name], statics = {};
  if (found === undefined || found === null) {
    const names = Object.keys(exported).filter((k) => !/(Schema|(Needs|Requires)Approval)$/.test(k) && k !== "default");
    throw new Error(`${settings.module} exports no ${name}; it exports ${names.join(", ") || "nothing"}`);
  }
  if (isClass(found)) [statics, found] = [found, new found()];
  let own = found.name;
  if (typeof found === "object" && typeof found.init === "function" && typeof found.execute !== "function") { // made by Tool.define
    own = found.id;
    found = { ...await found.init({ workingDir: workspace }) };
  }
  if (typeof found === "object" && typeof found.execute === "function") {
    const get = (key) => found[key] ?? (key in statics ? statics[key] : undefined);
    const strange = Object.keys(found).find((key) => !known.has(key) && (isPlain(found) || /approv/i.test(key)));
    if (strange) throw new Error(`the tool object ${name} has the unknown key ${strange}; the keys are ${[...known].filter((k) => !ignored.includes(k)).join(", ")}`);
    const schema = one(`the tool object ${name}`, spellings.schema, get);
    if (schema === undefined) throw new Error(`the tool object ${name} has no inputSchema; give it a z.object({...})`);
    if (own !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(own)) throw new Error(`the tool object ${name} has the name ${JSON.stringify(own)}; a name has 1 to 64 letters, digits, _ and -`);
    return {
      name, own, schema, input: toJSON(`${name}.inputSchema`, schema, toJSONSchema), says: one(`the tool object ${name}`, spellings.says, get),
      ...output(`${name}.outputSchema`, get("outputSchema"), toJSONSchema), title: get("title"),
      description: get("description") ?? settings.descriptions?.[name], run: (args, options) => found.execute(args, options),
    };
  }
  if (typeof found === "function") {
    const schema = exported[`${name}Schema`];
    if (schema === undefined) throw new Error(`the function ${name} has no schema; export const ${name}Schema = z.object({...}) beside it`);
    const says = one(`the function ${name}`, ["NeedsApproval", "RequiresApproval"], (end) => exported[name + end] ?? found[end[0].toLowerCase() + end.slice(1)]);
    return {
      name, schema, input: toJSON(`${name}Schema`, schema, toJSONSchema), says, ...output(`${name}OutputSchema`, exported[`${name}OutputSchema`], toJSONSchema),
      description: settings.descriptions?.[name] ?? schema.description, run: (args, options) => found(args, options),
    };
  }
  throw new Error(`the export ${name} is ${Array.isArray(found) ? "an array" : typeof found === "object" ? "an object without an execute function" : `a ${typeof found}`}; a tool is a function or a tool object, or a class of one`);
}

// output is what is known of the values that a tool returns.
function output(label, schema, toJSONSchema) {
  if (schema === undefined) return {};
  const { $defs, ...value } = toJSON(label, schema, toJSONSchema, "output");
  return { returns: schema, output: { type: "object", properties: { value }, required: ["value"], ...($defs && { $defs }) } };
}

// toJSON is the JSON Schema of a schema: one of zod 4, or of the AI SDK's jsonSchema().
function toJSON(label, schema, toJSONSchema, io = "input") {
  let json;
  if (schema && typeof schema === "object" && schema._zod) {
    if (!toJSONSchema) throw new Error(`${label} is a schema of zod, and zod 4 was not found beside the module; install it there: npm install zod`);
    try {
      json = toJSONSchema(schema, { io });
    } catch (e) {
      throw new Error(`${label} is of the wrong kind: ${e.message}`);
    }
  } else if (schema && typeof schema === "object" && (schema._def || typeof schema.safeParse === "function")) {
    throw new Error(`${label} is a schema of zod 3, or older; zod 4 is needed: npm install zod@4`);
  } else if (schema && typeof schema === "object" && schema.jsonSchema && typeof schema.jsonSchema === "object") {
    json = schema.jsonSchema;
  } else {
    throw new Error(`${label} is of the wrong kind: want z.object({...}) of zod 4, and it is ${schema === null ? "null" : `a ${typeof schema}`}`);
  }
  if (io === "input" && json.type !== "object") throw new Error(`${label} is of the wrong kind: want z.object({...}), and it describes ${json.type ? `a ${json.type}` : "no object"}`);
  const { $schema, ...rest } = json;
  return rest;
}

const tools = new Map();
const report = { tools: {}, names: {}, problems: {} };

async function load() {
  try {
    const module = await import("./src/module.mjs");
    let exported = module.tools;
    if (settings.import) {
      const set = exported[settings.import] ?? exported.default?.[settings.import];
      if (set === undefined) throw new Error(`${settings.module} exports no ${settings.import}; it exports ${Object.keys(exported).join(", ") || "nothing"}`);
      exported = isClass(set) ? await new set().getTools() : typeof set === "function" ? await set() : set;
      if (Array.isArray(exported)) exported = Object.fromEntries(exported.map((t) => [t?.name, t]));
    }
    for (const name of settings.tools) {
      try {
        const tool = await describe(name, exported, module.toJSONSchema);
        if (tool.own !== undefined && tool.own !== name) report.names[name] = tool.own;
        tools.set(name, tool);
        report.tools[name] = typeof tool.says === "function" ? "function" : tool.says === undefined ? "" : tool.says ? "ask" : "free";
      } catch (e) {
        report.problems[name] = e.message;
      }
    }
  } catch (e) {
    report.failed = short(e);
  }
}

const running = new Map();

// What is printed during a call belongs to it, also where several calls run at a time.
const current = new AsyncLocalStorage();
for (const name of ["stdout", "stderr"]) {
  const write = process[name].write.bind(process[name]);
  process[name].write = (chunk, encoding, done) => {
    current.getStore()?.("print", name, typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"));
    return write(chunk, encoding, done);
  };
}

// reporter tells how a call goes, until it ended.
function reporter(token) {
  let count = 0;
  return (kind, stream, message, metadata) => {
    if (count < 0 || token === undefined) return;
    if (kind === "end") return void (count = -1);
    const _meta = kind === "print" ? { "ai.tongs/stream": stream } : { "ai.tongs/metadata": metadata };
    out({ method: "notifications/progress", params: { progressToken: token, progress: count++, message, _meta } });
  };
}

// bytes are written as base64 in results.
const bytes = (key, value) => (value?.type === "Buffer" && Array.isArray(value.data) ? Buffer.from(value.data).toString("base64") : value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value);

// inner is the value in a result of the form {ok, value} or {title, output, metadata}.
const inner = (v) => (v?.ok === true && "value" in v ? v.value : typeof v?.title === "string" && "output" in v && typeof v.metadata === "object" ? v.output : v);

const issuesOf = (checked) => checked.error.issues.map((i) => `${i.path.join(".") || "value"}: ${i.message}`).join("; ");

async function call(id, params) {
  const args = params.arguments ?? {};
  const asked = params.name === settings.asks;
  const tool = tools.get(asked ? args.tool : params.name);
  if (!tool) return out({ id, error: { code: -32602, message: `there is no tool ${params.name}` } });
  const control = new AbortController();
  running.set(id, control);
  const callId = String(params._meta?.progressToken ?? id);
  const { session = "", message = "", agent = "" } = params._meta?.["ai.tongs/call"] ?? {};
  const tell = reporter(params._meta?.progressToken);
  const options = {
    metadata: ({ title = "", metadata } = {}) => tell("update", "", String(title), metadata),
    workspace, callId, callID: callId, toolCallId: callId, sessionID: session, messageID: message, agent, messages: [],
    abortSignal: control.signal, abort: control.signal,
  };
  try {
    let input = asked ? args.input : args;
    if (tool.schema._zod && typeof tool.schema.safeParseAsync === "function") {
      const checked = await tool.schema.safeParseAsync(input);
      if (!checked.success) {
        const issues = checked.error.issues.map((i) => `${i.path.join(".") || "arguments"}: ${i.message}`).join("; ");
        return out({ id, error: { code: -32602, message: issues } });
      }
      input = checked.data;
    }
    let value = await current.run(tell, () => (asked ? tool.says(input, options) : tool.run(input, options)));
    if (asked) value = Boolean(value);
    else if (tool.returns?._zod && value?.ok !== false) {
      const checked = await tool.returns.safeParseAsync(inner(value));
      if (!checked.success) throw new TypeError(`what it returned does not fit its outputSchema: ${issuesOf(checked)}`);
    }
    const json = value === undefined ? undefined : JSON.stringify(value, bytes);
    const result = { content: [{ type: "text", text: typeof value === "string" ? value : json ?? "" }] };
    if (json !== undefined) result.structuredContent = { value: JSON.parse(json) };
    out({ id, result });
  } catch (e) {
    out({ id, result: { isError: true, content: [{ type: "text", text: short(e) }] } });
  } finally {
    tell("end");
    running.delete(id);
  }
}

const loading = load();

async function serve(message) {
  const { id, method, params } = message;
  switch (method) {
    case "initialize":
      await loading;
      return out({
        id, result: {
          protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: settings.module, version: "1" },
          instructions: JSON.stringify(report),
        },
      });
    case "tools/list": {
      const list = [...tools.values()].map((t) => ({ name: t.name, title: t.title, description: t.description ?? `Custom tool: ${t.name}`, inputSchema: t.input, outputSchema: t.output }));
      return out({ id, result: { tools: list } });
    }
    case "tools/call":
      return call(id, params);
    case "ping":
      return out({ id, result: {} });
    case "notifications/cancelled":
      return running.get(params?.requestId)?.abort();
  }
  if (id !== undefined) out({ id, error: { code: -32601, message: `unknown method ${method}` } });
}

for (const event of ["uncaughtException", "unhandledRejection"]) {
  process.on(event, (e) => { console.error(short(e)); process.exit(1); });
}

let rest = [];
const input = new net.Socket({ fd: 4, readable: true, writable: false }); // a stream of files would keep the program from ending
input.on("data", (data) => {
  let from = 0;
  for (let at = data.indexOf(10); at >= 0; at = data.indexOf(10, from)) {
    rest.push(data.subarray(from, at));
    const line = Buffer.concat(rest).toString("utf8");
    rest = [];
    from = at + 1;
    if (line.trim()) serve(JSON.parse(line));
  }
  rest.push(data.subarray(from));
});
input.on("end", () => process.exit(0));
input.on("error", () => process.exit(1));
