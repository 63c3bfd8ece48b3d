package api

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/middleware"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/authorization"
	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/internal/platform/strictjson"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// shadow is the mode whose decisions have no consequences.
const shadow = models.ModeShadow

// accessRequest is the contract's AccessEvaluationRequest.
type accessRequest struct {
	Subject struct {
		Type       string         `json:"type"`
		ID         string         `json:"id"`
		Properties map[string]any `json:"properties"`
	} `json:"subject"`
	Action struct {
		Name       string         `json:"name"`
		Properties map[string]any `json:"properties"`
	} `json:"action"`
	Resource struct {
		Type       string         `json:"type"`
		ID         string         `json:"id"`
		Properties map[string]any `json:"properties"`
	} `json:"resource"`
	Context map[string]any `json:"context"`

	options accessOptions
}

// accessOptions is the contract's AccessOptions, the member countersign of the context.
type accessOptions struct {
	Audience string  `json:"audience"`
	Nonce    string  `json:"nonce"`
	Session  *string `json:"session"`
	// Authorization is the decision whose follow-up is asked for; empty for that about the same request, if there is one.
	Authorization string `json:"authorization"`
}

// accessEvaluation is the contract's AccessEvaluation.
type accessEvaluation struct {
	Decision bool          `json:"decision"`
	Context  accessContext `json:"context"`
}

// accessContext is the contract's AccessDecisionContext.
type accessContext struct {
	Authorization string        `json:"authorization,omitempty"`
	Effect        string        `json:"decision,omitempty"`
	Mode          string        `json:"mode,omitempty"`
	ReasonCodes   []string      `json:"reason_codes,omitempty"`
	ReasonUser    *accessReason `json:"reason_user,omitempty"`
	Proof         *string       `json:"proof,omitempty"`
	ProofID       *string       `json:"proof_id,omitempty"`
	StepUp        *accessStepUp `json:"step_up,omitempty"`
	Review        *accessReview `json:"review,omitempty"`
	Error         *accessError  `json:"error,omitempty"`
}

type accessReason struct {
	EN string `json:"en"`
}

type accessStepUp struct {
	Challenge string   `json:"challenge"`
	URL       string   `json:"url,omitempty"`
	Methods   []string `json:"methods"`
	ExpiresAt string   `json:"expires_at"`
}

type accessReview struct {
	Status string `json:"status"`
	URL    string `json:"url"`
}

type accessError struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// persons are the types of subject that gateways send for persons.
var persons = []string{"user", "person", "identity"}

// readAccess converts a value that matches the contract's AccessEvaluationRequest.
func readAccess(value map[string]any) (accessRequest, error) {
	var in accessRequest
	if err := strictjson.CheckNames(value, reflect.TypeFor[accessRequest]()); err != nil {
		return in, middleware.Malformed(err)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, err
	}
	if !slices.Contains(persons, in.Subject.Type) {
		return in, problem.Newf(problem.BadRequest, "subject.type must be one of %s: subjects are persons.", strings.Join(persons, ", "))
	}
	options, given := in.Context["countersign"]
	if !given {
		return in, nil
	}
	if err := strictjson.CheckNames(options, reflect.TypeFor[accessOptions]()); err != nil {
		return in, middleware.Malformed(err)
	}
	if raw, err = json.Marshal(options); err != nil {
		return in, err
	}
	return in, json.Unmarshal(raw, &in.options)
}

// request returns the request to decide. The service is the one who asks: the time is now, and nonce and idempotency key are
// new, unless the caller sent a nonce; the nonce is empty until the request is known to be new. A repetition is recognised by the
// Idempotency-Key header.
func (in accessRequest) request(force *action.InForce, now time.Time) (authorization.Request, error) {
	r := authorization.Request{
		Subject: in.Subject.ID, Action: force.Action.Key, Resource: authorization.Resource{Type: in.Resource.Type, ID: in.Resource.ID},
		Audience: in.options.Audience, RequestedAt: now.Unix(), Nonce: in.options.Nonce, IdempotencyKey: rand.Text(),
		Session: in.options.Session,
	}
	if r.Audience == "" {
		allowed := force.Contract.AllowedAudiences
		if len(allowed) != 1 {
			return r, problem.New(problem.BadRequest, "context.countersign.audience must name the audience of the proof: the action allows more than one.")
		}
		r.Audience = allowed[0]
	}
	details, err := in.details()
	if err != nil {
		return r, err
	}
	r.Context, err = json.Marshal(details)
	return r, err
}

// details returns the context of the decision: what was sent as context and as properties.
func (in accessRequest) details() (map[string]any, error) {
	out := maps.Clone(in.Context)
	if out == nil {
		out = map[string]any{}
	}
	delete(out, "countersign")
	for name, properties := range map[string]map[string]any{
		"subject_properties": in.Subject.Properties, "action_properties": in.Action.Properties, "resource_properties": in.Resource.Properties,
	} {
		if len(properties) == 0 {
			continue
		}
		if _, taken := out[name]; taken {
			return nil, problem.Newf(problem.BadRequest, "context.%s must be omitted if the properties themselves are sent.", name)
		}
		out[name] = properties
	}
	return out, nil
}

// required lists the members of each part of a request that a default completes.
var required = map[string][]string{"subject": {"type", "id"}, "action": {"name"}, "resource": {"type", "id"}, "context": nil}

// merged returns an evaluation of a batch with the batch's defaults. A part replaces its default as a whole, but for the
// members that the part must have.
func merged(defaults, item map[string]any) map[string]any {
	out := map[string]any{}
	for part, members := range required {
		fallback, given := defaults[part]
		own, replaced := item[part]
		switch {
		case replaced:
			out[part] = completed(own, fallback, members)
		case given:
			out[part] = fallback
		}
	}
	return out
}

func completed(own, fallback any, members []string) any {
	to, ok := own.(map[string]any)
	from, known := fallback.(map[string]any)
	if !ok || !known {
		return own
	}
	to = maps.Clone(to)
	for _, name := range members {
		if value, given := from[name]; given {
			if _, own := to[name]; !own {
				to[name] = value
			}
		}
	}
	return to
}

// refused returns the evaluation for a request that cannot be decided: closed by default.
func refused(c *fiber.Ctx, p *problem.Error) accessEvaluation {
	request.SetProblemCode(c, p.Code)
	return accessEvaluation{Context: accessContext{Error: &accessError{
		Status: problem.Of(p.Code).Status, Code: string(p.Code), Message: p.Detail,
	}}}
}

// decidesFalse reports whether a refusal concerns what was asked, and not whether the service could be asked at all.
func decidesFalse(p *problem.Error) bool {
	status := problem.Of(p.Code).Status
	return status < fiber.StatusInternalServerError && status != fiber.StatusTooManyRequests
}
