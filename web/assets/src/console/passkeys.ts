// Signing in, joining by invitation, and confirming a change: the three places where a passkey is used.

import { announce, data, find, make } from "../lib/dom";
import { post, Problem, Unreachable } from "../lib/http";
import { CeremonyError, assertion, registration, supported } from "../lib/webauthn";
import { reopenPage } from "./visit";

/** Returns the message for an error of a ceremony or a request. */
export function explain(cause: unknown): string {
  if (cause instanceof Problem) return cause.detail;
  if (cause instanceof Unreachable) return "The service cannot be reached. Check your connection and try again.";
  if (cause instanceof CeremonyError) {
    switch (cause.reason) {
      case "NotAllowedError":
      case "AbortError":
        return "No passkey was used. Try again when you are ready.";
      case "InvalidStateError":
        return "This device already has a passkey for you. Use a different device, or sign in.";
      case "SecurityError":
        return "Passkeys are not available at this address.";
    }
    return "The device or the password manager did not complete the passkey. Try again, or use a different one.";
  }
  return "The request failed. Try again.";
}

/** Makes the start button of a panel run a ceremony and open the page that it returns. */
function box(root: HTMLElement, waiting: string, ceremony: (signal: AbortSignal) => Promise<string>): void {
  const start = find<HTMLButtonElement>("[data-start]", root);
  const problem = find("[data-problem]", root);
  const said = find("[data-said]", root);
  if (!supported()) {
    problem.textContent = "This browser does not support passkeys here.";
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

/** Returns the token of the fragment and moves it from the address to the history entry, where a reload finds it. */
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
  announce(said, "Loading your invitation.");
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
        find("h1", root).textContent = "This invitation is not valid";
        find("[data-why]", root).textContent = cause.detail;
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

/** Asks for the passkey if it was not used recently. */
async function confirmed(base: string): Promise<void> {
  const asked = await post<Confirmation>(`${base}/options`);
  if (asked.fresh || !asked.publicKey) return;
  const credential = await assertion(asked.publicKey, new AbortController().signal);
  await post(base, { credential });
}

/** Makes a form ask for the passkey before it is submitted. It is submitted once, whatever the number of clicks. */
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
          reopenPage();
          return;
        }
        if (said) announce(said, explain(cause));
      });
  });
  // The back-forward cache restores the page with its buttons disabled: load it again.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) reopenPage();
  });
}
