package models

import (
	"database/sql/driver"
	"slices"
)

// Permission is one part of what a scope, or a role of the console, allows.
type Permission string

// The permissions. Those that end in .read change nothing.
const (
	PermissionDecide         Permission = "decide"
	PermissionDecisionsRead  Permission = "decisions.read"
	PermissionProofsRead     Permission = "proofs.read"
	PermissionChallenges     Permission = "challenges"
	PermissionReview         Permission = "review"
	PermissionVerify         Permission = "verify"
	PermissionEvidence       Permission = "evidence"
	PermissionEnroll         Permission = "enroll"
	PermissionSubjects       Permission = "subjects"
	PermissionPasskeys       Permission = "passkeys"
	PermissionPolicyWrite    Permission = "policy.write"
	PermissionPolicyActivate Permission = "policy.activate"
	PermissionEvaluations    Permission = "evaluations"
	PermissionEvents         Permission = "events"
	PermissionConfigRead     Permission = "config.read"
	PermissionConfig         Permission = "config"
	PermissionWebhooks       Permission = "webhooks"
	PermissionCredentials    Permission = "credentials"
	PermissionAudit          Permission = "audit"
)

// Permissions is a set of permissions and a text[] column. Nil, which is null in the database, is all of them, including those
// that a later version adds; an empty list is none.
type Permissions []Permission

// AllPermissions lists every permission in the order of the documentation.
var AllPermissions = Permissions{
	PermissionDecide, PermissionDecisionsRead, PermissionProofsRead, PermissionChallenges, PermissionReview, PermissionVerify,
	PermissionEvidence, PermissionEnroll, PermissionSubjects, PermissionPasskeys, PermissionPolicyWrite, PermissionPolicyActivate, PermissionEvaluations, PermissionEvents,
	PermissionConfigRead, PermissionConfig, PermissionWebhooks, PermissionCredentials, PermissionAudit,
}

// adminOnly lists the permissions that have no operation in the scope server.
var adminOnly = Permissions{PermissionConfig, PermissionWebhooks, PermissionCredentials, PermissionAudit}

// Within reports whether a credential of the scope can use the permission.
func (p Permission) Within(s Scope) bool {
	return s == ScopeAdmin || s == ScopeServer && !slices.Contains(adminOnly, p)
}

// Has reports whether the set contains the permission.
func (p Permissions) Has(x Permission) bool { return p == nil || slices.Contains(p, x) }

// Covers reports whether the set contains every permission of the other. No list covers nil, which may grow.
func (p Permissions) Covers(other Permissions) bool {
	return p == nil || other != nil && !slices.ContainsFunc(other, func(x Permission) bool { return !p.Has(x) })
}

// Scan implements sql.Scanner.
func (p *Permissions) Scan(src any) error {
	*p = nil
	if src == nil {
		return nil
	}
	var list Strings
	if err := list.Scan(src); err != nil {
		return err
	}
	*p = make(Permissions, len(list))
	for i, x := range list {
		(*p)[i] = Permission(x)
	}
	return nil
}

// Value implements driver.Valuer.
func (p Permissions) Value() (driver.Value, error) {
	if p == nil {
		return nil, nil
	}
	return Strings(p.Strings()).Value()
}

// Strings returns the names of the permissions; nil for all.
func (p Permissions) Strings() []string {
	if p == nil {
		return nil
	}
	out := make([]string, len(p))
	for i, x := range p {
		out[i] = string(x)
	}
	return out
}

// GormDataType implements schema.GormDataTypeInterface.
func (Permissions) GormDataType() string { return "text[]" }
