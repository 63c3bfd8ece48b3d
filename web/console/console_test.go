package console

import (
	"io/fs"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/models"
	"github.com/countersign-dev/countersign/web/console/shell"
)

func TestRoutesNameARightThatARoleHas(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Routes() {
		require.False(t, seen[r.Method+r.Path], "%s %s is listed twice", r.Method, r.Path)
		seen[r.Method+r.Path] = true
		if r.Right != shell.Open && r.Right != shell.SignedIn {
			require.True(t, shell.Permits(r.Right, []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor}), r.Path)
		}
		if r.Method == http.MethodPost && r.Right != shell.Open && r.Right != shell.AnyRole {
			require.False(t, shell.Permits(r.Right, []models.Role{models.RoleAuditor}), "an auditor changes nothing: %s", r.Path)
		}
	}
	require.False(t, shell.Permits(shell.Review, []models.Role{models.RoleOperator}))
	require.False(t, shell.Permits(shell.Review, nil))
	require.False(t, shell.Permits("nothing of the kind", []models.Role{models.RoleReviewer, models.RoleOperator, models.RoleAuditor}))
}

// A page is found by the name of its file alone.
func TestNoTwoRecordsHaveATemplateOfOneName(t *testing.T) {
	t.Parallel()
	files, err := fs.ReadDir(templates(Deps{}.records(&shell.Shell{})), ".")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, f := range files {
		require.False(t, seen[f.Name()], f.Name())
		seen[f.Name()] = true
	}
	require.NotEmpty(t, seen)
}
