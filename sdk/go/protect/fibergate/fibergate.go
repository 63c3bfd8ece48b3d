// Package fibergate is package protect for Fiber v2. It does nothing of its own but translate.
package fibergate

import (
	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/sdk/go/protect"
)

// New is a middleware that lets a request through if the gate allows what describe says of it. The response to an error of describe is that of
// protect.Undescribed. The outcome is in c.UserContext() (protect.FromContext).
func New(g *protect.Gate, describe func(*fiber.Ctx) (protect.Ask, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ask, err := describe(c)
		if err != nil {
			return respond(c)(protect.Undescribed(err))
		}
		outcome, err := g.Check(c.UserContext(), copied(ask), string([]byte(c.Get(protect.ProofHeader))))
		if err == nil && outcome.Allowed {
			c.SetUserContext(protect.NewContext(c.UserContext(), outcome))
			return c.Next()
		}
		return respond(c)(protect.Answer(outcome, err))
	}
}

func respond(c *fiber.Ctx) func(status int, header map[string]string, body protect.Body) error {
	return func(status int, header map[string]string, body protect.Body) error {
		for name, value := range header {
			c.Set(name, value)
		}
		c.Set(fiber.HeaderCacheControl, "no-store")
		return c.Status(status).JSON(body)
	}
}

// copied owns its strings: those that Fiber hands out are good until the handler returns only, and a lost call may still
// be on its way out then.
func copied(ask protect.Ask) protect.Ask {
	for _, s := range []*string{&ask.Subject, &ask.ResourceType, &ask.ResourceID, &ask.Session} {
		*s = string([]byte(*s))
	}
	return ask
}
