package audit

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/docs"
	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/audit"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/web/console/shell"
)

const (
	// verifyLimit bounds a verification. It reads one snapshot, which a database should not keep for longer.
	verifyLimit = 10 * time.Minute
	// verificationsQueued limits those that wait, of all tenants: each page that waits is a connection.
	verificationsQueued = 8
)

// verification is the verification of an environment's log while its page is written.
type verification struct {
	Steps   chan string // how far it is, in words; closed at the end
	verdict reads.Verified
	names   map[string]string // of people, by id
	err     error
}

// Outcome is the result, for the template, which asks for it once Steps is closed.
func (x *verification) Outcome() reads.Verified { return x.verdict }

// Fault says why there is no result; empty if there is one.
func (x *verification) Fault() string {
	if x.err == nil {
		return ""
	}
	return "The verification did not reach its end: " + request.ProblemOf(x.err).Detail
}

// Verifier is the page that verifies an export without an installation.
func (x *verification) Verifier() struct{ URL, Digest string } {
	return struct{ URL, Digest string }{"/docs/" + docs.VerifierName, docs.VerifierDigest()}
}

// Head is the signed head as countersign audit verify --head reads it.
func (x *verification) Head() (string, error) {
	text, err := json.MarshalIndent(x.verdict.Head, "", "  ")
	return string(text), err
}

// Download is the signed head as a file for a link.
func (x *verification) Download() (template.URL, error) {
	text, err := x.Head()
	return template.URL("data:application/json;base64," + base64.StdEncoding.EncodeToString([]byte(text))), err //nolint:gosec // of base64
}

// Findings lists each change once, with the names of people.
func (x *verification) Findings() []audit.Finding {
	var out []audit.Finding
	for _, f := range x.verdict.Findings {
		f.Wanted, f.Found = personNamed(f.Wanted, x.names), personNamed(f.Found, x.names)
		if !slices.ContainsFunc(out, func(o audit.Finding) bool {
			o.Sequence, o.Event = f.Sequence, f.Event // a record may contradict several entries
			return o == f
		}) {
			out = append(out, f)
		}
	}
	return out
}

// personNamed replaces an actor that is a person by the name.
func personNamed(text string, names map[string]string) string {
	return cmp.Or(names[strings.TrimPrefix(text, "person:")], text)
}

// step shows progress, unless the page has not written the step before yet.
func (x *verification) step(what string, done int64) {
	select {
	case x.Steps <- fmt.Sprintf("%d %s checked", done, what):
	default:
	}
}

// verify verifies the log of an environment, after the one that this process verifies already. Tenants take turns.
func (c *Pages) verify(ctx context.Context, scope pg.Scope, x *verification) error {
	if err := c.verifying.Enter(ctx, scope.Tenant, verifyLimit); err != nil {
		return problem.NewUnavailable("Another log is being verified. Try again in a few minutes.", err)
	}
	defer c.verifying.Leave(scope.Tenant)
	var err error
	if x.verdict, err = c.Reader.VerifyAudit(ctx, scope, c.Signing, x.step); err != nil {
		return err
	}
	var people []string
	for _, f := range x.verdict.Findings {
		people = append(people, f.Wanted, f.Found) // Names takes the people among them
	}
	x.names, err = c.Reader.Names(ctx, scope.Tenant, people)
	return err
}

// verifyAudit verifies the whole log and writes the page meanwhile.
func (c *Pages) verifyAudit(v *shell.Visit) error {
	x, scope := &verification{Steps: make(chan string, 1)}, v.Scope()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Context), verifyLimit) // the page is written after this handler has returned
	go func() {
		defer close(x.Steps)
		if x.err = c.verify(ctx, scope, x); x.err != nil {
			c.Log.ErrorContext(ctx, "the audit log was not verified", "environment", scope.Environment, "error", x.err.Error())
		}
	}()
	return c.Router.Stream(v.Ctx, v.Framed("verification.html", "Verification of the audit log", "audit", x), verifyLimit, cancel)
}
