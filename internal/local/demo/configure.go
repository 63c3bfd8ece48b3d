package demo

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"

	countersign "github.com/countersign-dev/countersign/sdk/go"
)

// configure sets the sandbox up as a customer would: a brand, a link to the case system, teams, and webhook endpoints. What an earlier
// demonstration left of them is removed first. A brand or a link that the sandbox has already stays.
func (s *show) configure(ctx context.Context) error {
	if err := s.tidy(ctx); err != nil {
		return err
	}
	if err := s.settings(ctx); err != nil {
		return err
	}
	if err := s.teams(ctx); err != nil {
		return err
	}
	return s.endpoints(ctx)
}

// tidy removes the webhook endpoints and teams of earlier demonstrations.
func (s *show) tidy(ctx context.Context) error {
	for e, err := range s.admin.AllWebhookEndpoints(ctx, countersign.ListWebhookEndpointsParams{}) {
		if err != nil {
			return err
		}
		// Endpoints and teams that a developer made by hand are not described so, and stay.
		if strings.HasPrefix(e.Description, described) {
			if err := s.admin.DeleteWebhookEndpoint(ctx, e.ID); err != nil {
				return err
			}
		}
	}
	for t, err := range s.admin.AllTeams(ctx, countersign.ListTeamsParams{}) {
		if err != nil {
			return err
		}
		if strings.HasPrefix(t.Key, teamPrefix) {
			if err := s.admin.DeleteTeam(ctx, t.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// The colour of the demonstration's brand has a contrast of 8:1 with a light page.
var brandColour = color.NRGBA{R: 0x4b, G: 0x2e, B: 0x83, A: 0xff}

// settings gives the sandbox a brand and a link to a case system.
func (s *show) settings(ctx context.Context) error {
	now, err := s.admin.GetEnvironment(ctx)
	if err != nil {
		return err
	}
	update, changed := countersign.EnvironmentUpdate{}, false
	if now.Brand.Name == "" && now.Brand.Accent == "" && now.Brand.Logo == "" {
		logo, err := mark()
		if err != nil {
			return err
		}
		update.Brand, changed = &countersign.BrandUpdate{Name: ref("Alder Bank"), Accent: ref("#4b2e83"), Logo: &logo}, true
	}
	if now.CaseLink == "" {
		update.CaseLink, changed = ref("https://cases.example/search?q={decision_id}"), true
	}
	if !changed {
		return nil
	}
	_, err = s.admin.UpdateEnvironment(ctx, update)
	return err
}

// mark draws the logo, a ring, as a PNG in base64.
func mark() (string, error) {
	const side, outer, inner = 96, 46, 26 // pixels: the image's side and the radii of the ring
	img := image.NewNRGBA(image.Rect(0, 0, side, side))
	draw.Draw(img, img.Bounds(), image.Transparent, image.Point{}, draw.Src)
	for y := range side {
		for x := range side {
			dx, dy := x-side/2, y-side/2
			if r := dx*dx + dy*dy; r <= outer*outer && r >= inner*inner {
				img.Set(x, y, brandColour)
			}
		}
	}
	var out bytes.Buffer
	err := png.Encode(&out, img)
	// A logo is sent in the body of the settings, which is JSON.
	return base64.StdEncoding.EncodeToString(out.Bytes()), err
}

// teamPrefix begins the keys of the demonstration's teams.
const teamPrefix = "demo_"

// teams creates two teams. Their members are the keys of the demonstration: people join in the console.
func (s *show) teams(ctx context.Context) error {
	for key, name := range map[string]string{"finance": "Finance", "risk": "Risk"} {
		team := countersign.TeamCreate{Key: teamPrefix + key, Name: name, Members: []string{"credential:" + s.me.Credential}}
		if _, err := s.admin.CreateTeam(ctx, team); err != nil {
			return err
		}
	}
	return nil
}

// stricter requests the pilot's stricter policy version while a second approver is required, and switches the requirement off again
// with the second key. The request keeps waiting, for a person in the console.
func (s *show) stricter(ctx context.Context) error {
	now, err := s.admin.GetEnvironment(ctx)
	if err != nil || now.SecondApproverRequired || s.ApproverKey == "" {
		return err
	}
	approver, err := countersign.New(s.BaseURL, s.ApproverKey, countersign.WithTimeout(requestTimeout))
	if err != nil {
		return err
	}
	if _, err := s.admin.UpdateEnvironment(ctx, countersign.EnvironmentUpdate{SecondApproverRequired: ref(true)}); err != nil {
		return err
	}
	// Both requests are refused until they are approved: the first is for a person to look at, the second the other key approves at
	// once, so that the next demonstration finds the sandbox as this one did.
	_, requested := s.admin.ActivatePolicyVersion(ctx, s.pilot.id, pilotStricter)
	_, off := s.admin.UpdateEnvironment(ctx, countersign.EnvironmentUpdate{SecondApproverRequired: ref(false)})
	var waits *countersign.ApprovalRequiredError
	if !errors.As(off, &waits) {
		return errors.Join(requested, off)
	}
	if _, err := approver.ApproveChange(ctx, waits.Change.ID, nil); err != nil {
		return err
	}
	if !errors.As(requested, &waits) {
		return requested
	}
	s.note("change of %s: version %d waits for a second approver (%s)", s.pilot.key, pilotStricter, waits.Change.ID)
	return nil
}

func ref[T any](value T) *T { return &value }
