"""The host of a Python module: it speaks MCP for the functions that the module has."""
import asyncio
import base64
import dataclasses
import enum
import importlib
import inspect
import json
import os
import re
import sys
import threading
import traceback
import types
import typing
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "settings.json"), encoding="utf-8") as f:
    settings = json.load(f)
settings["tools"] = json.loads(os.environ.pop("TONGS_TOOLS"))
os.environ.pop("TONGS_LANGUAGE", None)
source = os.path.join(here, "src")
os.set_inheritable(3, False)
os.set_inheritable(4, False)

# What the module can import was copied with it and looked at, or belongs to the installation; nothing else is imported.
roots = [os.path.realpath(p) for p in sys.path if p] + [source]


def guarded(hook):
    def find(path):
        real = os.path.realpath(path or os.getcwd())
        if not any(real == r or real.startswith(r + os.sep) for r in roots):
            raise ImportError(f"{path} was not there when the module was looked at")
        return hook(path)
    return find


sys.path_hooks[:] = [guarded(h) for h in sys.path_hooks]
sys.path_importer_cache.clear()
sys.path.insert(0, source)


@dataclasses.dataclass(frozen=True)
class ToolContext:
    """What a function is given that has a parameter ctx or context."""
    workspace: str
    call_id: str
    session_id: str = ""
    message_id: str = ""
    agent: str = ""
    tell: typing.Any = dataclasses.field(default=lambda *_: None, repr=False)

    def metadata(self, title="", metadata=None):
        """Tells how the call goes, while it goes."""
        self.tell(str(title), {"ai.tongs/metadata": metadata} if metadata else {})


try:
    import pydantic
except ImportError:
    pydantic = None


class Problem(Exception):
    """A sentence that says why there is no tool."""


def is_context(p):
    if p.name not in ("ctx", "context"):
        return False
    return p.annotation is p.empty or getattr(p.annotation, "__name__", str(p.annotation)).endswith("Context")


PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schema_of(t):
    """The JSON Schema of a type, without pydantic."""
    if t in PLAIN:
        return {"type": PLAIN[t]}
    if t is typing.Any or t is object:
        return {}
    if t in (list, tuple, set):
        return {"type": "array"}
    if t is dict:
        return {"type": "object"}
    origin, args = typing.get_origin(t), typing.get_args(t)
    if origin is typing.Annotated:
        found = dict(schema_of(args[0]))
        for note in args[1:]:
            if isinstance(note, str):
                found["description"] = note
        return found
    if origin in (list, set, frozenset, typing.get_origin(typing.Sequence[int])):
        return {"type": "array", "items": schema_of(args[0])}
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return {"type": "array", "items": schema_of(args[0])}
        return {"type": "array", "prefixItems": [schema_of(a) for a in args], "minItems": len(args), "maxItems": len(args)}
    if origin in (dict, typing.get_origin(typing.Mapping[str, int])):
        if args[0] is not str:
            raise Problem(f"a dict has strings as keys in JSON, not {args[0]}")
        return {"type": "object", "additionalProperties": schema_of(args[1])}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of(a) for a in args]}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if inspect.isclass(t) and issubclass(t, enum.Enum):
        return {"enum": [e.value for e in t]}
    if dataclasses.is_dataclass(t):
        hints = typing.get_type_hints(t, include_extras=True)
        needed = [f.name for f in dataclasses.fields(t) if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
        return {"type": "object", "properties": {f.name: schema_of(hints[f.name]) for f in dataclasses.fields(t)},
                "required": needed, "additionalProperties": False}
    if typing.is_typeddict(t):
        hints = typing.get_type_hints(t, include_extras=True)
        return {"type": "object", "properties": {k: schema_of(v) for k, v in hints.items()}, "required": sorted(t.__required_keys__)}
    raise Problem(f"its type {getattr(t, '__name__', t)} is of the wrong kind" + ("" if pydantic else "; it may need pydantic, which is not installed"))


def convert(t, value):
    """A value of JSON as the type wants it, without pydantic."""
    origin, args = typing.get_origin(t), typing.get_args(t)
    if origin is typing.Annotated:
        return convert(args[0], value)
    if t is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if origin in (list, set, frozenset, tuple) and isinstance(value, list):
        kinds = args if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis) else (args[0],) * len(value)
        return origin(convert(k, v) for k, v in zip(kinds, value))
    if origin is dict and isinstance(value, dict):
        return {k: convert(args[1], v) for k, v in value.items()}
    if origin in (typing.Union, types.UnionType):
        inner = [a for a in args if a is not type(None)]
        return value if value is None or len(inner) != 1 else convert(inner[0], value)
    if inspect.isclass(t) and issubclass(t, enum.Enum):
        return t(value)
    if dataclasses.is_dataclass(t) and isinstance(value, dict):
        hints = typing.get_type_hints(t, include_extras=True)
        return t(**{k: convert(hints[k], v) for k, v in value.items()})
    return value


def documented(function):
    """The description of a function and of its parameters, from its docstring."""
    doc = inspect.getdoc(function) or ""
    about, described, current, inside = [], {}, None, False
    for line in doc.splitlines():
        if re.match(r"^(Args|Arguments|Parameters):\s*$", line):
            inside = True
            continue
        if re.match(r"^(Returns|Raises|Yields|Examples?|Notes?):", line):
            inside, current = None, None
        if inside is False:
            found = re.match(r"^:param\s+(?:\w+\s+)?(\w+):\s*(.*)$", line)
            if found:
                described[found[1]] = found[2]
            elif not line.startswith(":"):
                about.append(line)
        elif inside:
            found = re.match(r"^\s+\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$", line)
            if found:
                current = found[1]
                described[current] = found[2]
            elif current and line.strip():
                described[current] += " " + line.strip()
    return "\n".join(about).strip(), described


class Tool:
    def __init__(self, name, function, says, returns=None):
        self.name, self.function, self.says, self.output = name, function, says, None
        if returns is not None:
            if not isinstance(returns, dict):
                if not pydantic:
                    raise Problem(f"{name}_output_schema is no dict with a JSON schema, and pydantic is not installed")
                returns = pydantic.TypeAdapter(returns).json_schema()
            value = {k: v for k, v in returns.items() if k != "$defs"}
            self.output = {"type": "object", "properties": {"value": value}, "required": ["value"]}
            if "$defs" in returns:
                self.output["$defs"] = returns["$defs"]
        self.description, described = documented(function)
        try:
            signature = inspect.signature(function, eval_str=True)
        except NameError as e:
            raise Problem(f"a type hint of {name} cannot be read: {e}") from None
        params = list(signature.parameters.values())
        self.context = next((p.name for p in params if is_context(p)), None)
        self.params = [p for p in params if p.name != self.context]
        for p in self.params:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
                raise Problem(f"the parameter {p.name} of {name} has no name to call it by; a tool takes named parameters")
            if p.annotation is p.empty:
                raise Problem(f"the parameter {p.name} of {name} has no type hint, so that there is no schema; write {p.name}: str, or what it is")
        self.adapters, self.whole = {}, None
        if len(self.params) == 1 and pydantic and inspect.isclass(self.params[0].annotation) and issubclass(self.params[0].annotation, pydantic.BaseModel):
            self.whole = self.params[0]
            self.input = self.whole.annotation.model_json_schema()
        else:
            self.input = self.schema(described)
        self.input.pop("title", None)

    def schema(self, described):
        if pydantic:
            fields = {}
            for p in self.params:
                info = pydantic.Field(default=... if p.default is p.empty else p.default)
                fields[p.name] = (p.annotation, info)
            try:
                self.model = pydantic.create_model(self.name, **fields)
                made = self.model.model_json_schema()
            except Exception as e:
                raise Problem(f"the type hints of {self.name} are of the wrong kind: {e}") from None
            for p in made.get("properties", {}).values():
                p.pop("title", None)
            made["additionalProperties"] = False
        else:
            properties = {}
            for p in self.params:
                try:
                    properties[p.name] = schema_of(p.annotation)
                except Problem as e:
                    raise Problem(f"the parameter {p.name} of {self.name}: {e}") from None
                if p.default is not p.empty:
                    try:
                        json.dumps(p.default)
                        properties[p.name]["default"] = p.default
                    except TypeError:
                        pass
            made = {"type": "object", "properties": properties, "required": [p.name for p in self.params if p.default is p.empty],
                    "additionalProperties": False}
            self.model = None
        made.setdefault("properties", {})
        for name, about in described.items():
            if name in made["properties"] and "description" not in made["properties"][name]:
                made["properties"][name]["description"] = about
        return made

    def arguments(self, args):
        if self.whole:
            return {self.whole.name: self.whole.annotation.model_validate(args)}
        if self.model:
            made = self.model.model_validate(args)
            return {p.name: getattr(made, p.name) for p in self.params if p.name in args}
        return {p.name: convert(p.annotation, args[p.name]) for p in self.params if p.name in args}

    def call(self, function, args, ctx):
        given = self.arguments(args)
        if function is not self.function:
            names = inspect.signature(function).parameters
            given = {k: v for k, v in given.items() if k in names or any(p.kind is p.VAR_KEYWORD for p in names.values())}
            context = next((p.name for p in names.values() if is_context(p)), None)
        else:
            context = self.context
        if context:
            given[context] = ctx
        value = function(**given)
        if inspect.isawaitable(value):
            value = asyncio.run(wait_for(value))
        return value


async def wait_for(value):
    return await value


def plain(value):
    """What JSON has no name for, as it is usually written."""
    if pydantic and isinstance(value, pydantic.BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, enum.Enum):
        return value.value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"the result holds a {type(value).__name__}, which JSON cannot")


tools, report = {}, {"tools": {}, "problems": {}}


def short(e):
    lines = traceback.format_exception(type(e), e, e.__traceback__)
    text = "".join(l for l in lines if os.path.join(here, "host.py") not in l and "<frozen importlib" not in l)
    return text.replace(source + os.sep, "").strip()


def load():
    try:
        module = importlib.import_module(settings["name"])
    except BaseException as e:
        report["failed"] = short(e)
        return
    for name in settings["tools"]:
        try:
            found = getattr(module, name, None)
            if found is None:
                names = [n for n, v in vars(module).items() if inspect.isfunction(v) and v.__module__ == module.__name__
                         and not n.startswith("_") and not n.endswith(("_needs_approval", "_requires_approval"))]
                raise Problem(f"{settings['module']} has no {name}; it has {', '.join(names) or 'no functions'}")
            if not callable(found) or inspect.isclass(found):
                raise Problem(f"{name} is a {type(found).__name__}; a tool is a function with type hints")
            given = [getattr(where, word) for where, words in (
                (module, [name + end for end in ("_needs_approval", "NeedsApproval", "_requires_approval", "RequiresApproval")]),
                (found, ["needs_approval", "requires_approval"])) for word in words if hasattr(where, word)]
            if len(given) > 1:
                raise Problem(f"{name} says more than once whether it needs approval; keep one")
            says = given[0] if given else None
            tools[name] = Tool(name, found, says, getattr(module, name + "_output_schema", None))
            report["tools"][name] = "function" if callable(says) else "" if says is None else "ask" if says else "free"
        except Problem as e:
            report["problems"][name] = str(e)
        except Exception as e:
            report["problems"][name] = f"{name} cannot be made a tool: {e}"


writing = threading.Lock()
output = os.fdopen(3, "wb", buffering=0)


def send(message):
    data = memoryview((json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=True) + "\n").encode())
    with writing:
        while data:
            data = data[output.write(data):]


running = threading.local()


class Printed:
    """A stream whose text belongs to the call that writes it, if one does, and goes on as before."""

    def __init__(self, name, to):
        self.name, self.to = name, to

    def write(self, text):
        tell = getattr(running, "tell", None)
        if tell and text:
            tell(text, {"ai.tongs/stream": self.name})
        return self.to.write(text)

    def __getattr__(self, name):
        return getattr(self.to, name)


sys.stdout, sys.stderr = Printed("stdout", sys.stdout), Printed("stderr", sys.stderr)


def reporter(token):
    """Tells how a call goes, until it ended."""
    count = iter(range(1 << 62))

    def tell(message, meta):
        if tell.live and token is not None:
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": next(count), "message": message, "_meta": meta}})
    tell.live = True
    return tell


def call(id, params):
    args = params.get("arguments") or {}
    asked = params["name"] == settings["asks"]
    tool = tools.get(args.get("tool") if asked else params["name"])
    if tool is None:
        return send({"id": id, "error": {"code": -32602, "message": f"there is no tool {params['name']}"}})
    meta = params.get("_meta") or {}
    about = meta.get("ai.tongs/call") or {}
    running.tell = tell = reporter(meta.get("progressToken"))
    ctx = ToolContext(os.environ.get("AGENT_WORKSPACE_ROOT", ""), str(meta.get("progressToken", id)),
                      about.get("session", ""), about.get("message", ""), about.get("agent", ""), tell)
    try:
        value = tool.call(tool.says, args.get("input") or {}, ctx) if asked else tool.call(tool.function, args, ctx)
        if asked:
            value = bool(value)
        text = json.dumps(value, default=plain, allow_nan=False, ensure_ascii=False)
        result = {"content": [{"type": "text", "text": value if isinstance(value, str) else "" if value is None else text}]}
        if value is not None:
            result["structuredContent"] = {"value": json.loads(text)}
        send({"id": id, "result": result})
    except BaseException as e:
        if pydantic and isinstance(e, pydantic.ValidationError):
            said = "; ".join(f"{'.'.join(map(str, p['loc'])) or 'arguments'}: {p['msg']}" for p in e.errors())
            return send({"id": id, "error": {"code": -32602, "message": said}})
        send({"id": id, "result": {"isError": True, "content": [{"type": "text", "text": short(e)}]}})
        if isinstance(e, SystemExit):
            os._exit(e.code if isinstance(e.code, int) else 1)
    finally:
        running.tell, tell.live = None, False


def serve(message, pool):
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize":
        send({"id": id, "result": {
            "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": settings["module"], "version": "1"},
            "instructions": json.dumps(report)}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": [
            {"name": t.name, "description": t.description or f"Custom tool: {t.name}", "inputSchema": t.input,
             **({"outputSchema": t.output} if t.output else {})} for t in tools.values()]}})
    elif method == "tools/call":
        pool.submit(call, id, params)
    elif method == "ping":
        send({"id": id, "result": {}})
    elif id is not None:
        send({"id": id, "error": {"code": -32601, "message": f"unknown method {method}"}})


load()
with os.fdopen(4, "rb") as lines:
    workers = ThreadPoolExecutor(max_workers=32)
    for line in lines:
        if line.strip():
            serve(json.loads(line), workers)
sys.stderr.flush()
os._exit(0)
