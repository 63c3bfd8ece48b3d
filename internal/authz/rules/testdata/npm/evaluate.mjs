// Reads JSON lines: first a list of bindings, then one condition a line. Writes for each condition a line with the list of its
// results for the bindings: "true", "false", "error" or another value as text.
//
// A value is tagged with its type, because JSON has one kind of number: {"int": "5"}, {"timestamp": "2026-..."}.
import { celEnv, celMethod, CelScalar, isCelError, mapType, parse, plan } from "@bufbuild/cel";
import { fromJson } from "@bufbuild/protobuf";
import { DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";

const make = {
  int: (v) => BigInt(v),
  double: (v) => v,
  string: (v) => v,
  bool: (v) => v,
  timestamp: (v) => fromJson(TimestampSchema, v),
  duration: (v) => fromJson(DurationSchema, v),
  list: (v) => v.map(value),
  map: (v) => new Map(Object.entries(v).map(([key, of]) => [key, value(of)])),
};

function value(tagged) {
  const [[type, of]] = Object.entries(tagged);
  return make[type](of);
}

let input = "";
for await (const chunk of process.stdin) input += chunk;
const [first, ...conditions] = input.trimEnd().split("\n").map((line) => JSON.parse(line));
const bindings = first.map((variables) => Object.fromEntries(Object.entries(variables).map(([name, of]) => [name, value(of)])));

const text = CelScalar.STRING;
const decisions = celMethod("decisions", mapType(text, CelScalar.DYN), [text, text, text], CelScalar.INT, function (action, outcome, window) {
  return this.get("decisions").get(`${action} ${outcome} ${window}`);
});
const env = celEnv({ funcs: [decisions] });

for (const condition of conditions) {
  const evaluate = plan(env, parse(condition));
  console.log(JSON.stringify(bindings.map((variables) => {
    const result = evaluate(variables);
    return isCelError(result) ? "error" : String(result);
  })));
}
