package signal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/platform/problem"
	"github.com/countersign-dev/countersign/models"
)

const (
	// pollEvery is how often a stream is polled, and lookEvery how often a worker looks for streams that are due.
	pollEvery = 5 * time.Second
	lookEvery = time.Second
	// pollMax is how many tokens one response may have, and pollRounds how many requests follow each other.
	pollMax, pollRounds = 100, 20
)

// pollRequest is the request of RFC 8936, section 2.2, without waiting for events.
type pollRequest struct {
	MaxEvents         int                  `json:"maxEvents"`
	ReturnImmediately bool                 `json:"returnImmediately"`
	Ack               []string             `json:"ack,omitempty"`
	Errors            map[string]pollError `json:"setErrs,omitempty"`
}

type pollError struct {
	Code        string `json:"err"`
	Description string `json:"description"`
}

type pollResponse struct {
	Sets map[string]string `json:"sets"`
	More bool              `json:"moreAvailable"`
}

// Poll polls the streams of all environments until ctx ends. Any number of workers may: each stream is polled by one at a time.
func (s *Service) Poll(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := s.PollDue(ctx); err != nil && ctx.Err() == nil {
			log.Warn("polling security events failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// PollDue polls the streams that are due, each on its own: one that does not respond delays no other.
func (s *Service) PollDue(ctx context.Context) error {
	due, err := claimPolls(ctx, s.store.Q, s.clock.Now(), pollEvery)
	if err != nil {
		return err
	}
	done := make(chan error, len(due))
	for _, id := range due {
		go func() { done <- s.pollOne(ctx, id) }()
	}
	for range due {
		err = errors.Join(err, <-done)
	}
	return err
}

func (s *Service) pollOne(ctx context.Context, id string) error {
	of, err := streamByID(ctx, s.store.Q, id)
	if err != nil {
		return err
	}
	secret, err := s.sealer.Open(pollPurpose, of.PollToken, []byte(of.ID))
	if err != nil || of.PollURL == nil {
		return err
	}
	req := pollRequest{MaxEvents: pollMax, ReturnImmediately: true}
	for range pollRounds {
		res, err := s.poll(ctx, *of.PollURL, string(secret), req)
		if err != nil {
			return s.note(ctx, of, token{}, unavailable(err.Error(), err))
		}
		if len(res.Sets) == 0 && !res.More {
			return nil
		}
		if req, err = s.take(ctx, of, res); err != nil {
			return err
		}
	}
	return nil
}

// take receives the tokens of a response and returns the next request, which acknowledges them. A token that could not be taken now is polled again.
func (s *Service) take(ctx context.Context, of models.SignalStream, res pollResponse) (pollRequest, error) {
	next := pollRequest{MaxEvents: pollMax, ReturnImmediately: true, Errors: map[string]pollError{}}
	for _, id := range slices.Sorted(maps.Keys(res.Sets)) {
		t, err := s.receive(ctx, of, res.Sets[id])
		if noted := s.note(ctx, of, t, err); noted != nil {
			return next, noted
		}
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal):
			next.Errors[id] = pollError{refusal.Code, refusal.Description}
		case err != nil && problem.As(err).Code == problem.Unavailable:
			continue
		case err != nil:
			return next, err
		default:
			next.Ack = append(next.Ack, id)
		}
	}
	return next, nil
}

// poll sends one request. The error says nothing that the issuer sent.
func (s *Service) poll(ctx context.Context, url, secret string, body pollRequest) (pollResponse, error) {
	var out pollResponse
	raw, err := json.Marshal(body)
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return out, err
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return out, errors.New("The issuer cannot be reached at the poll_url.")
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusAccepted {
		return out, fmt.Errorf("The issuer responded to the poll with status %d.", res.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil || json.Unmarshal(text, &out) != nil || len(out.Sets) > pollMax {
		return out, errors.New("The issuer's response to the poll cannot be read.")
	}
	return out, nil
}
