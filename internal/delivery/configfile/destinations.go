package configfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"time"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// Destination is a system to which the sealed log is pushed. Its credentials and its position are not configuration.
type Destination struct {
	Kind     countersign.DestinationKind `json:"kind,omitzero"`
	URL      string                      `json:"url,omitzero"`
	Encoding string                      `json:"encoding,omitzero"` // empty for syslog
	Header   string                      `json:"header,omitzero"`   // name of the header that has the credential; empty for syslog
	CA       *string                     `json:"ca,omitzero"`       // empty for the certificates that the machine trusts
}

// destinationState has what a replacement of a destination's settings keeps, or may end.
type destinationState struct {
	since       *time.Time
	credentials bool
}

func (s *State) readDestinations(ctx context.Context, api *countersign.Client) error {
	s.Document.Destinations, s.destinations = map[string]Destination{}, map[string]destinationState{}
	for d, err := range api.AllDestinations(ctx, countersign.ListDestinationsParams{Limit: largestPage}) {
		if err != nil {
			return err
		}
		s.Document.Destinations[d.Name] = Destination{Kind: d.Kind, URL: d.URL, Encoding: d.Encoding, Header: d.Header, CA: &d.Ca}
		s.destinations[d.Name] = destinationState{since: d.Since, credentials: d.HasCredentials}
	}
	return nil
}

// destinations plans where the log is pushed.
func (p *Plan) destinations(want map[string]Destination, prune bool) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(want)) {
		faults = append(faults, p.destination(name, want[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(p.state.Document.Destinations)) {
		if _, wanted := want[name]; !wanted && want != nil {
			p.remove("destinations."+name, prune, func(ctx context.Context, m *maker) error { return m.api.RemoveDestination(ctx, name) })
		}
	}
	return errors.Join(faults...)
}

func (p *Plan) destination(name string, w Destination) error {
	entry := "destinations." + name
	have, exists := p.state.Document.Destinations[name]
	if !exists && (w.Kind == "" || w.URL == "") {
		return fmt.Errorf("%s does not exist in the environment: to create it, the file needs its kind and url", entry)
	}
	w.Header = textproto.CanonicalMIMEHeaderKey(w.Header)
	c, done := Change{Sign: Alter, Entry: entry}, "changed"
	var before any = have
	if !exists {
		before, c.Sign, done = map[string]any{}, Add, "created, without credentials"
	}
	var err error
	if c.Fields, err = differences(before, w); err != nil || exists && len(c.Fields) == 0 {
		return err
	}
	state := p.state.destinations[name]
	body := have.with(w)
	body.Since = state.since
	ends := state.credentials && slices.ContainsFunc(c.Fields, func(f Field) bool { return f.Path == "kind" || f.Path == "url" || f.Path == "header" })
	if ends {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: its credentials end, because they were made for the address, the kind and the header of before; "+
			"give it others (countersign tenant destinations credentials)", entry))
	}
	c.make = func(ctx context.Context, m *maker) error {
		_, err := m.api.SetDestination(ctx, name, body)
		return m.done(entry, done, err)
	}
	p.Changes = append(p.Changes, c)
	return nil
}

// with returns the settings of a destination in which those of the file replace what it has. Another kind has defaults of its own.
func (d Destination) with(w Destination) countersign.DestinationSet {
	if w.Kind != "" && w.Kind != d.Kind {
		d.Encoding, d.Header = "", ""
	}
	out := countersign.DestinationSet{Kind: cmp.Or(w.Kind, d.Kind), URL: cmp.Or(w.URL, d.URL), Encoding: cmp.Or(w.Encoding, d.Encoding), Header: cmp.Or(w.Header, d.Header)}
	if ca := cmp.Or(w.CA, d.CA); ca != nil {
		out.Ca = *ca
	}
	return out
}
