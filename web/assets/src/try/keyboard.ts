// Recognises from the events of a text field why nothing can be measured, within a few characters.

/** hidden: the keyboard does not say when keys are pressed; program: the keys are as regular as those of a program. */
export type Trouble = "hidden" | "pasted" | "program";

const hiddenCharacters = 5;
const regularKeys = 10;
const shortestHold = 8; // ms; people hold a key for 50 ms and more
const smallestSpread = 1.5; // ms, of the times between keys; people's differ by tens of milliseconds

export class Keyboard {
  private coded = false; // a key with a position was pressed since the last inserted character
  private measured = 0;
  private hidden = 0;
  private downs: number[] = [];
  private holds: number[] = [];
  private readonly held = new Map<string, number>();

  constructor(field: HTMLTextAreaElement, private readonly report: (trouble: Trouble) => void) {
    field.addEventListener("keydown", (e) => this.down(e));
    field.addEventListener("keyup", (e) => this.up(e));
    field.addEventListener("input", (e) => this.input(e as InputEvent));
  }

  private down(e: KeyboardEvent): void {
    if (!e.isTrusted) this.report("program");
    if (!e.code || e.repeat) return;
    this.coded = true;
    this.held.set(e.code, e.timeStamp);
    this.downs = [...this.downs.slice(1 - regularKeys), e.timeStamp];
  }

  private up(e: KeyboardEvent): void {
    const pressed = this.held.get(e.code);
    if (pressed === undefined) return;
    this.held.delete(e.code);
    this.holds = [...this.holds.slice(1 - regularKeys), e.timeStamp - pressed];
    if (regular(this.downs, this.holds)) this.report("program");
  }

  private input(e: InputEvent): void {
    if (/^insertFrom(Paste|Drop|Yank)/.test(e.inputType)) return this.report("pasted");
    if (!e.isTrusted) return this.report("program");
    if (!e.inputType.startsWith("insert")) return;
    if (this.coded) this.measured++;
    else this.hidden += Math.max(1, e.data?.length ?? 1);
    this.coded = false;
    if (this.hidden >= hiddenCharacters && this.hidden > this.measured) this.report("hidden");
  }
}

/** Reports whether keys were held or follow each other as only a program does it. */
function regular(downs: number[], holds: number[]): boolean {
  if (downs.length < regularKeys || holds.length < regularKeys) return false;
  if (Math.max(...holds) < shortestHold) return true;
  const gaps = downs.slice(1).map((at, i) => at - (downs[i] ?? at));
  return Math.max(...gaps) - Math.min(...gaps) < smallestSpread;
}
