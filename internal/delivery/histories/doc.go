// Package histories decides which payloads of workflow histories a caller may have decrypted, and records each decryption in the audit
// log. Auditors read the histories in the Temporal UI, which shows the workflows of every environment: a payload is opened only for a
// caller who may read the audit log of the environment that its workflow belongs to.
//
// It may not know Temporal or the encryption.
package histories
