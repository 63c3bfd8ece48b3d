// Package client replaces the client of Temporal's worker controllers, which start and stop workers on AWS, Google Cloud or Kubernetes
// as tasks arrive, with one that finds no controller and accepts none. The clients of those clouds are more than a quarter of the source
// of a server, and a developer starts workers without them. Worker Versioning needs no controller.
package client

import (
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
	"go.uber.org/fx"
)

// refusal is the message of the error for a request that configures a controller.
const refusal = "devstack cannot start workers: leave out the compute configuration and start them yourself"

// Module provides the Client.
var Module = fx.Supply(Client{})

// Client is the client in a cluster without controllers. Its methods ignore their arguments.
type Client struct{}

// DescribeWorkerControllerInstance returns serviceerror.NotFound, as for a version without a compute configuration.
func (Client) DescribeWorkerControllerInstance(...any) (*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error) {
	return nil, nil, serviceerror.NewNotFound("devstack has no worker controllers")
}

// ValidateWorkerControllerInstanceSpec returns serviceerror.InvalidArgument.
func (Client) ValidateWorkerControllerInstanceSpec(...any) error {
	return serviceerror.NewInvalidArgument(refusal)
}

// UpdateWorkerControllerInstance returns serviceerror.InvalidArgument, which the server does not retry.
func (Client) UpdateWorkerControllerInstance(...any) (*iface.UpdateWorkerControllerInstanceResponse, error) {
	return nil, serviceerror.NewInvalidArgument(refusal)
}

// DeleteWorkerControllerInstance returns nil: the server calls it for each version that it deletes, with and without a controller.
func (Client) DeleteWorkerControllerInstance(...any) error { return nil }
