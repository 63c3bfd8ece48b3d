package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// client speaks to the service as a relying party's backend does.
type client struct {
	baseURL, key string
	http         http.Client
}

func newClient(baseURL, key string) *client {
	return &client{baseURL: baseURL, key: key, http: http.Client{Timeout: 30 * time.Second}}
}

// call sends a request and reads the answer into out, which may be nil. An answer that is no success is an error with
// the service's own words.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	status, body, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	if status >= 300 {
		return fmt.Errorf("%s %s answered %d: %s", method, path, status, bytes.TrimSpace(body))
	}
	if out == nil || len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s: the answer cannot be read: %w", method, path, err)
	}
	return nil
}

func (c *client) send(ctx context.Context, method, path string, in any) (int, []byte, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return 0, nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.baseURL+path, body)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, text, errors.Join(err, resp.Body.Close())
}

// The parts of the contract that the demonstration reads.
type (
	identity struct {
		Environment     string `json:"environment"`
		EnvironmentKind string `json:"environment_kind"`
		ProofIssuer     string `json:"proof_issuer"`
	}
	decision struct {
		ID          string    `json:"id"`
		Decision    string    `json:"decision"`
		ReasonCodes []string  `json:"reason_codes"`
		Proof       *string   `json:"proof"`
		ProofID     *string   `json:"proof_id"`
		Assurance   assurance `json:"assurance"`
		Challenge   *struct {
			ID string `json:"id"`
		} `json:"challenge"`
	}
	assurance struct {
		Coverage string `json:"coverage"`
		Claims   []struct {
			Claim  string `json:"claim"`
			Status string `json:"status"`
		} `json:"claims"`
	}
	acknowledgement struct {
		Status          string   `json:"status"`
		ReasonCodes     []string `json:"reason_codes"`
		EnrollmentReady bool     `json:"enrollment_ready"`
	}
)

// status of a claim; empty where the profile has none.
func (a assurance) status(claim string) string {
	for _, c := range a.Claims {
		if c.Claim == claim {
			return c.Status
		}
	}
	return ""
}
