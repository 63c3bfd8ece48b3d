// Package iface has the types with which the server describes a worker controller. Their JSON names are left out, because no workflow
// of a controller exists that would read or write them.
package iface

import (
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
)

// ValidationResultFailed is the status of a controller that cannot start workers.
const ValidationResultFailed ValidationResult = "failed"

type (
	// ComputeProviderType names a cloud.
	ComputeProviderType string

	// ScalingAlgorithmType names a rule for the number of workers.
	ScalingAlgorithmType string

	// ValidationResult is the outcome of a check.
	ValidationResult string

	// ComputeProviderSpec names the service that starts workers.
	ComputeProviderSpec struct {
		ProviderType  ComputeProviderType
		Config        *commonpb.Payload
		NexusEndpoint string
	}

	// ScalingAlgorithmSpec says how many workers are started.
	ScalingAlgorithmSpec struct {
		ScalingAlgorithm ScalingAlgorithmType
		Config           *commonpb.Payload
	}

	// ScalingGroupSpec describes the workers of some types of task.
	ScalingGroupSpec struct {
		TaskTypes []enumspb.TaskQueueType
		Compute   ComputeProviderSpec
		Scaling   *ScalingAlgorithmSpec
	}

	// ScalingGroupSpecUpdate changes the fields of a group that the mask names.
	ScalingGroupSpecUpdate struct {
		Spec       ScalingGroupSpec
		UpdateMask []string
	}

	// WorkerControllerInstanceSpec describes a controller by the names of its groups.
	WorkerControllerInstanceSpec struct {
		ScalingGroupSpecs map[string]ScalingGroupSpec
	}

	// ValidationStatus is the last check of a controller.
	ValidationStatus struct {
		LastValidationTime time.Time
		Status             ValidationResult
		ErrMessage         string
	}

	// QueryDescribeWorkerControllerInstanceResponse describes a controller.
	QueryDescribeWorkerControllerInstanceResponse struct {
		Spec             *WorkerControllerInstanceSpec
		ValidationStatus *ValidationStatus
	}

	// UpdateWorkerControllerInstanceResponse describes a controller after a change.
	UpdateWorkerControllerInstanceResponse struct {
		Spec *WorkerControllerInstanceSpec
	}
)
