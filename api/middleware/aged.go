package middleware

import (
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/countersign-dev/countersign/internal/platform/pg"
	"github.com/countersign-dev/countersign/internal/transport/request"
)

// HeaderAge says how old the data of a response is at most, in milliseconds. It is missing if the response came from the primary.
const HeaderAge = "Countersign-Data-Age-Ms"

// mayBeOld lets the handler read lists from the standby, if there is one. If that fails, or finds nothing, the handler runs again on
// the primary: the standby may have ended, and what the caller has just created is not missing. The handler must not have sent
// anything when it returns an error.
func mayBeOld(handler fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if strings.Contains(strings.ToLower(c.Get(fiber.HeaderCacheControl)), "no-cache") {
			return handler(c)
		}
		fresh := request.Context(c)
		ctx, aged := pg.MayBeOld(fresh)
		request.SetContext(c, ctx)
		err := handler(c)
		request.SetContext(c, fresh)
		age, old := aged.Age()
		switch {
		case !old:
			return err
		case err != nil:
			return handler(c)
		}
		c.Set(HeaderAge, strconv.FormatInt(age.Milliseconds(), 10))
		return nil
	}
}
