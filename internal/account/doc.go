// Package account groups the packages about callers: tenants and their environments (tenancy), API keys and client tokens
// (identity), the staff who use the console (staff), their identity providers (sso), the teams of reviewers and their deputies
// (team), the request quotas of all of them (ratelimit), and the record of what they were refused (refusal).
//
// It may import platform and models. It may not import authz, subject or delivery: authentication does not depend on the
// decision that a caller then requests.
package account
