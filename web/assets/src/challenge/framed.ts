// Browsers refuse passkeys in a frame of a different origin.
import { framed } from "../lib/ceremony";
import { make } from "../lib/dom";
import { inLanguage, type Say } from "../lib/messages";

/** In such a frame, replaces the passkey button with a link that opens the page in a new tab. */
export function replaceButtonInFrame(root: HTMLElement, ticket: string, say: Say): void {
  const button = root.querySelector("[data-passkey]");
  if (!button || !framed()) return;
  const href = `${inLanguage(window.location.pathname)}#${ticket}`;
  const link = make("a", { class: "button primary", href, target: "_blank", rel: "noopener noreferrer" });
  link.append(say("new_tab"));
  button.replaceWith(link);
}
