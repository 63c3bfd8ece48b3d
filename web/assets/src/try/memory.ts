// What a reload of the page restores. It stays in this tab and holds no text that was typed.
import type { CommentState } from "./comments";
import type { SentFrame } from "./frames";
import type { Point } from "./timeline";

export interface Visit {
  subject: string;
  session: string;
  passage: number;
  keys: number;
  handed: boolean;
  comments: CommentState;
  simulated: { seed: number; n: number } | null; // n is its next frame
  decision: string;
  points: Point[];
  frames: SentFrame[];
}

const name = "countersign-try";

export function remember(visit: Visit): void {
  try {
    sessionStorage.setItem(name, JSON.stringify(visit));
  } catch {
    // Storage may be full or forbidden; then a reload begins anew.
  }
}

export function recall(): Visit | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? "null") as Visit | undefined ?? undefined;
  } catch {
    return undefined;
  }
}

export function forgetVisit(): void {
  try {
    sessionStorage.removeItem(name);
  } catch {
    // Where storage is forbidden there is nothing to remove.
  }
}
