package console

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	reads "github.com/countersign-dev/countersign/internal/delivery/consolequery"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/transport/request"
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

// Head is the signed head as countersign audit verify --head reads it.
func (x *verification) Head() (string, error) {
	text, err := json.MarshalIndent(x.verdict.Head, "", "  ")
	return string(text), err
}

// step shows progress, unless the page has not written the step before yet.
func (x *verification) step(what string, done int64) {
	select {
	case x.Steps <- fmt.Sprintf("%d %s checked", done, what):
	default:
	}
}

// verify verifies the log of an environment, after the one that this process verifies already. Tenants take turns.
func (c *console) verify(ctx context.Context, scope pg.Scope, x *verification) error {
	if err := c.verifying.Enter(ctx, scope.Tenant, verifyLimit); err != nil {
		return problem.NewUnavailable("Another log is being verified. Try again in a few minutes.", err)
	}
	defer c.verifying.Leave(scope.Tenant)
	var err error
	x.verdict, err = c.Reader.VerifyAudit(ctx, scope, c.Signing, x.step)
	return err
}

// verifyAudit verifies the whole log and writes the page meanwhile.
func (c *console) verifyAudit(v *visit) error {
	x, scope := &verification{Steps: make(chan string, 1)}, v.scope()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx), verifyLimit) // the page is written after this handler has returned
	go func() {
		defer close(x.Steps)
		if x.err = c.verify(ctx, scope, x); x.err != nil {
			c.Log.ErrorContext(ctx, "the audit log was not verified", "environment", scope.Environment, "error", x.err.Error())
		}
	}()
	return c.router.Stream(v.Ctx, v.framed("verification.html", "Verification of the audit log", "audit", x), verifyLimit, cancel)
}
