// Package config replaces the credentials of AWS from files, roles and single sign-on, and the clients of the services that issue them,
// with none: devstack calls no service of AWS. The server asks for them when it archives to S3 or signs requests to OpenSearch.
package config

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
)

var errNoAWS = errors.New("devstack has no client of AWS")

type (
	// LoadOptions has no options.
	LoadOptions struct{}

	// LoadOptionsFunc is an option without effect.
	LoadOptionsFunc func(*LoadOptions) error

	// EnvConfig is a configuration from environment variables.
	EnvConfig struct{ Credentials aws.Credentials }
)

// LoadDefaultConfig returns an error, whatever the options are.
func LoadDefaultConfig(context.Context, ...LoadOptionsFunc) (aws.Config, error) {
	return aws.Config{}, errNoAWS
}

// NewEnvConfig returns an error, whatever the variables are.
func NewEnvConfig() (EnvConfig, error) { return EnvConfig{}, errNoAWS }

// WithRegion returns an option without effect.
func WithRegion(string) LoadOptionsFunc { return ignore }

// WithClientLogMode returns an option without effect.
func WithClientLogMode(aws.ClientLogMode) LoadOptionsFunc { return ignore }

func ignore(*LoadOptions) error { return nil }
