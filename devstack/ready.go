package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// endpoints is the content of the ready file.
type endpoints struct {
	Frontend string `json:"frontend"` // host:port of the gRPC frontend
	UI       string `json:"ui"`       // URL of the web UI
}

// writeReady writes e to path atomically: a reader sees the whole file or none.
func writeReady(path string, e endpoints) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return fmt.Errorf("the ready file cannot be written: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails harmlessly once the file is renamed
	_, err = tmp.Write(append(text, '\n'))
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("the ready file cannot be written: %w", err)
	}
	return nil
}

// removeReady removes the ready file of an earlier process, so that a reader does not mistake it for this one's.
func removeReady(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("the old ready file cannot be removed: %w", err)
	}
	return nil
}
