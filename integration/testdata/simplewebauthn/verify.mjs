// Reads {origin, rp_id, creation, registration, view, options, assertion} from standard input. It verifies the registration, and the
// assertion against the challenge that is recomputed from what the user was shown. It exits with 1 and the reason if one fails.
import { verifyAuthenticationResponse, verifyRegistrationResponse } from "@simplewebauthn/server";
import { recompute } from "./recompute.mjs";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const { origin, rp_id: expectedRPID, creation, registration, view, options, assertion } = JSON.parse(input);
const expected = { expectedOrigin: origin, expectedRPID, requireUserVerification: true };
try {
  const registered = await verifyRegistrationResponse({ ...expected, response: registration, expectedChallenge: creation.challenge });
  const { credential } = registered.registrationInfo;
  const { challenge } = recompute(view, options);
  const result = await verifyAuthenticationResponse({ ...expected, response: assertion, expectedChallenge: challenge, credential });
  if (!registered.verified || !result.verified) throw new Error("the signature does not verify");
} catch (err) {
  console.error(String(err));
  process.exit(1);
}
