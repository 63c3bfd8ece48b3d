package main

import (
	"context"
	"log/slog"

	"github.com/countersign-dev/countersign/cmd/countersign/wiring"
)

// core is what commands work with.
type core = wiring.Core

// openCLI is the core for a command at a terminal: it logs nothing, and requires the schema of this binary and the master keys
// of the database.
func openCLI(ctx context.Context, s *settings) (*core, error) {
	c, err := connectCLI(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := c.Check(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// connectCLI is openCLI without the comparison with the database.
func connectCLI(ctx context.Context, s *settings) (*core, error) {
	if err := s.needDatabase(); err != nil {
		return nil, err
	}
	keys, err := s.keyring()
	if err != nil {
		return nil, err
	}
	baseURL := s.baseURL
	if baseURL != "" {
		if baseURL, err = s.publicURL(); err != nil {
			return nil, err
		}
	}
	return wiring.Open(ctx, wiring.Settings{
		Log: slog.New(slog.DiscardHandler), DatabaseURL: s.databaseURL, BaseURL: baseURL, Keys: keys, MaxConns: 4,
	})
}
