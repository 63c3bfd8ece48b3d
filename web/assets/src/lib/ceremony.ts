// Messages for the browser's part of a passkey ceremony.
import type { Say } from "./messages";
import type { CeremonyError } from "./webauthn";

/** Returns the message for a ceremony that failed; undefined if the page itself ended it. */
export function ceremonyMessage(error: CeremonyError, by: string, say: Say): string | undefined {
  switch (error.reason) {
    case "AbortError":
      return undefined;
    case "NotAllowedError":
      return say("not_allowed");
    case "InvalidStateError":
      return say("exists");
    case "SecurityError":
      return say("security", { by });
    case "NotSupportedError":
      return say("kind");
    default:
      return say("other");
  }
}

/** Reports whether this page is in a frame of a different origin, where browsers refuse passkeys. */
export function framed(): boolean {
  try {
    return window.top !== null && window.top.location.origin !== window.location.origin;
  } catch {
    return true;
  }
}
