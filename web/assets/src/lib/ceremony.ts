// Messages for the browser's part of a passkey ceremony.
import type { Say } from "./messages";
import type { CeremonyError } from "./webauthn";

const noPerson = 1_000; // ms; people take longer to close a dialog

/** Returns the message for a ceremony that failed; empty if the page itself ended it. */
export function ceremonyMessage(error: CeremonyError, by: string, say: Say): string {
  switch (error.reason) {
    case "AbortError":
      return "";
    case "NotAllowedError":
      return notAllowed(error, by, say);
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

/** Browsers have one error for a dialog that was closed, a time-out, and a device without the passkey: they differ in the time that it took. */
function notAllowed(error: CeremonyError, by: string, say: Say): string {
  if (error.took >= error.timeout) return say("timed_out");
  if (error.took >= noPerson) return say("dismissed");
  return error.verifies ? say("no_passkey", { by }) : say("other_device");
}

/** Reports whether this page is in a frame of a different origin, where browsers refuse passkeys. */
export function framed(): boolean {
  try {
    return window.top !== null && window.top.location.origin !== window.location.origin;
  } catch {
    return true;
  }
}
