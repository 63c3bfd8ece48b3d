package wiring

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/subject/enrollment"
	"github.com/countersign-dev/countersign/web"
	"github.com/countersign-dev/countersign/web/try"
)

// tryEvery is how often visitors of the try-it page who came a day ago are forgotten.
const tryEvery = time.Hour

// tryPage is the page under /try, where the process has a sandbox key for it; nil elsewhere.
func (p *Process) tryPage() *try.Page {
	if p.options.TryKey == "" {
		return nil
	}
	v := p.services
	return try.New(try.Deps{
		Key: p.options.TryKey, BaseURL: p.BaseURL, Clock: p.Clock, Keys: p.Keys, Store: p.Store, Identity: p.Identity, Limiter: v.limiter,
		Subjects: v.subjects, Sessions: v.sessions, Completer: enrollment.NewCompleter(v.enrollments, p.Flows), Actions: v.actions, Authorizations: v.authorizations,
		Challenges: v.challenges, Proofs: p.Signing,
		Starting: func() string {
			if err := p.options.Startup.Err(); err != nil {
				return err.Error()
			}
			return ""
		},
	})
}

// trySection is the page as a section of the site; none if there is no page.
func (p *Process) trySection() ([]web.Section, error) {
	page := p.tryPage()
	if page == nil {
		return nil, nil
	}
	section, err := page.Section()
	return []web.Section{section}, err
}

// sweepTries forgets the visitors of yesterday, until base ends.
func (p *Process) sweepTries(base context.Context) {
	page := p.tryPage()
	if page == nil {
		return
	}
	tick := time.NewTicker(tryEvery)
	defer tick.Stop()
	for {
		if err := page.Sweep(base); err != nil && base.Err() == nil {
			p.Log.Warn("visitors of the try-it page were not forgotten; the next sweep tries again", "error", err)
		}
		select {
		case <-base.Done():
			return
		case <-tick.C:
		}
	}
}
