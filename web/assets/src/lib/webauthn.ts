// The two passkey ceremonies with the JSON types of WebAuthn Level 3. The conversion is done here because not all supported
// browsers have parseRequestOptionsFromJSON and toJSON.

function bytes(text: string): ArrayBuffer {
  const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(plain, (c) => c.charCodeAt(0)).buffer;
}

/** Encodes bytes. Password managers return views of buffers, and texts that are encoded already. */
function text(value: BufferSource | string): string {
  if (typeof value === "string") return value;
  const buffer = ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value);
  let plain = "";
  for (const b of buffer) plain += String.fromCharCode(b);
  return btoa(plain).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/**
 * The ceremony did not end with a passkey. reason is the name of the DOMException (WebAuthn Level 3), or empty if there was none; took and
 * timeout are in milliseconds, and verifies is whether the device itself can check a fingerprint, a face or a PIN.
 */
export class CeremonyError extends Error {
  took = 0;
  timeout = Infinity;
  verifies = true;

  constructor(readonly reason: string) {
    super(`the ceremony failed: ${reason}`);
  }
}

/**
 * Runs a ceremony and reads its result field by field. Password managers replace navigator.credentials: what they return may be a plain
 * object, and what they throw may be anything.
 */
async function ceremony<R>(run: () => Promise<Credential | null>, timeout: number | undefined, response: (r: R) => Record<string, unknown>): Promise<unknown> {
  const began = performance.now();
  try {
    const made = (await run()) as PublicKeyCredential | null;
    if (!made) throw new CeremonyError("NotAllowedError");
    return { ...common(made), response: response(made.response as R) };
  } catch (error) {
    const name = error instanceof CeremonyError ? error.reason : (error as { name?: unknown } | null | undefined)?.name;
    const failed = new CeremonyError(typeof name === "string" ? name : "");
    failed.took = performance.now() - began;
    failed.timeout = timeout ?? Infinity;
    failed.verifies = await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().catch(() => true);
    throw failed;
  }
}

/** Reports whether this browser supports passkeys here; only secure contexts do. */
export function supported(): boolean {
  return window.isSecureContext && typeof PublicKeyCredential === "function";
}

function descriptors(list: PublicKeyCredentialDescriptorJSON[] = []): PublicKeyCredentialDescriptor[] {
  return list.map((d) => ({
    id: bytes(d.id),
    type: d.type as PublicKeyCredentialType,
    ...(d.transports ? { transports: d.transports as AuthenticatorTransport[] } : {}),
  }));
}

/** Asks the user for a passkey and returns the assertion (AuthenticationResponseJSON). */
export async function assertion(options: PublicKeyCredentialRequestOptionsJSON, signal: AbortSignal): Promise<unknown> {
  const { challenge, allowCredentials, extensions: _, ...rest } = options;
  const publicKey = { ...rest, challenge: bytes(challenge), allowCredentials: descriptors(allowCredentials) };
  return ceremony<AuthenticatorAssertionResponse>(
    () => navigator.credentials.get({ publicKey: publicKey as PublicKeyCredentialRequestOptions, signal }),
    options.timeout,
    (r) => ({
      clientDataJSON: text(r.clientDataJSON),
      authenticatorData: text(r.authenticatorData),
      signature: text(r.signature),
      ...(r.userHandle ? { userHandle: text(r.userHandle) } : {}),
    }),
  );
}

/** Creates a passkey on a device of the user's choice and returns it (RegistrationResponseJSON). */
export async function registration(options: PublicKeyCredentialCreationOptionsJSON, signal: AbortSignal): Promise<unknown> {
  const { challenge, user, excludeCredentials, extensions: _, ...rest } = options;
  const publicKey = {
    ...rest,
    challenge: bytes(challenge),
    user: { ...user, id: bytes(user.id) },
    excludeCredentials: descriptors(excludeCredentials),
  };
  return ceremony<AuthenticatorAttestationResponse>(
    () => navigator.credentials.create({ publicKey: publicKey as PublicKeyCredentialCreationOptions, signal }),
    options.timeout,
    (r) => ({
      clientDataJSON: text(r.clientDataJSON),
      attestationObject: text(r.attestationObject),
      transports: r.getTransports?.() ?? [],
    }),
  );
}

function common(made: PublicKeyCredential): Record<string, unknown> {
  return {
    id: made.id,
    rawId: text(made.rawId),
    type: made.type,
    clientExtensionResults: {},
    ...(made.authenticatorAttachment ? { authenticatorAttachment: made.authenticatorAttachment } : {}),
  };
}
