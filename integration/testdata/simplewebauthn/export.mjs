// Reads {origin, rp_id, creation, registration} from standard input, registers the passkey as a server that uses @simplewebauthn/server
// does, and prints what that server stores of it, as the body of POST /api/v1/subjects/{subject_id}/passkeys/import.
import { verifyRegistrationResponse } from "@simplewebauthn/server";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const { origin, rp_id: expectedRPID, creation, registration } = JSON.parse(input);
const { registrationInfo } = await verifyRegistrationResponse({
  expectedOrigin: origin, expectedRPID, requireUserVerification: true, response: registration, expectedChallenge: creation.challenge,
});
const { credential, credentialDeviceType, credentialBackedUp, userVerified, aaguid } = registrationInfo;
console.log(JSON.stringify({
  credential_id: credential.id, public_key: Buffer.from(credential.publicKey).toString("base64url"), counter: credential.counter, aaguid,
  flags: { user_verified: userVerified, backup_eligible: credentialDeviceType === "multiDevice", backed_up: credentialBackedUp },
}));
