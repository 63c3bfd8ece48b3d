// The responses of the endpoints under /try.

export interface Claim {
  claim: string;
  status: string;
  coverage: string;
  reason_codes: string[];
  limitations: string[];
  freshness_ms: number | null;
}

export interface Profile {
  claims: Claim[];
  coverage: string;
  evidence_windows: number;
  active_seconds: number;
  modalities_present: string[];
  freshness_ms: number | null;
  limitations: string[];
  model_version: string;
  rule_version: string;
}

export interface StateAnswer {
  subject: string;
  enrollment: string;
  session?: { id: string; status: string };
  assessment?: Profile;
  words?: Record<string, string>;
}

export interface Requirement {
  requirement: string;
  wanted: string;
  found: string;
  passed: boolean;
  effect: string;
  compensated_by?: string;
}

export interface Trace {
  id: string;
  decision: string;
  reason_codes: string[];
  explanation: Requirement[];
  latency_ms: number;
  challenge: { id: string; status: string } | null;
  proof: { id: string; status: string; compact: string | null } | null;
  parent: string | null;
  display: { details: { label: string; value: string }[] } | null;
}

export interface DecisionAnswer {
  trace: Trace;
  request: unknown;
}

/** Returns the tone (colour) of a status. */
export function tone(status: string): "good" | "warn" | "bad" | "" {
  if (["confirmed", "likely", "not_detected", "allow"].includes(status)) return "good";
  if (["uncertain", "challenge", "hold", "sparse"].includes(status)) return "warn";
  if (["not_confirmed", "detected", "deny"].includes(status)) return "bad";
  return "";
}

export const plain = (code: string): string => code.replaceAll("_", " ");
