"""Writes src/countersign/_models.py and _operations.py from the contract, and copies the rules for responses: python3 scripts/generate.py [--check]"""

import json
import keyword
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = HERE / "src/countersign"
MARK = '"""Generated from the contract by scripts/generate.py. Do not edit."""\n\n# ruff: noqa\nfrom __future__ import annotations\n\n'


def main() -> int:
    doc = json.loads((HERE / "../../api/openapi/openapi.json").read_text("utf-8"))
    written = {
        "_models.py": models(doc),
        "_operations.py": operations(doc),
        "_contract.json": (HERE / "../go/contract.gen.json").read_text("utf-8"),
    }
    stale = [name for name, text in written.items() if not (PACKAGE / name).exists() or (PACKAGE / name).read_text("utf-8") != text]
    if "--check" in sys.argv:
        if stale:
            print(f"{', '.join(stale)} stale: run make generate")
        return 1 if stale else 0
    for name in stale:
        (PACKAGE / name).write_text(written[name], "utf-8")
    return 0


def type_of(s: dict) -> str:
    if "$ref" in s:
        return s["$ref"].rpartition("/")[2]
    if "const" in s:
        return f"Literal[{s['const']!r}]"
    if "enum" in s:
        return f"Literal[{', '.join(map(repr, s['enum']))}]"
    for many in ("anyOf", "oneOf"):
        if many in s:
            return union([type_of(a) for a in s[many]])
    kinds = s.get("type")
    if isinstance(kinds, list):
        return union([type_of({**s, "type": k}) for k in kinds])
    if kinds == "array":
        return f"list[{type_of(s.get('items', {}))}]"
    if kinds == "object":
        additional = s.get("additionalProperties")
        return f"dict[str, {type_of(additional) if isinstance(additional, dict) else 'Any'}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}.get(kinds, "Any")


def union(kinds: list[str]) -> str:
    return "Any" if "Any" in kinds else " | ".join(dict.fromkeys(kinds))


def models(doc: dict) -> str:
    out = MARK + "from typing import Any, Literal, TypedDict, Union\n\nfrom typing_extensions import NotRequired\n"
    late = ""
    for name, s in sorted(doc["components"]["schemas"].items()):
        properties = s.get("properties")
        if not properties:
            late += f"\n{name} = {quoted(type_of(s))}\n"
            continue
        fields = []
        for field, rule in properties.items():
            kind = type_of(rule)
            if field not in s.get("required", ()):
                kind = f"NotRequired[{kind}]"
            fields.append((field, kind))
        if all(re.fullmatch(r"[A-Za-z_]\w*", f) and not keyword.iskeyword(f) for f, _ in fields):
            out += f"\n\nclass {name}(TypedDict):\n" + documentation(s) + "".join(f"    {f}: {k}\n" for f, k in fields)
        else:
            members = ", ".join(f"{f!r}: {k!r}" for f, k in fields)
            out += f"\n\n{name} = TypedDict({name!r}, {{{members}}})\n"
    return out + "\n" + late


def quoted(kind: str) -> str:
    """A union of names that are defined elsewhere, as typing reads it at run time."""
    parts = kind.split(" | ")
    if len(parts) > 1 and "[" not in kind:
        return "Union[" + ", ".join(p if p in ("str", "int", "float", "bool", "None") else repr(p) for p in parts) + "]"
    return kind


def documentation(s: dict) -> str:
    text = s.get("description", "").replace('"', "'").replace("\\", "")
    return f'    """{text}"""\n\n' if text else ""


def operations(doc: dict) -> str:
    table, sync, asynchronous = "", "", ""
    for path, item in doc["paths"].items():
        for method, op in item.items():
            responses = {c: r for c, r in op["responses"].items() if c.startswith("2")}
            content = [next(iter(r.get("content", {"": {}})), "") for r in responses.values()]
            if "text/event-stream" in content or "operationId" not in op or op.get("deprecated"):
                continue
            parameters = [resolve(doc, p) for p in op.get("parameters", ())]
            keyed = any(p["name"] == "Idempotency-Key" for p in parameters)
            table += f'    "{op["operationId"]}": Operation("{op["operationId"]}", "{method.upper()}", "{path}", {keyed}),\n'
            sync += one(op, parameters, responses, "")
            asynchronous += one(op, parameters, responses, "async ")
    return (
        MARK
        + "from typing import Any, Literal, Mapping, cast\n\nfrom . import _models as m\nfrom ._transport import Operation\n\nOPERATIONS: dict[str, Operation] = {\n"
        + table
        + "}\n\n\nclass Operations:\n    def _call(self, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any] | None, body: Any, headers: Any) -> Any:\n"
        + "        raise NotImplementedError\n"
        + sync
        + "\n\nclass AsyncOperations:\n    async def _call(self, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any] | None, body: Any, headers: Any) -> Any:\n"
        + "        raise NotImplementedError\n"
        + asynchronous
    )


def resolve(doc: dict, p: dict) -> dict:
    return doc["components"]["parameters"][p["$ref"].rpartition("/")[2]] if "$ref" in p else p


def model(kind: str) -> str:
    return re.sub(r"(?<!')\b([A-Z]\w+)\b", lambda x: x[1] if x[1] in ("Any", "None", "Literal") else "m." + x[1], kind)


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def one(op: dict, parameters: list, responses: dict, prefix: str) -> str:
    paths = [p["name"] for p in parameters if p["in"] == "path"]
    queries = [p for p in parameters if p["in"] == "query"]
    arguments = ["self"] + [f"{p}: {'int' if p == 'version' else 'str'}" for p in paths]
    body = op.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        kind = model(type_of(body["schema"]))
        arguments.append(f"body: {kind}" if op["requestBody"].get("required") else f"body: {kind} | None = None")
    keywords = [f"{argument(q['name'])}: {model(type_of(q['schema']))} | None = None" for q in queries]
    arguments += ["*", *keywords, "headers: Mapping[str, str] | None = None"]
    told = responses.get("200") or responses.get("201") or next(iter(responses.values()))
    content = told.get("content", {}).get("application/json")
    kind = model(type_of(content["schema"])) if content else "None"
    query = "{" + ", ".join(f'"{q["name"]}": {argument(q["name"])}' for q in queries) + "}" if queries else "None"
    call = f'self._call(OPERATIONS["{op["operationId"]}"], {{{", ".join(f"{chr(34)}{p}{chr(34)}: {p}" for p in paths)}}}, {query}, {"body" if body else "None"}, headers)'
    call = "await " + call if prefix else call
    return f'\n    {prefix}def {snake(op["operationId"])}({", ".join(arguments)}) -> {kind}:\n        """{op.get("summary", "")}."""\n        ' + (
        f"return cast({kind!r}, {call})\n" if content else f"{call}\n"
    )


def argument(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


if __name__ == "__main__":
    sys.exit(main())
