import { createHash } from "node:crypto";

// RFC 8785: members sorted by UTF-16 code unit, no white space, strings and numbers as JSON.stringify writes them.
const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
};
const sha256 = (bytes) => createHash("sha256").update(bytes).digest();
const digest = (document) => `sha256:${sha256(canonical(document)).toString("hex")}`;

// Eight bytes of length, big endian, then the bytes.
const prefixed = (bytes) => {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(bytes.length));
  return Buffer.concat([length, bytes]);
};

// view is the response of GET /api/v1/challenges/{id}, options that of POST /api/v1/challenges/{id}/passkey/options.
export function recompute(view, options) {
  const { details, ...display } = view.display;
  if (display.details_digest !== (details && digest(details))) throw new Error("details_digest is not the digest of the details");
  const displayDigest = digest(display);
  const { random, action_hash: actionHash } = options.binding;
  const parts = [Buffer.from(random, "base64url"), Buffer.from(view.id), Buffer.from(actionHash), Buffer.from(displayDigest)];
  return { displayDigest, challenge: sha256(Buffer.concat(parts.map(prefixed))).toString("base64url") };
}
