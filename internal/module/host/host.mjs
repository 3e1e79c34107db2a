// The host of a JavaScript module: it speaks MCP for the tools that the module exports.
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

// describe makes a tool of an export, or says in a sentence why there is none.
function describe(name, exported, all, toJSONSchema) {
  const found = exported[name];
  if (found === undefined || found === null) {
    const names = Object.keys(exported).filter((k) => !k.endsWith("Schema") && !k.endsWith("NeedsApproval") && k !== "default");
    throw new Error(`${settings.module} exports no ${name}; it exports ${names.join(", ") || "nothing"}`);
  }
  if (typeof found === "object" && typeof found.execute === "function") {
    const schema = found.inputSchema ?? found.parameters;
    if (schema === undefined) throw new Error(`the tool object ${name} has no inputSchema; give it a z.object({...})`);
    return {
      name, schema, input: toJSON(`${name}.inputSchema`, schema, toJSONSchema), says: found.needsApproval,
      description: found.description ?? settings.descriptions?.[name], run: (args, options) => found.execute(args, options),
    };
  }
  if (typeof found === "function") {
    const schema = all[`${name}Schema`];
    if (schema === undefined) throw new Error(`the function ${name} has no schema; export const ${name}Schema = z.object({...}) beside it`);
    return {
      name, schema, input: toJSON(`${name}Schema`, schema, toJSONSchema), says: all[`${name}NeedsApproval`] ?? found.needsApproval,
      description: settings.descriptions?.[name] ?? schema.description, run: (args, options) => found(args, options),
    };
  }
  throw new Error(`the export ${name} is ${Array.isArray(found) ? "an array" : typeof found === "object" ? "an object without an execute function" : `a ${typeof found}`}; a tool is a function or a tool object`);
}

// toJSON is the JSON Schema of a schema: one of zod 4, or of the AI SDK's jsonSchema().
function toJSON(label, schema, toJSONSchema) {
  let json;
  if (schema && typeof schema === "object" && schema._zod) {
    if (!toJSONSchema) throw new Error(`${label} is a schema of zod, and zod 4 was not found beside the module; install it there: npm install zod`);
    try {
      json = toJSONSchema(schema, { io: "input" });
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
  if (json.type !== "object") throw new Error(`${label} is of the wrong kind: want z.object({...}), and it describes ${json.type ? `a ${json.type}` : "no object"}`);
  const { $schema, ...rest } = json;
  return rest;
}

const tools = new Map();
const report = { tools: {}, problems: {} };

async function load() {
  try {
    const module = await import("./src/module.mjs");
    let exported = module.tools;
    if (settings.import) {
      const set = exported[settings.import] ?? exported.default?.[settings.import];
      if (set === undefined) throw new Error(`${settings.module} exports no ${settings.import}; it exports ${Object.keys(exported).join(", ") || "nothing"}`);
      exported = typeof set === "function" ? await set() : set;
      if (Array.isArray(exported)) exported = Object.fromEntries(exported.map((t) => [t?.name, t]));
    }
    for (const name of settings.tools) {
      try {
        const tool = describe(name, exported, exported, module.toJSONSchema);
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

async function call(id, params) {
  const args = params.arguments ?? {};
  const asked = params.name === settings.asks;
  const tool = tools.get(asked ? args.tool : params.name);
  if (!tool) return out({ id, error: { code: -32602, message: `there is no tool ${params.name}` } });
  const control = new AbortController();
  running.set(id, control);
  const callId = String(params._meta?.progressToken ?? id);
  const { session = "", message = "", agent = "" } = params._meta?.["ai.tongs/call"] ?? {};
  const options = {
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
    let value = await (asked ? tool.says(input, options) : tool.run(input, options));
    if (asked) value = Boolean(value);
    const json = value === undefined ? undefined : JSON.stringify(value);
    const result = { content: [{ type: "text", text: typeof value === "string" ? value : json ?? "" }] };
    if (json !== undefined) result.structuredContent = { value: JSON.parse(json) };
    out({ id, result });
  } catch (e) {
    out({ id, result: { isError: true, content: [{ type: "text", text: short(e) }] } });
  } finally {
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
      const list = [...tools.values()].map((t) => ({ name: t.name, description: t.description ?? `Custom tool: ${t.name}`, inputSchema: t.input }));
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
