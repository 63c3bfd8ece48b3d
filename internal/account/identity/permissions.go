package identity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

// checkPermissions returns the permissions of a new credential, each once, in the order of the documentation.
func checkPermissions(in Issue) (models.Permissions, error) {
	for _, x := range in.Permissions {
		if !slices.Contains(models.AllPermissions, x) {
			return nil, invalidPermissions("permissions contains %q, which is not a permission. Use some of %s.", x, strings.Join(models.AllPermissions.Strings(), ", "))
		}
		if !x.Within(in.Scope) {
			return nil, invalidPermissions("permissions contains %s, which a key of the scope %s cannot use. Remove it or choose a wider scope.", x, in.Scope)
		}
	}
	var out models.Permissions
	if in.Permissions != nil {
		out = slices.DeleteFunc(slices.Clone(models.AllPermissions), func(x models.Permission) bool { return !slices.Contains(in.Permissions, x) })
		if len(out) == 0 {
			return nil, invalidPermissions("permissions is empty. List at least one permission, or omit the field for all of them.")
		}
	}
	if in.Issuer != nil {
		return out, in.Issuer.mayIssue(in.Scope, out)
	}
	return out, nil
}

func invalidPermissions(format string, args ...any) error {
	return problem.Invalid([]any{"body", "permissions"}, fmt.Sprintf(format, args...), "value_error")
}

// checkPurposes checks that the caller itself may do what a client token with these purposes may. No purposes are both.
func checkPurposes(p Principal, purposes []string) error {
	if len(purposes) > 0 && !slices.Contains(purposes, PurposeEnroll) || p.Permissions.Has(models.PermissionEnroll) {
		return nil
	}
	return problem.Newf(problem.InsufficientScope, "This operation requires the permission %s: set purposes to [%q], or use a key that has the permission.",
		models.PermissionEnroll, PurposeScore)
}
