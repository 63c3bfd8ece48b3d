package api

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/internal/transport/request"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/account/identity"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/subject"
	"github.com/countersign-dev/countersign/models"
)

const (
	headerIdempotencyKey = "Idempotency-Key"
	headerReplayed       = "Idempotent-Replayed"
	idempotencyPurpose   = subject.ResponsePurpose
	// abandonedAfter is when a request that reserved its key and never finished is taken to have died.
	abandonedAfter = time.Minute
)

// replayedHeaders are kept with an answer; what is not named is made anew by the chain.
var replayedHeaders = []string{fiber.HeaderContentType, fiber.HeaderLocation, fiber.HeaderRetryAfter, fiber.HeaderLink}

// idempotent gives an operation the Idempotency-Key header: the key is reserved before the work, the answer is kept
// with it, and the same request again gets that answer to the byte. An answer of the 5xx kind is not kept: the next try
// does the work. Answers are sealed, for some show a secret once.
func (s *server) idempotent(operation string, next fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		key := header(c, headerIdempotencyKey)
		if key == "" {
			return next(c)
		}
		if !validIdempotencyKey(key) {
			return problem.Invalid([]any{"header", headerIdempotencyKey},
				"Idempotency-Key must be 1 to 255 visible ASCII characters.", "string_pattern_mismatch")
		}
		p := principal(c)
		row := models.IdempotencyKey{
			CredentialID: p.CredentialID, Key: key, Operation: operation,
			RequestHash: requestHash(c), CreatedAt: s.clock.Now(),
		}
		reserved, err := s.store.Idempotency().Reserve(request.Context(c), row, row.CreatedAt.Add(-abandonedAfter))
		if err != nil {
			return err
		}
		if !reserved {
			return s.replay(c, p, row)
		}
		return s.runReserved(c, row, next)
	}
}

func (s *server) runReserved(c *fiber.Ctx, row models.IdempotencyKey, next fiber.Handler) (err error) {
	finished := false
	// The answer is kept, or the key freed, even where the client's time is up or the handler panicked.
	ctx := context.WithoutCancel(request.Context(c))
	defer func() {
		if !finished {
			_ = s.store.Idempotency().Release(ctx, row)
		}
	}()
	if err := next(c); err != nil {
		if problem.Of(request.ProblemOf(err).Code).Status >= http.StatusInternalServerError {
			return err
		}
		if err := s.writeProblem(c, err); err != nil {
			return err
		}
	}
	status := c.Response().StatusCode()
	// An answer that is streamed is too much to keep: asked again, the work is done again.
	if status >= http.StatusInternalServerError || c.Response().IsBodyStream() {
		return nil
	}
	row.Status = &status
	if row.Headers, err = json.Marshal(headersOf(c)); err != nil {
		return err
	}
	if row.Body, err = s.keys.Seal(idempotencyPurpose, c.Response().Body(), []byte(row.CredentialID+" "+row.Key)); err != nil {
		return err
	}
	if err := s.store.Idempotency().Finish(ctx, row); err != nil {
		return err
	}
	finished = true
	return nil
}

func (s *server) replay(c *fiber.Ctx, p identity.Principal, row models.IdempotencyKey) error {
	kept, err := s.store.Idempotency().Get(request.Context(c), p.CredentialID, row.Key)
	if err != nil {
		return err
	}
	if kept.Operation != row.Operation || string(kept.RequestHash) != string(row.RequestHash) {
		return problem.New(problem.IdempotencyReused, "This Idempotency-Key was used with another request.")
	}
	if kept.Status == nil {
		e := problem.New(problem.IdempotencyInFlight, "The first request with this Idempotency-Key has not finished.")
		e.RetryAfter = time.Second
		return e
	}
	body, err := s.keys.Open(idempotencyPurpose, kept.Body, []byte(row.CredentialID+" "+row.Key))
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
	c.Set(headerReplayed, "true")
	return c.Status(*kept.Status).Send(body)
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

// requestHash covers the path and the body, each with its length.
func requestHash(c *fiber.Ctx) []byte {
	h := sha256.New()
	for _, part := range [][]byte{c.Context().URI().Path(), c.Body()} {
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
