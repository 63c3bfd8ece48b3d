// The rule builder: rows of value, operator and operand beside the condition of each rule. The server translates between both, so that
// either edits the other, and says what is wrong and how many stored decisions match. Without this script the conditions are text.

import { announce, data, find, make } from "../lib/dom";
import { post, Problem } from "../lib/http";
import { complete } from "./completion";

/** A value that conditions can test. */
export interface Value {
  text: string;
  label: string;
  group: string;
  kind: string;
  choices?: string[];
}
interface Test {
  value: string;
  operator: string;
  operand: string;
}
interface Form {
  any: boolean;
  tests: Test[];
}
interface Option {
  Value: string;
  Label: string;
}
interface Reply {
  when: string;
  form: Form | null;
  said: string;
  faults: string[];
  values?: Value[];
  operators?: Record<string, Option[]>;
  functions?: string[];
  examples?: { said: string; when: string }[];
}

/** The pauses after the last key before the server is asked, in milliseconds. */
const pause = 300;
const longPause = 800;

/** What conditions of this form can use. It changes with the schema. */
const known: { values: Value[]; operators: Record<string, Option[]>; functions: string[] } = { values: [], operators: {}, functions: [] };

const withoutOperand = ["is true", "is false", "is given", "is missing"];
const severalLines = ["one of", "none of"];

/** Runs a function once the calls have stopped for a while. */
function later(wait: number, run: () => void): () => void {
  let pending: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(pending);
    pending = setTimeout(run, wait);
  };
}

function choose(label: string, options: HTMLElement[], value: string): HTMLSelectElement {
  const out = make("select", { "aria-label": label }, ...options);
  out.value = value;
  return out;
}

/** With more values than this a search narrows them. */
const several = 12;

/** Reports whether a value has all words of a search, in its name, its group or as conditions write it. */
function found(v: Value, search: string): boolean {
  const text = `${v.label} ${v.group} ${v.text}`.toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** Returns the choices of values that a search finds, in their groups. A value that is not among them is one more. */
function valueOptions(value: string, search = ""): HTMLElement[] {
  const groups = new Map<string, HTMLOptGroupElement>();
  const offered = known.values.filter((v) => found(v, search));
  for (const v of offered) {
    const group = groups.get(v.group) ?? make("optgroup", { label: v.group });
    groups.set(v.group, group);
    group.append(make("option", { value: v.text }, v.label));
  }
  const out: HTMLElement[] = [...groups.values()];
  if (!offered.some((v) => v.text === value)) {
    const label = known.values.find((v) => v.text === value)?.label ?? value;
    out.unshift(make("option", { value }, value === "" ? "choose a value" : label));
  }
  return out;
}

/** The builder of one rule. */
class Builder {
  private readonly text: HTMLTextAreaElement;
  private readonly said: HTMLElement;
  private readonly matched: HTMLElement;
  private readonly reserve: HTMLInputElement;
  private form: Form = { any: false, tests: [] };
  private asked = 0;
  private counting: AbortController | undefined;
  private readonly countSoon = later(longPause, () => void this.count());

  constructor(
    private readonly page: HTMLFormElement,
    rule: HTMLElement,
    private readonly place: HTMLElement,
  ) {
    this.text = find<HTMLTextAreaElement>("[data-when]", rule);
    this.said = find("[data-rule-said]", rule);
    this.matched = find("[data-rule-matches]", rule);
    this.reserve = find<HTMLInputElement>("[data-reserve]", rule);
    place.hidden = false;
    complete(this.text, () => [...known.values.map((v) => ({ text: v.text, label: v.label })), ...known.functions.map((text) => ({ text, label: "" }))]);
    const read = later(pause, () => void this.read());
    this.text.addEventListener("input", read);
    this.reserve.addEventListener("change", read);
  }

  private body(more: object = {}): object {
    return { when: this.text.value, schema: schemaOf(this.page), reserve: this.reserve.checked, ...more };
  }

  /** Asks the server. A reply that came too late is none. */
  private async ask(more: object): Promise<Reply | undefined> {
    const turn = ++this.asked;
    try {
      const reply = await post<Reply>(data(this.page, "ruleBuilder"), this.body(more));
      return turn === this.asked ? reply : undefined;
    } catch (error) {
      announce(this.said, error instanceof Problem ? error.detail : "The service cannot be reached. The condition can still be edited as text.");
      return undefined;
    }
  }

  /** Shows the condition in the builder. */
  async read(values = false): Promise<Reply | undefined> {
    const reply = await this.ask(values ? { values } : {});
    if (!reply) return undefined;
    if (reply.values) Object.assign(known, { values: reply.values, operators: reply.operators ?? {}, functions: reply.functions ?? [] });
    this.report(reply);
    this.show(reply.form);
    return reply;
  }

  /** Writes the condition that the builder shows. */
  private async write(): Promise<void> {
    const reply = await this.ask({ form: this.form });
    if (!reply) return;
    if (reply.form) {
      this.text.value = reply.when;
      this.text.dispatchEvent(new Event("change", { bubbles: true }));
    }
    this.report(reply);
  }

  private report(reply: Reply): void {
    const sentence = reply.said === "" ? "" : `The rule is about requests in which ${reply.said}.`;
    announce(this.said, reply.faults.length > 0 ? reply.faults.join(" ") : sentence);
    this.said.classList.toggle("fault", reply.faults.length > 0);
    this.counting?.abort();
    if (reply.faults.length > 0 || reply.when.trim() === "") announce(this.matched, "");
    else this.countSoon();
  }

  /** Says how many stored decisions the condition matches. */
  private async count(): Promise<void> {
    const counting = (this.counting = new AbortController());
    try {
      const reply = await post<{ said: string }>(data(this.page, "ruleMatching"), this.body(), counting.signal);
      announce(this.matched, reply.said);
    } catch (error) {
      if (!counting.signal.aborted) announce(this.matched, error instanceof Problem ? error.detail : "");
    }
  }

  private show(form: Form | null): void {
    if (this.place.contains(document.activeElement)) return; // the user builds
    if (!form) {
      this.place.replaceChildren(make("p", { class: "hint" }, "The builder cannot show this condition. Edit it as text."));
      return;
    }
    this.form = form;
    this.draw();
  }

  private draw(): void {
    const join = choose("Which of the tests must be true", [make("option", { value: "all" }, "all of these"), make("option", { value: "any" }, "any of these")], this.form.any ? "any" : "all");
    join.addEventListener("change", () => {
      this.form.any = join.value === "any";
      void this.write();
    });
    const add = make("button", { type: "button", class: "button small" }, "Add a test");
    add.addEventListener("click", () => {
      this.form.tests.push({ value: "", operator: "", operand: "" });
      this.draw();
      this.place.querySelector<HTMLElement>("li:last-child input, li:last-child select")?.focus();
    });
    this.place.replaceChildren(
      make("p", { class: "builder-head" }, "Requests with ", join),
      make("ul", { class: "builder-tests" }, ...this.form.tests.map((test, n) => this.row(test, n))),
      add,
    );
  }

  private row(test: Test, n: number): HTMLElement {
    const value = choose("Value", valueOptions(test.value), test.value);
    const of = known.values.find((v) => v.text === test.value);
    const operators = known.operators[of?.kind ?? "other"] ?? [];
    const options = operators.map((o) => make("option", { value: o.Value }, o.Label));
    if (test.operator !== "" && !operators.some((o) => o.Value === test.operator)) options.unshift(make("option", { value: test.operator }, test.operator));
    const operator = choose("Operator", options, test.operator);
    const remove = make("button", { type: "button", class: "button small quiet", "aria-label": `Remove test ${String(n + 1)}` }, "Remove");
    value.addEventListener("change", () => {
      const chosen = known.values.find((v) => v.text === value.value);
      const first = known.operators[chosen?.kind ?? "other"]?.[0]?.Value ?? "==";
      Object.assign(test, { value: value.value, operator: first, operand: chosen?.choices?.[0] ?? "" });
      this.redraw(n, "select:nth-of-type(2)");
    });
    operator.addEventListener("change", () => {
      test.operator = operator.value;
      this.redraw(n, "[data-operand]");
    });
    remove.addEventListener("click", () => {
      this.form.tests.splice(n, 1);
      this.redraw(Math.max(n - 1, 0), "select");
    });
    return make("li", {}, ...this.search(test, value), value, operator, ...this.operand(test, of), remove);
  }

  /** Returns the search of the values of a test, if there are several. Enter chooses the first that it finds. */
  private search(test: Test, value: HTMLSelectElement): HTMLElement[] {
    if (known.values.length <= several) return [];
    const search = make("input", { type: "search", "aria-label": "Find a value", placeholder: "Find a value…", autocomplete: "off", spellcheck: "false" });
    search.addEventListener("input", () => {
      value.replaceChildren(...valueOptions(test.value, search.value));
      value.value = test.value;
    });
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // the form is not submitted
      const first = known.values.find((v) => found(v, search.value));
      if (!first) return;
      value.value = first.text;
      value.dispatchEvent(new Event("change"));
    });
    return [search];
  }

  private operand(test: Test, of: Value | undefined): HTMLElement[] {
    if (withoutOperand.includes(test.operator) || test.operator === "") return [];
    const label = severalLines.includes(test.operator) ? "Values, one on each line" : "Operand";
    let control: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
    if (severalLines.includes(test.operator)) {
      control = make("textarea", { "aria-label": label, "data-operand": "", rows: "2", spellcheck: "false" });
    } else if (of?.choices && ["==", "!="].includes(test.operator)) {
      control = choose(label, of.choices.map((c) => make("option", { value: c }, c)), test.operand);
      control.dataset["operand"] = "";
    } else {
      control = make("input", { "aria-label": label, "data-operand": "", autocomplete: "off", spellcheck: "false" });
    }
    control.value = test.operand;
    const write = later(pause, () => void this.write());
    control.addEventListener("input", () => {
      test.operand = control.value;
      write();
    });
    return [control];
  }

  /** Draws the rows again and focuses a control of one. */
  private redraw(n: number, selector: string): void {
    this.draw();
    const row = this.place.querySelectorAll("li")[n];
    (row?.querySelector<HTMLElement>(selector) ?? this.place.querySelector<HTMLElement>("button"))?.focus();
    void this.write();
  }

  /** Adds buttons that fill in an example. */
  offer(examples: { said: string; when: string }[]): void {
    const list = make("ul", { class: "plain" }, ...examples.map((e) => {
      const use = make("button", { type: "button", class: "button small quiet" }, e.said);
      use.addEventListener("click", () => {
        this.text.value = e.when;
        this.text.focus();
        void this.read();
      });
      return make("li", {}, use);
    }));
    this.place.after(make("details", { class: "builder-examples" }, make("summary", {}, "Examples"), list));
  }
}

function schemaOf(page: HTMLFormElement): string {
  return find<HTMLTextAreaElement>('[name="context_schema"]', page).value;
}

/** Adds the builder to the rules of the form of a policy version. */
export async function buildRules(): Promise<void> {
  const page = document.querySelector<HTMLFormElement>("form[data-rule-builder]");
  if (!page) return;
  const builders: Builder[] = [];
  for (const rule of page.querySelectorAll<HTMLElement>("[data-rule]")) {
    builders.push(new Builder(page, rule, find("[data-builder]", rule)));
  }
  const first = await builders[0]?.read(true);
  for (const [n, builder] of builders.entries()) {
    if (first?.examples) builder.offer(first.examples);
    if (n > 0) await builder.read();
  }
  find('[name="context_schema"]', page).addEventListener("change", () => void builders[0]?.read(true));
}
