// Reads {secret, headers, body} from standard input and exits 0 where the package verifies it, 1 where it refuses.
import { Webhook } from "standardwebhooks";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const { secret, headers, body } = JSON.parse(input);
try {
  new Webhook(secret).verify(body, headers);
} catch (err) {
  console.error(String(err));
  process.exit(1);
}
