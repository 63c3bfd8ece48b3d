// Signing in, joining by invitation, and confirming a change: the three places where a passkey is used.

import { announce, data, find, make } from "../lib/dom";
import { post, Problem, Unreachable } from "../lib/http";
import { assertion, registration, supported } from "../lib/webauthn";
import { visitAgain } from "./visit";

/** What went wrong, for the person. Empty where they themselves stopped. */
export function explain(cause: unknown): string {
  if (cause instanceof Problem) return cause.detail;
  if (cause instanceof Unreachable) return "The service cannot be reached. Check your connection and try again.";
  if (cause instanceof DOMException) {
    switch (cause.name) {
      case "NotAllowedError":
      case "AbortError":
        return "No passkey was used. Try again when you are ready.";
      case "InvalidStateError":
        return "This device has a passkey for you already. Use another device, or sign in.";
      case "SecurityError":
        return "Passkeys cannot be used at this address.";
    }
  }
  return "That did not work. Try again.";
}

/** Wires a box with a button that begins a ceremony and leads on. */
function box(root: HTMLElement, waiting: string, ceremony: (signal: AbortSignal) => Promise<string>): void {
  const start = find<HTMLButtonElement>("[data-start]", root);
  const problem = find("[data-problem]", root);
  const said = find("[data-said]", root);
  if (!supported()) {
    problem.textContent = "This browser cannot use passkeys here.";
    problem.hidden = false;
    return;
  }
  start.hidden = false;
  start.addEventListener("click", () => {
    if (start.disabled) return;
    start.disabled = true;
    problem.hidden = true;
    announce(said, waiting);
    ceremony(new AbortController().signal)
      .then((next) => {
        announce(said, "Welcome.");
        location.assign(next);
      })
      .catch((cause: unknown) => {
        announce(said, "");
        problem.textContent = explain(cause);
        problem.hidden = false;
        start.disabled = false;
        start.focus();
      });
  });
}

export function signIn(root: HTMLElement): void {
  box(root, "Waiting for your passkey.", async (signal) => {
    const { publicKey } = await post<{ publicKey: PublicKeyCredentialRequestOptionsJSON }>("/console/sign-in/options");
    const credential = await assertion(publicKey, signal);
    const { next } = await post<{ next: string }>("/console/sign-in", { credential, next: data(root, "next") });
    return next;
  });
}

interface Invited {
  name: string;
  expires_at: string;
  roles: { where: string; roles: string[] }[];
}

/** The token of the address, which is taken out of it at once; a reload still finds it. */
function tokenOfAddress(): string {
  const given = decodeURIComponent(location.hash.slice(1));
  if (given !== "") {
    history.replaceState({ token: given }, "", location.pathname);
    return given;
  }
  const kept = (history.state as { token?: unknown } | null)?.token;
  return typeof kept === "string" ? kept : "";
}

export function invitation(root: HTMLElement): void {
  const token = tokenOfAddress();
  const said = find("[data-said]", root);
  const problem = find("[data-problem]", root);
  announce(said, "Looking at your invitation.");
  post<Invited>("/console/invitation/look", { token })
    .then((invited) => {
      find("h1", root).textContent = `Welcome, ${invited.name}`;
      const roles = find("[data-roles]", root);
      for (const r of invited.roles) roles.append(make("dt", {}, r.where), make("dd", {}, r.roles.join(", ")));
      roles.append(make("dt", {}, "Open until"), make("dd", {}, new Date(invited.expires_at).toLocaleString()));
      find("[data-usable]", root).hidden = false;
      announce(said, "");
      box(root, "Follow what your device asks.", async (signal) => {
        const { publicKey } = await post<{ publicKey: PublicKeyCredentialCreationOptionsJSON }>("/console/invitation/options", { token });
        const credential = await registration(publicKey, signal);
        const { next } = await post<{ next: string }>("/console/invitation", { token, credential });
        return next;
      });
    })
    .catch((cause: unknown) => {
      announce(said, "");
      if (cause instanceof Problem && cause.code === "grant_invalid") {
        find("h1", root).textContent = "This invitation is over";
        find("[data-over]", root).hidden = false;
        return;
      }
      problem.textContent = explain(cause);
      problem.hidden = false;
    });
}

interface Confirmation {
  fresh: boolean;
  publicKey?: PublicKeyCredentialRequestOptionsJSON;
}

/** Has the passkey used again where that was long ago. */
async function confirmed(base: string): Promise<void> {
  const asked = await post<Confirmation>(`${base}/options`);
  if (asked.fresh || !asked.publicKey) return;
  const credential = await assertion(asked.publicKey, new AbortController().signal);
  await post(base, { credential });
}

/** Holds a form back until the person is confirmed; then it is sent as if nothing had been. Sent once, however often clicked. */
export function confirmForm(form: HTMLFormElement, base: string): void {
  let state: "idle" | "asking" | "sent" = "idle";
  const said = form.querySelector<HTMLElement>("[data-said]");
  form.addEventListener("submit", (event) => {
    if (state === "sent") return;
    event.preventDefault();
    if (state === "asking") return;
    state = "asking";
    const by = event.submitter;
    if (said) announce(said, "One moment.");
    confirmed(base)
      .then(() => {
        state = "sent";
        form.requestSubmit(by instanceof HTMLElement ? by : null);
        for (const b of form.querySelectorAll("button")) b.setAttribute("aria-disabled", "true");
      })
      .catch((cause: unknown) => {
        state = "idle";
        if (cause instanceof Problem && cause.status === 401) {
          visitAgain();
          return;
        }
        if (said) announce(said, explain(cause));
      });
  });
  // The page comes back from the browser's cache as it was left: let it be used again.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) visitAgain();
  });
}
