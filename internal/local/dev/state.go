package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/countersign-dev/countersign/internal/platform/keyring"
)

// State is the content of dev.json, for scripts: the addresses of all
// servers and the keys to them.
type State struct {
	BaseURL         string       `json:"base_url"`
	OpsURL          string       `json:"ops_url"`
	TemporalAddress string       `json:"temporal_address"`
	TemporalUI      string       `json:"temporal_ui"`
	DatabaseURL     string       `json:"database_url"`
	Tenant          string       `json:"tenant"`
	Environments    Environments `json:"environments"`
	Try             Keys         `json:"try"` // of the visitors of the page under /try, another tenant's sandbox
}

// Environments are the two environments of the development tenant.
type Environments struct {
	Sandbox Keys `json:"sandbox"`
	Live    Keys `json:"live"`
}

// Named returns the keys of the environment of that id or kind; sandbox if the name is empty.
func (e Environments) Named(name string) (Keys, error) {
	switch name {
	case "", "sandbox", e.Sandbox.Environment:
		return e.Sandbox, nil
	case "live", e.Live.Environment:
		return e.Live, nil
	}
	return Keys{}, errors.New("want sandbox, live or the id of one of them")
}

// Keys are the credentials of one environment.
type Keys struct {
	Environment    string `json:"environment"`
	ServerKey      string `json:"server_key"`
	AdminKey       string `json:"admin_key"`
	ApproverKey    string `json:"approver_key,omitempty"` // a second admin key, which may approve what the first requests; sandbox only
	PublishableKey string `json:"publishable_key"`
}

// StatePath is the path of the folder's dev.json.
func StatePath(dir string) string { return filepath.Join(dir, "dev.json") }

// ReadState reads the stored state; the zero State if there is none.
func ReadState(dir string) (State, error) {
	var s State
	text, err := os.ReadFile(StatePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("the keys of this folder cannot be read: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s is damaged (%w): rename it, and new keys are made", StatePath(dir), err)
	}
	return s, nil
}

// WriteState stores the state atomically, readable by the owner only.
func WriteState(dir string, s State) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeSecret(StatePath(dir), append(text, '\n'))
}

// MasterKeyPath is the path of the folder's master key.
func MasterKeyPath(dir string) string { return filepath.Join(dir, "master.key") }

// MasterKey reads the folder's master key in the form that keyring.Parse
// reads. It generates one if the file is missing.
func MasterKey(dir string) (string, error) {
	path := MasterKeyPath(dir)
	text, err := os.ReadFile(path) // #nosec G304 -- a file of our own folder
	switch {
	case err == nil:
		if _, err := keyring.Parse(string(text)); err != nil {
			return "", fmt.Errorf("%s is damaged (%w): restore it; without it the stored keys cannot be opened", path, err)
		}
		return string(text), nil
	case !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("the master key cannot be read: %w", err)
	}
	key := keyring.Generate()
	return key, writeSecret(path, []byte(key+"\n"))
}

// writeSecret writes a file with mode 0600 atomically: a reader sees all of
// it or none.
func writeSecret(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // nothing is left to remove once it has its name
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
