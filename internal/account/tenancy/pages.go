package tenancy

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/platform/events"
	"github.com/countersign-dev/countersign/internal/platform/store"
	"github.com/countersign-dev/countersign/models"
)

// Pages are the settings of an environment's hosted pages. Nil keeps what is set.
type Pages struct {
	// Origin is where links point to: one of the origins that passkeys are used from, whose host is the service. Empty is the
	// service's own address.
	Origin *string
	// ReturnOrigins are where the pages may send people back to, beside the origins that passkeys are used from.
	ReturnOrigins []string
	// FrameAncestors are the origins that may show the pages in a frame. A browser does no passkey ceremony in a frame.
	FrameAncestors []string
}

// SetPages changes the settings and answers the environment as it is then.
func (s *Service) SetPages(ctx context.Context, scope store.Scope, in Pages, actor string) (models.Environment, error) {
	var env models.Environment
	err := s.store.Write(ctx, func(q *store.Q) error {
		var err error
		if env, err = q.Environments().Get(ctx, scope); err != nil {
			return err
		}
		if err := in.apply(&env); err != nil {
			return err
		}
		if err := q.Environments().SetPages(ctx, env); err != nil {
			return err
		}
		return events.Append(ctx, q, events.Entry{
			Scope: scope, At: s.clock.Now(), Actor: actor, Data: events.EnvironmentPagesChangedData{
				PageOrigin: env.PageOrigin, ReturnOrigins: env.ReturnOrigins, FrameAncestors: env.FrameAncestors,
			},
		})
	})
	if err == nil {
		s.changed(scope.Environment)
	}
	return env, err
}

func (in Pages) apply(env *models.Environment) error {
	if in.Origin != nil {
		if *in.Origin != "" && !slices.Contains(env.RPOrigins, *in.Origin) {
			return fmt.Errorf("the origin of the pages %q is none of %s: passkeys could not be used there", *in.Origin, strings.Join(env.RPOrigins, ", "))
		}
		env.PageOrigin = in.Origin
		if *in.Origin == "" {
			env.PageOrigin = nil
		}
	}
	for _, list := range []struct {
		given []string
		to    *models.Strings
	}{{in.ReturnOrigins, &env.ReturnOrigins}, {in.FrameAncestors, &env.FrameAncestors}} {
		if list.given == nil {
			continue
		}
		for _, origin := range list.given {
			if err := plainOrigin(origin); err != nil {
				return err
			}
		}
		*list.to = list.given
	}
	return nil
}

// plainOrigin takes https and a host with or without a port, or http on this machine; nothing that means more in a policy
// header than the one origin that it is.
func plainOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.ContainsAny(origin, " *;,'\"") {
		return fmt.Errorf("the origin %q is not a scheme and a host, such as https://bank.example", origin)
	}
	local := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || strings.HasSuffix(u.Hostname(), ".localhost")
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("the origin %q is not https", origin)
	}
	return nil
}
