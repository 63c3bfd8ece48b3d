package middleware

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/idempotency"
	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// HeaderReplayed marks a response that was stored for an earlier request.
const HeaderReplayed = "Idempotent-Replayed"

const (
	headerIdempotencyKey = "Idempotency-Key"
	idempotencyPurpose   = subject.ResponsePurpose
	// abandonedAfter is the time after which a reserved key whose request did not finish can be reserved again.
	abandonedAfter = time.Minute
)

// replayedHeaders are the headers that are stored with a response. The chain sets all others anew.
var replayedHeaders = []string{fiber.HeaderContentType, fiber.HeaderLocation, fiber.HeaderRetryAfter, fiber.HeaderLink}

// idempotent implements the Idempotency-Key header for an operation: it reserves the key before the handler runs, stores the
// response with it, and returns the stored response byte for byte when the request is repeated. A 5xx response is not stored,
// so a retry runs the handler again. Responses are encrypted, because some contain a secret that is shown only once.
func (m *Chain) idempotent(operation string, next fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		key := c.Get(headerIdempotencyKey)
		if key == "" {
			return next(c)
		}
		if !validIdempotencyKey(key) {
			return problem.Invalid([]any{"header", headerIdempotencyKey},
				"Idempotency-Key must be 1 to 255 visible ASCII characters.", "string_pattern_mismatch")
		}
		p := request.Principal(c)
		row := models.IdempotencyKey{
			EnvironmentID: p.EnvironmentID, CredentialID: p.CredentialID, Key: key, Operation: operation,
			RequestHash: requestHash(c), CreatedAt: m.deps.Clock.Now(),
		}
		reserved, err := idempotency.Reserve(request.Context(c), m.deps.Store.Q, row, row.CreatedAt.Add(-abandonedAfter))
		if err != nil {
			return err
		}
		if !reserved {
			return m.replay(c, p, row)
		}
		return m.runReserved(c, row, next)
	}
}

func (m *Chain) runReserved(c *fiber.Ctx, row models.IdempotencyKey, next fiber.Handler) (err error) {
	finished := false
	// The response is stored or the key released even if the deadline has passed or the handler panicked.
	ctx := context.WithoutCancel(request.Context(c))
	defer func() {
		if !finished {
			_ = idempotency.Release(ctx, m.deps.Store.Q, row)
		}
	}()
	if err := next(c); err != nil {
		if problem.Of(request.ProblemOf(err).Code).Status >= http.StatusInternalServerError {
			return err
		}
		if err := m.WriteProblem(c, err); err != nil {
			return err
		}
	}
	status := c.Response().StatusCode()
	// A streamed response is too large to store: a repeated request runs the handler again.
	if status >= http.StatusInternalServerError || c.Response().IsBodyStream() || request.Unstored(c) {
		return nil
	}
	row.Status = &status
	if row.Headers, err = json.Marshal(headersOf(c)); err != nil {
		return err
	}
	if row.Body, err = m.deps.Keys.Seal(idempotencyPurpose, c.Response().Body(), []byte(row.CredentialID+" "+row.Key)); err != nil {
		return err
	}
	if err := idempotency.Finish(ctx, m.deps.Store.Q, row); err != nil {
		return err
	}
	finished = true
	return nil
}

func (m *Chain) replay(c *fiber.Ctx, p identity.Principal, row models.IdempotencyKey) error {
	kept, err := idempotency.Get(request.Context(c), m.deps.Store.Q, row.EnvironmentID, p.CredentialID, row.Key)
	if errors.Is(err, pg.ErrNotFound) { // the first request failed meanwhile, and the key is free
		return inFlight()
	}
	if err != nil {
		return err
	}
	if kept.Operation != row.Operation || string(kept.RequestHash) != string(row.RequestHash) {
		return problem.New(problem.IdempotencyReused, "This Idempotency-Key was used with a different request. Use a new key.")
	}
	if kept.Status == nil {
		return inFlight()
	}
	body, err := m.deps.Keys.Open(idempotencyPurpose, kept.Body, []byte(row.CredentialID+" "+row.Key))
	if err != nil {
		return err
	}
	headers := map[string]string{}
	if err := json.Unmarshal(kept.Headers, &headers); err != nil {
		return err
	}
	for name, value := range headers {
		c.Set(name, value)
	}
	c.Set(HeaderReplayed, "true")
	return c.Status(*kept.Status).Send(body)
}

func inFlight() error {
	e := problem.New(problem.IdempotencyInFlight, "The first request with this Idempotency-Key is still running. Retry after the Retry-After header.")
	e.RetryAfter = time.Second
	return e
}

func headersOf(c *fiber.Ctx) map[string]string {
	out := map[string]string{}
	for _, name := range replayedHeaders {
		if v := c.GetRespHeader(name); v != "" {
			out[name] = v
		}
	}
	return out
}

// requestHash returns the SHA-256 of path and body, each prefixed by its length.
func requestHash(c *fiber.Ctx) []byte {
	h := sha256.New()
	for _, part := range [][]byte{c.Context().URI().Path(), request.Body(c)} {
		_ = binary.Write(h, binary.BigEndian, uint64(len(part)))
		h.Write(part)
	}
	return h.Sum(nil)
}

func validIdempotencyKey(key string) bool {
	if len(key) > 255 {
		return false
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return true
}
