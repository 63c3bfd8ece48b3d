// HTTP requests of a page to its own service.

/** A problem document (RFC 9457) that the service returned. */
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

/** The service could not be reached or did not respond in time. */
export class Unreachable extends Error {}

const timeout = 20_000; // ms

/** POSTs JSON and returns the JSON response. Throws Problem or Unreachable. */
export function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  return send<T>(path, { method: "POST", headers, body: JSON.stringify(body) }, signal);
}

/** Delays in ms before the retries of a request that got a 503. */
const retryDelays = [1_000, 2_500];

/** POSTs an idempotent request and retries it after a 503. Calls onRetry() before each retry. */
export async function postWithRetry<T>(path: string, body: unknown, onRetry: () => void): Promise<T> {
  for (const delay of retryDelays) {
    try {
      return await post<T>(path, body);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 503) throw error;
    }
    onRetry();
    await new Promise((resume) => window.setTimeout(resume, delay));
  }
  return post<T>(path, body);
}

/** GETs a JSON response. Throws Problem or Unreachable. */
export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return send<T>(path, { method: "GET", headers: { Accept: "application/json" } }, signal);
}

async function send<T>(path: string, init: RequestInit, signal?: AbortSignal): Promise<T> {
  const late = AbortSignal.timeout(timeout);
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
  const parsed = parse(text);
  if (response.ok) return parsed as T;
  const p = (parsed ?? {}) as { code?: string; detail?: unknown; request_id?: string };
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
