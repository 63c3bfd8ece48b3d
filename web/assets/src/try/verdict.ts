// Renders the claims of an assurance profile with their reasons and limitations.
import { make } from "../lib/dom";
import { plain, tone, type Claim, type Profile } from "./types";

const questions: Record<string, string> = {
  operator_continuity: "The person who enrolled?",
  human_presence: "A person at all?",
  automation: "A program typing?",
  evidence_replay: "Replayed evidence?",
  operator_change: "Taken over by a different person?",
};

export function showVerdict(into: HTMLElement, profile: Profile, words: Record<string, string>): void {
  const rows = profile.claims.filter((c) => questions[c.claim]).map((c) => row(c, words));
  const limits = [...new Set(profile.limitations)];
  into.replaceChildren(
    make("dl", { class: "claims" }, ...rows.flat()),
    make("p", { class: "fine" }, standing(profile)),
  );
  if (limits.length === 0) return;
  const list = make("ul", { class: "limits" }, ...limits.map((code) => make("li", {}, words[code] ?? plain(code))));
  into.append(make("details", { class: "more" }, make("summary", {}, `What weakens this (${limits.length})`), list));
}

function row(c: Claim, words: Record<string, string>): HTMLElement[] {
  const detail = make("dd", {}, make("span", { class: `tag ${tone(c.status)}` }, plain(c.status)));
  for (const code of c.reason_codes) detail.append(make("p", { class: "fine" }, words[code] ?? plain(code), " ", make("code", {}, code)));
  return [make("dt", {}, questions[c.claim] ?? c.claim), detail];
}

function standing(p: Profile): string {
  const fresh = p.freshness_ms === null ? "no evidence yet" : `newest evidence ${Math.round(p.freshness_ms / 1000)} s old`;
  const from = p.modalities_present.length > 0 ? ` from ${p.modalities_present.join(", ")}` : "";
  return `Coverage ${p.coverage}${from}: ${p.evidence_windows} frames, ${Math.round(p.active_seconds)} s of activity, ${fresh}. ${p.model_version}, ${p.rule_version}.`;
}
