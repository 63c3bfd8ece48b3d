package shell

import (
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/account/staff"
	"github.com/countersign-dev/countersign/models"
)

// Right names the requirement of a route. Every route must name one; there is no default.
type Right string

// The rights. Open requires no session; SignedIn requires a session but no role. The others are permissions, the same that
// narrow API keys; models.Role lists those of each role.
const (
	Open              Right = "open"
	SignedIn          Right = "signed in"
	AnyRole           Right = "any role"
	ReadDecisions           = Right(models.PermissionDecisionsRead)
	Review                  = Right(models.PermissionReview)
	ReadConfig              = Right(models.PermissionConfigRead)
	WritePolicies           = Right(models.PermissionPolicyWrite)
	ActivatePolicies        = Right(models.PermissionPolicyActivate)
	AddFromCase             = Right(models.PermissionDecisionsRead + both + models.PermissionPolicyActivate)
	ManageEvaluations       = Right(models.PermissionEvaluations)
	ManageWebhooks          = Right(models.PermissionWebhooks)
	ManageCredentials       = Right(models.PermissionCredentials)
	ManageConfig            = Right(models.PermissionConfig)
	ReadAudit               = Right(models.PermissionAudit)
)

// both is between the permissions of a right that requires two.
const both = " and "

// Permits reports whether a person with these roles has the right.
func Permits(r Right, roles []models.Role) bool {
	for part := range strings.SplitSeq(string(r), both) {
		has := slices.ContainsFunc(roles, func(role models.Role) bool {
			return r == AnyRole || role.Permissions().Has(models.Permission(part))
		})
		if !has {
			return false
		}
	}
	return true
}

func permits(r Right, g staff.Grant) bool { return Permits(r, g.Roles) }
