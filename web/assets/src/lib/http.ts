// Requests of a page to its own service.

/** A refusal in the service's words (problem+json). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly requestID: string,
  ) {
    super(detail);
  }
}

/** The service could not be reached, or did not answer in time. */
export class Unreachable extends Error {}

const patience = 20_000;

/** POSTs JSON and answers JSON. Throws Problem or Unreachable. */
export function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  return ask<T>(path, { method: "POST", headers, body: JSON.stringify(body) }, signal);
}

/** How long to wait before each further try of a request that found the service busy, in ms. */
const pauses = [1_000, 2_500];

/**
 * POSTs what does no harm when it is sent again as it was, and does send it again where the service answers that it is not
 * available just now (503). Calls again() before each further try.
 */
export async function deliver<T>(path: string, body: unknown, again: () => void): Promise<T> {
  for (const pause of pauses) {
    try {
      return await post<T>(path, body);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 503) throw error;
    }
    again();
    await new Promise((resume) => window.setTimeout(resume, pause));
  }
  return post<T>(path, body);
}

/** GETs JSON. Throws Problem or Unreachable. */
export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask<T>(path, { method: "GET", headers: { Accept: "application/json" } }, signal);
}

async function ask<T>(path: string, init: RequestInit, signal?: AbortSignal): Promise<T> {
  const late = AbortSignal.timeout(patience);
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      ...init,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      signal: signal ? AbortSignal.any([signal, late]) : late,
    });
    text = await response.text();
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new Unreachable("The service cannot be reached.", { cause });
  }
  const answer = parse(text);
  if (response.ok) return answer as T;
  const p = (answer ?? {}) as { code?: string; detail?: unknown; request_id?: string };
  const detail = typeof p.detail === "string" ? p.detail : "The request was refused.";
  throw new Problem(response.status, p.code ?? "unknown", detail, p.request_id ?? response.headers.get("X-Request-Id") ?? "");
}

function parse(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
