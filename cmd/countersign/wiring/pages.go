package wiring

import (
	"github.com/countersign-dev/countersign/internal/authz/challenge"
	"github.com/countersign-dev/countersign/internal/authz/statuslink"
	"github.com/countersign-dev/countersign/web"
	challengepage "github.com/countersign-dev/countersign/web/challenge"
	"github.com/countersign-dev/countersign/web/hosted"
	"github.com/countersign-dev/countersign/web/reference"
	"github.com/countersign-dev/countersign/web/register"
	"github.com/countersign-dev/countersign/web/standing"
	"github.com/countersign-dev/countersign/web/status"
)

// Pages builds what people open in a browser.
func (p *Process) Pages() (*web.Site, error) {
	sections, err := p.sections()
	if err != nil {
		return nil, err
	}
	return web.New(web.Config{BaseURL: p.BaseURL, Log: p.Log, OnViolation: p.options.OnViolation}, sections...)
}

// sections are the parts of the site, in no order that matters.
func (p *Process) sections() ([]web.Section, error) {
	languages, err := hosted.Shipped()
	if err != nil {
		return nil, err
	}
	challenges, err := challengepage.Section(challengepage.Deps{
		Challenges: p.services.challenges, Clock: p.Clock, Languages: languages,
		Moves: challenge.NewResolver(p.services.challenges, p.Flows),
	})
	if err != nil {
		return nil, err
	}
	registrations, err := register.Section(register.Deps{Passkeys: p.services.passkeys, Clock: p.Clock, Languages: languages})
	if err != nil {
		return nil, err
	}
	docs, err := reference.Section(reference.Options{Version: p.options.Version, Try: p.options.TryKey != ""})
	if err != nil {
		return nil, err
	}
	waiting, err := status.Section(status.Deps{
		Holds: p.services.holds, Links: statuslink.New(p.Keys, p.BaseURL), Hub: p.services.hub, Languages: languages,
	})
	if err != nil {
		return nil, err
	}
	approvals, err := standing.Section(standing.Deps{Links: p.services.standingLinks, Clock: p.Clock, Languages: languages})
	if err != nil {
		return nil, err
	}
	tries, err := p.trySection()
	return append([]web.Section{challenges, registrations, waiting, approvals, p.console(), docs}, tries...), err
}
