// The two passkey ceremonies with the JSON types of WebAuthn Level 3. The conversion is done here because not all supported
// browsers have parseRequestOptionsFromJSON and toJSON.

function bytes(text: string): ArrayBuffer {
  const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(plain, (c) => c.charCodeAt(0)).buffer;
}

function text(buffer: ArrayBuffer): string {
  let plain = "";
  for (const b of new Uint8Array(buffer)) plain += String.fromCharCode(b);
  return btoa(plain).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
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
  const made = await navigator.credentials.get({ publicKey: publicKey as PublicKeyCredentialRequestOptions, signal });
  if (!(made instanceof PublicKeyCredential)) throw new DOMException("no passkey", "NotAllowedError");
  const r = made.response as AuthenticatorAssertionResponse;
  return {
    ...common(made),
    response: {
      clientDataJSON: text(r.clientDataJSON),
      authenticatorData: text(r.authenticatorData),
      signature: text(r.signature),
      ...(r.userHandle ? { userHandle: text(r.userHandle) } : {}),
    },
  };
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
  const made = await navigator.credentials.create({ publicKey: publicKey as PublicKeyCredentialCreationOptions, signal });
  if (!(made instanceof PublicKeyCredential)) throw new DOMException("no passkey", "NotAllowedError");
  const r = made.response as AuthenticatorAttestationResponse;
  return {
    ...common(made),
    response: {
      clientDataJSON: text(r.clientDataJSON),
      attestationObject: text(r.attestationObject),
      transports: r.getTransports?.() ?? [],
    },
  };
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
