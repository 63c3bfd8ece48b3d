// Reads {view, options} from standard input and prints the display digest and the WebAuthn challenge.
import { recompute } from "./recompute.mjs";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const { view, options } = JSON.parse(input);
console.log(JSON.stringify(recompute(view, options)));
