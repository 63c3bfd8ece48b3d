// Shows how far the start of the workflow engine is.
import { get } from "../lib/http";

const every = 2_000; // ms between requests

/** Updates the note until the engine runs, then hides it. A note that is hidden from the start is left alone. No live region: a step every
 * two seconds would drown out a screen reader. */
export async function followEngine(note: HTMLElement): Promise<void> {
  while (!note.hidden) {
    await new Promise((resume) => window.setTimeout(resume, every));
    try {
      const { starting } = await get<{ starting: string }>("/try/engine");
      if (starting === "") note.hidden = true;
      else note.textContent = starting;
    } catch {
      // The service itself may restart: the next request shows it.
    }
  }
}
