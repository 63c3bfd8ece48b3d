// Compiles against the types that openapi-typescript makes of the contract: what a client writes must type-check.
import type { components, operations } from "./.types/contract";

type Schemas = components["schemas"];

export const request: Schemas["AuthorizeRequest"] = {
  subject: "user-4711",
  action: "payments.transfer",
  resource: { type: "account", id: "acc-20931" },
  audience: "payments-api",
  requested_at: 1795253400,
  nonce: "3q2-7wEjRWc1_9aKpQmX",
  idempotency_key: "transfer-8812-1",
  context: { amount: 250 },
  session: null,
};

// @ts-expect-error a decision is one of four words
export const wrong: Schemas["AuthorizeResponse"]["decision"] = "maybe";

export function proofOf(answer: operations["authorize"]["responses"][200]["content"]["application/json"]): string | null {
  return answer.decision === "allow" ? (answer.proof ?? null) : null;
}

export function codeOf(problem: Schemas["Problem"]): string {
  return problem.code;
}
