package countersign

import "context"

// CollectorTokenAsk says what a collector in a page is to send.
type CollectorTokenAsk struct {
	Subject string
	Session string // the one session that the page observes
	Origin  string // the page's, such as https://app.example.com
	// Enroll asks for the subject's next enrollment: set it only if the backend means it. Otherwise the token is for scoring.
	Enroll     bool
	TTLSeconds int64 // 60 to 3600; 0 is 900
}

// CollectorToken makes the narrowest client token that a collector can work with: one subject, one session, one origin, one
// purpose.
func (c *Client) CollectorToken(ctx context.Context, ask CollectorTokenAsk, options ...RequestOption) (*ClientTokenCreated, error) {
	purpose := "score"
	if ask.Enroll {
		purpose = "enroll"
	}
	return c.CreateClientToken(ctx, ClientTokenCreate{
		Subject: ask.Subject, Session: ask.Session, Origin: ask.Origin, Purposes: []string{purpose}, TTLSeconds: ask.TTLSeconds,
	}, options...)
}
