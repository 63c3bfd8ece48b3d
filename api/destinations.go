package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/internal/platform/apitime"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// destinationHandlers handle the systems to which the log is pushed.
type destinationHandlers struct {
	Destinations *destination.Service
	Changes      *change.Service
}

type destinationView struct {
	ID             string                 `json:"id"`
	Name           string                 `json:"name"`
	Kind           models.DestinationKind `json:"kind"`
	URL            string                 `json:"url"`
	Encoding       *string                `json:"encoding"`
	Header         *string                `json:"header"`
	CA             *string                `json:"ca"`
	Since          *string                `json:"since"`
	HasCredentials bool                   `json:"has_credentials"`
	Position       int64                  `json:"position"`
	Behind         int64                  `json:"behind"`
	OldestBehind   *string                `json:"oldest_behind"`
	SentAt         *string                `json:"sent_at"`
	FailingSince   *string                `json:"failing_since"`
	LastError      *string                `json:"last_error"`
	CreatedAt      string                 `json:"created_at"`
	UpdatedAt      string                 `json:"updated_at"`
}

func viewDestination(d destination.Destination) destinationView {
	given := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return destinationView{
		ID: d.ID, Name: d.Name, Kind: d.Kind, URL: d.URL, Encoding: given(d.Encoding), Header: given(d.Header), CA: given(d.CA), Since: apitime.OptionalTime(d.Since),
		HasCredentials: d.Credentials != nil, Position: d.Position, Behind: d.Behind, OldestBehind: apitime.OptionalTime(d.Oldest), SentAt: apitime.OptionalTime(d.SentAt),
		FailingSince: apitime.OptionalTime(d.FailingSince), LastError: d.LastError, CreatedAt: apitime.Time(d.CreatedAt), UpdatedAt: apitime.Time(d.UpdatedAt),
	}
}

func (h *destinationHandlers) list(c *fiber.Ctx) error {
	rows, err := h.Destinations.List(request.Context(c), request.Principal(c).Store())
	return replyList(c, viewDestination, rows, "", err)
}

func (h *destinationHandlers) get(c *fiber.Ctx) error {
	d, err := h.Destinations.Get(request.Context(c), request.Principal(c).Store(), c.Params("destination_name"))
	return replyView(c, fiber.StatusOK, viewDestination, d, err)
}

func (h *destinationHandlers) set(c *fiber.Ctx) error {
	body, err := bind[struct {
		Kind     models.DestinationKind `json:"kind"`
		URL      string                 `json:"url"`
		Encoding string                 `json:"encoding"`
		Header   string                 `json:"header"`
		CA       string                 `json:"ca"`
		Since    *apitime.Instant       `json:"since"`
	}](c)
	if err != nil {
		return err
	}
	in := change.Destination{Name: c.Params("destination_name"), Kind: body.Kind, URL: body.URL, Encoding: body.Encoding, Header: body.Header, CA: body.CA}
	if body.Since != nil {
		in.Since = (*time.Time)(body.Since)
	}
	made, err := h.Changes.SetDestination(request.Context(c), request.Principal(c).Store(), byCaller(c), in)
	if err != nil || made.Requested != nil {
		return replyMade(c, fiber.StatusOK, viewDestination, change.Made[destination.Destination]{Requested: made.Requested}, err)
	}
	return h.get(c)
}

func (h *destinationHandlers) remove(c *fiber.Ctx) error {
	made, err := h.Changes.RemoveDestination(request.Context(c), request.Principal(c).Store(), byCaller(c), c.Params("destination_name"))
	return replyRemoved(c, made, err)
}

func (h *destinationHandlers) credentials(c *fiber.Ctx) error {
	body, err := bind[destination.Credentials](c)
	if err != nil {
		return err
	}
	p := request.Principal(c)
	by := action.Author{Scope: p.Store(), Actor: p.Actor(), RequestID: p.RequestID}
	if err := h.Destinations.SetCredentials(request.Context(c), by, c.Params("destination_name"), body); err != nil {
		return err
	}
	return h.get(c)
}
