// Recognises within a few characters why typing gives nothing to measure.
import type { TypingSeen } from "../../../../sdk/js/src/collector/index";

/** hidden: the keyboard does not report its keys; inserted: text appears at once; program: keys are as regular as a program's. */
export type Trouble = "hidden" | "inserted" | "pasted" | "program";

const hiddenCharacters = 5;
const insertedWord = 3; // characters that an inserted text counts for
const regularKeys = 10;
const shortestHold = 8; // ms; people hold a key for 50 ms and more
const smallestSpread = 1.5; // ms, of the times between keys; people's differ by tens of milliseconds

/** Returns what the collector has seen that cannot be measured, or undefined. */
export function troubleOf(seen: TypingSeen, before: TypingSeen | undefined): Trouble | undefined {
  if (seen.pasted > (before?.pasted ?? 0)) return "pasted";
  const elsewhere = seen.keyboard === "touch" || seen.keyboard === "hidden";
  if (elsewhere && seen.taps + insertedWord * seen.inserted >= hiddenCharacters && seen.taps + seen.inserted > seen.keys) return "hidden";
  return seen.inserted > (before?.inserted ?? 0) ? "inserted" : undefined;
}

/** Watches a field for keys that no person presses. */
export class Regularity {
  private downs: number[] = [];
  private holds: number[] = [];
  private readonly held = new Map<string, number>();

  constructor(field: HTMLTextAreaElement, private readonly program: () => void) {
    field.addEventListener("keydown", (e) => this.down(e));
    field.addEventListener("keyup", (e) => this.up(e));
  }

  private down(e: KeyboardEvent): void {
    if (!e.isTrusted) this.program();
    if (!e.code || e.repeat) return;
    this.held.set(e.code, e.timeStamp);
    this.downs = [...this.downs.slice(1 - regularKeys), e.timeStamp];
  }

  private up(e: KeyboardEvent): void {
    const pressed = this.held.get(e.code);
    if (pressed === undefined) return;
    this.held.delete(e.code);
    this.holds = [...this.holds.slice(1 - regularKeys), e.timeStamp - pressed];
    if (regular(this.downs, this.holds)) this.program();
  }
}

/** Reports whether keys were held or follow each other as only a program does it. */
function regular(downs: number[], holds: number[]): boolean {
  if (downs.length < regularKeys || holds.length < regularKeys) return false;
  if (Math.max(...holds) < shortestHold) return true;
  const gaps = downs.slice(1).map((at, i) => at - (downs[i] ?? at));
  return Math.max(...gaps) - Math.min(...gaps) < smallestSpread;
}
