package protect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

type outcomeKey struct{}

// FromContext returns the outcome that let the request through; nil outside a protected route.
func FromContext(ctx context.Context) *Outcome {
	outcome, _ := ctx.Value(outcomeKey{}).(*Outcome)
	return outcome
}

// NewContext returns a context that carries the outcome to a handler.
func NewContext(ctx context.Context, outcome *Outcome) context.Context {
	return context.WithValue(ctx, outcomeKey{}, outcome)
}

// Handler calls next if the gate allows the Ask that describe returns for the request, and otherwise responds as described at
// Answer, or at Undescribed if describe returns an error. If describe reads the body, it must restore it.
func (g *Gate) Handler(describe func(*http.Request) (Ask, error), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask, err := describe(r)
		if err != nil {
			status, header, body := Undescribed(err)
			write(w, status, header, body)
			return
		}
		outcome, err := g.Check(r.Context(), ask, r.Header.Get(ProofHeader))
		if err == nil && outcome.Allowed {
			next.ServeHTTP(w, r.WithContext(NewContext(r.Context(), outcome)))
			return
		}
		status, header, body := Answer(outcome, err)
		write(w, status, header, body)
	})
}

// LoginRequired is an error of describe for a request whose token is too old or too weak, and which a new login would satisfy: only then does a client
// that understands RFC 9470 not log in for ever.
type LoginRequired struct {
	ACRValues []string      // accepted authentication contexts, the preferred one first; none if any will do
	MaxAge    time.Duration // of the login, in whole seconds; 0 if any age will do
}

func (*LoginRequired) Error() string { return "A new login is required." }

// WWWAuthenticate returns the value of the header WWW-Authenticate by which a client learns what the new login must be.
func (l *LoginRequired) WWWAuthenticate() string {
	value := `Bearer error="insufficient_user_authentication", error_description="A new login is required"`
	if len(l.ACRValues) > 0 {
		value += `, acr_values=` + strconv.Quote(strings.Join(l.ACRValues, " "))
	}
	if l.MaxAge > 0 {
		value += fmt.Sprintf(`, max_age="%d"`, int(l.MaxAge.Seconds()))
	}
	return value
}

// Undescribed returns the response to a request that describe returned an error for: 401 as RFC 9470 says for LoginRequired, and otherwise 400 with the
// error's text.
func Undescribed(err error) (status int, header map[string]string, body Body) {
	body = Body{Decision: "refused", Message: err.Error()}
	if login, ok := errors.AsType[*LoginRequired](err); ok {
		return http.StatusUnauthorized, map[string]string{"WWW-Authenticate": login.WWWAuthenticate()}, body
	}
	return http.StatusBadRequest, nil, body
}

// Body is the response to a request that did not go through.
type Body struct {
	Decision      string                           `json:"decision"` // challenge, hold, deny; refused, unavailable
	Authorization string                           `json:"authorization,omitempty"`
	Challenge     *countersign.ChallengeDescriptor `json:"challenge,omitempty"`
	Message       string                           `json:"message"`
}

// Answer returns the response to a request that did not go through: 401 for a challenge (the page completes it and repeats the
// request with the proof), 403 for a hold, a denial or a rejected proof, 422 for a request that the service calls
// invalid, 503 if there is no decision (after a refusal with 429 its Retry-After is passed on), and 500 for a mistake of the relying party. It writes err to the
// default logger of log/slog, because the page does not learn it.
func Answer(outcome *Outcome, err error) (status int, header map[string]string, body Body) {
	if err != nil {
		slog.Error("countersign: a request could not be authorized", "error", err)
	}
	var refused *countersign.Error
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusUnprocessableEntity:
		return http.StatusUnprocessableEntity, nil, Body{Decision: "refused", Message: "The request cannot be authorized as it is."}
	case err != nil:
		return http.StatusInternalServerError, nil, Body{Decision: "refused", Message: "The request could not be authorized."}
	case outcome.Limited != nil:
		return http.StatusServiceUnavailable, map[string]string{"Retry-After": retryAfter(outcome.Limited)},
			Body{Decision: "unavailable", Message: "Too many requests at the moment. Please try again later."}
	case outcome.Unavailable:
		return http.StatusServiceUnavailable, map[string]string{"Retry-After": "2"}, Body{Decision: "unavailable", Message: "Please try again in a moment."}
	case outcome.Refusal != nil:
		return http.StatusForbidden, nil, Body{Decision: "refused", Message: "The confirmation cannot be used for this: " + outcome.Refusal.Code + "."}
	}
	d := outcome.Decision
	if d.Decision == countersign.DecisionAllow || d.Mode == countersign.ModeShadow { // the gate requires a proof
		return http.StatusForbidden, nil, Body{Decision: "refused", Authorization: d.ID, Message: "The action is not enforced, so that there is no proof for it."}
	}
	body = Body{Decision: string(d.Decision), Authorization: d.ID, Challenge: d.Challenge, Message: d.HumanReadable.Detail}
	if d.Decision == countersign.DecisionChallenge {
		return http.StatusUnauthorized, map[string]string{"WWW-Authenticate": `Countersign error="challenge_required"`}, body
	}
	return http.StatusForbidden, nil, body
}

// retryAfter returns the seconds that a refusal by a rate limit requires, at least 2.
func retryAfter(err error) string {
	wait := 2 * time.Second
	var refused *countersign.Error
	var garbled *countersign.ProtocolError
	switch {
	case errors.As(err, &refused):
		wait = max(wait, refused.RetryAfter)
	case errors.As(err, &garbled):
		wait = max(wait, garbled.RetryAfter)
	}
	return strconv.Itoa(int(math.Ceil(wait.Seconds())))
}

func write(w http.ResponseWriter, status int, header map[string]string, body Body) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	for name, value := range header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
