// Package account is the room of who may call: tenants and environments (tenancy), credentials and client tokens
// (identity), the people who work in the console (staff), and the quotas of each (ratelimit).
//
// It may import platform and models. It may not import authz, subject or delivery: authentication knows nothing of what is
// then decided.
package account
