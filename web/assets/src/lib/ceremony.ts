// Messages for the browser's part of a passkey ceremony.

/** Returns the message for an error of navigator.credentials; undefined if the page itself ended the ceremony. */
export function ceremonyMessage(error: unknown, by: string): string | undefined {
  const name = error instanceof DOMException ? error.name : "";
  switch (name) {
    case "AbortError":
      return undefined;
    case "NotAllowedError":
      return "No passkey was used. Try again. If your passkey is on a different device, have that device ready.";
    case "InvalidStateError":
      return "This device already has a passkey for this account. Use a different device, or close this page.";
    case "SecurityError":
      return `Your browser does not allow this page to use passkeys of ${by}. Nothing was confirmed.`;
    case "NotSupportedError":
      return "This device cannot create the required kind of passkey. Use a different device.";
    default:
      return "Your browser could not use a passkey. Try again, or use a different device.";
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
