// Runs the npm package maildev and prints its ports. Mails are read at its own API, /api/email.
import { MailDev } from 'maildev';

// Files in PEM, and the password of the user countersign. The server encrypts from the start; it has no STARTTLS.
const [certificate, key, password, mailDirectory] = process.argv.slice(2);
const print = process.stdout.write.bind(process.stdout);
console.info = console.error; // maildev says where it runs
const mails = new MailDev({
  smtp: 0, ip: '127.0.0.1', web: 0, webIp: '127.0.0.1', silent: true, mailDirectory,
  incomingSecure: true, incomingCert: certificate, incomingKey: key, incomingUser: 'countersign', incomingPass: password,
});
await mails.start();
const { smtp, api } = mails.getServers();
print(`${JSON.stringify({ smtp: smtp.getAddress().port, api: api.getPort() })}\n`);
process.stdin.resume().on('end', () => process.exit()); // ends with the test
