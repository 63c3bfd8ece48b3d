// What a person is told when the browser's part of a passkey ceremony fails.

/** Words for an error of navigator.credentials; nothing where the page itself ended the ceremony. */
export function told(error: unknown, by: string): string | undefined {
  const name = error instanceof DOMException ? error.name : "";
  switch (name) {
    case "AbortError":
      return undefined;
    case "NotAllowedError":
      return "No passkey was used. You can try again; if your passkey is on another device, have it at hand.";
    case "InvalidStateError":
      return "This device has a passkey for this account already. Use another device, or close this page.";
    case "SecurityError":
      return `Your browser does not let this page use passkeys of ${by}. Nothing was confirmed.`;
    case "NotSupportedError":
      return "This device cannot make the kind of passkey that is needed. Use another device.";
    default:
      return "Your browser could not use a passkey. Try again, or use another device.";
  }
}

/** Whether this page stands in another site's frame, where a passkey ceremony would be refused. */
export function framed(): boolean {
  try {
    return window.top !== null && window.top.location.origin !== window.location.origin;
  } catch {
    return true;
  }
}
