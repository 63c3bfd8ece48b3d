package statements_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/authz/challenge"
	_ "github.com/countersign-dev/countersign/internal/testing/tables" // the check asks where each table is placed
	"github.com/countersign-dev/countersign/internal/testing/testenv"
	"github.com/countersign-dev/countersign/internal/testing/testenv/statements"
)

func TestCheckFindsStatementsThatDoNotNameTheEnvironment(t *testing.T) {
	t.Parallel()
	url := testenv.Database(t)
	for _, c := range []struct {
		name, sql, unnamed string
	}{
		{"an argument", "select id from sessions where environment_id = $1 and id = $2", ""},
		{"one of the environments of an argument", "select id from sessions where environment_id = any($1::text[]) and id = $2", ""},
		{"a join on the environment", "select s.id from sessions s join subjects u on u.uid = s.subject_uid and u.environment_id = s.environment_id where s.environment_id = $1", ""},
		{"a correlated subquery", "select (select count(*) from passkeys p where p.environment_id = u.environment_id and p.subject_uid = u.uid) from subjects u where u.environment_id = $1", ""},
		{"a row of an argument", "insert into audit_heads (environment_id, seq, hash) values ($1, 0, $2)", ""},
		{"a row beside another query", "with gone as (delete from tenants where id = $1 returning 1) insert into audit_heads (environment_id, seq, hash) select $2, 0, $3 from gone", ""},
		{"a row of another row", "insert into hold_viewers (authorization_id, environment_id, viewer, seen_at) select authorization_id, environment_id, 'me', now() from holds where environment_id = $1", ""},
		{"a table that every server has", "select name from tenants where id = $1", ""},
		{"an id alone", "select id from sessions where id = $1", "sessions"},
		{"an alternative", "select id from sessions where environment_id = $1 or id = $2", "sessions"},
		{"an environment of any row", "select id from sessions where environment_id = any(select id from environments) and id = $1", "sessions"},
		{"an environment of a table that every server has", "select s.id from sessions s join environments e on e.id = s.environment_id where e.tenant_id = $1", "sessions"},
		{"a join on an id alone", "select s.id from sessions s join subjects u on u.uid = s.subject_uid where s.environment_id = $1", "subjects"},
		{"a subquery on an id alone", "select (select count(*) from passkeys p where p.subject_uid = u.uid) from subjects u where u.environment_id = $1", "passkeys"},
		{"an update by an id alone", "update holds set due_at = now() where authorization_id = $1", "holds"},
		{"a deletion inside of a statement", "with gone as (delete from proofs where jti = $1 returning 1) select count(*) from gone", "proofs"},
		{"a row of an unnamed row", "insert into hold_viewers (authorization_id, environment_id, viewer, seen_at) select authorization_id, environment_id, 'me', now() from holds", "the rows for hold_viewers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := statements.CheckText(t.Context(), url, c.sql)
			if c.unnamed == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.unnamed)
		})
	}
}

func TestRecorderKnowsWhichFunctionSendsAStatement(t *testing.T) {
	t.Parallel()
	st := testenv.Store(t)
	_, err := challenge.OverdueChallenges(t.Context(), st.Q, time.Now(), 1)
	require.NoError(t, err)
	var n int
	require.NoError(t, st.Pool().QueryRow(t.Context(), "select count(*) from sessions").Scan(&n))
	var functions []string
	for _, s := range testenv.Statements().All() {
		functions = append(functions, s.Function)
		require.NotContains(t, s.SQL, "select count(*) from sessions", "statements of tests are not recorded")
	}
	require.Contains(t, functions, "challenge.OverdueChallenges")
}

// The list of the exceptions has no function that does not exist any more.
func TestEveryExceptionSendsStatements(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	require.NoError(t, filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if !strings.HasPrefix(entry.Name(), "rows") && filepath.Base(filepath.Dir(path)) != "pg" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				declared[file.Name.Name+"."+receiver(f)+f.Name.Name] = true
			}
		}
		return nil
	}))
	for name, reason := range statements.AcrossEnvironments() {
		require.True(t, declared[name], name)
		require.NotEmpty(t, reason, name)
	}
}

// receiver returns the type of a method and a dot; "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
