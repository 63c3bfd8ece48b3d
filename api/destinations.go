package api

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/api/wire"
	"github.com/countersign-dev/countersign/internal/authz/action"
	"github.com/countersign-dev/countersign/internal/authz/change"
	"github.com/countersign-dev/countersign/internal/delivery/destination"
	"github.com/countersign-dev/countersign/internal/transport/request"
	"github.com/countersign-dev/countersign/models"
)

// destinationHandlers handle the systems to which the log is pushed.
type destinationHandlers struct {
	Destinations *destination.Service
	Changes      *change.Service
}

func viewDestination(d destination.Destination) wire.Destination {
	given := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return wire.Destination{
		ID: d.ID, Name: d.Name, Kind: string(d.Kind), URL: d.URL, Encoding: given(d.Encoding), Header: given(d.Header), Ca: given(d.CA), Since: (*wire.Time)(d.Since),
		HasCredentials: d.Credentials != nil, Position: int(d.Position), Behind: int(d.Behind), OldestBehind: (*wire.Time)(d.Oldest), SentAt: (*wire.Time)(d.SentAt),
		FailingSince: (*wire.Time)(d.FailingSince), LastError: d.LastError, CreatedAt: wire.Time(d.CreatedAt), UpdatedAt: wire.Time(d.UpdatedAt),
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
	body, err := bind[wire.DestinationSet](c)
	if err != nil {
		return err
	}
	in := change.Destination{
		Name: c.Params("destination_name"), Kind: models.DestinationKind(body.Kind), URL: body.URL, Encoding: body.Encoding, Header: body.Header, CA: body.Ca,
		Since: body.Since.Time(),
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
