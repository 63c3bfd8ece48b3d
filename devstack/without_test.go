package main

import (
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	computepb "go.temporal.io/api/compute/v1"
	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestDevstack_UsesEveryReplacement fails for a folder of without/ whose module the server no longer needs.
func TestDevstack_UsesEveryReplacement(t *testing.T) {
	t.Parallel()
	info, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	var replacements []string
	for _, module := range info.Deps {
		if module.Replace != nil && strings.HasPrefix(module.Replace.Path, "./without/") {
			replacements = append(replacements, filepath.Base(module.Replace.Path))
		}
	}
	files, err := filepath.Glob("without/*/go.mod")
	require.NoError(t, err)
	var folders []string
	for _, file := range files {
		folders = append(folders, filepath.Base(filepath.Dir(file)))
	}
	require.NotEmpty(t, folders)
	require.ElementsMatch(t, folders, replacements)
}

func TestDevstack_VersionsWorkersThatItDoesNotStart(t *testing.T) {
	t.Parallel()
	mainDB, visibilityDB := freshNames(t)
	f := dial(t, start(t, mainDB, visibilityDB))
	_, err := f.workflow.CreateWorkerDeployment(t.Context(), &workflowservice.CreateWorkerDeploymentRequest{
		Namespace: namespace, DeploymentName: "shop",
	})
	require.NoError(t, err)

	version := &deploymentpb.WorkerDeploymentVersion{DeploymentName: "shop", BuildId: "a"}
	groups := map[string]*computepb.ComputeConfigScalingGroup{"all": {Provider: &computepb.ComputeProvider{Type: "k8s"}}}
	create := func(config *computepb.ComputeConfig) error {
		_, err := f.workflow.CreateWorkerDeploymentVersion(t.Context(), &workflowservice.CreateWorkerDeploymentVersionRequest{
			Namespace: namespace, DeploymentVersion: version, ComputeConfig: config,
		})
		return err
	}
	err = create(&computepb.ComputeConfig{ScalingGroups: groups})
	require.Equal(t, codes.InvalidArgument, status.Code(err), err)
	require.ErrorContains(t, err, "devstack cannot start workers")
	require.NoError(t, create(nil))

	described, err := f.workflow.DescribeWorkerDeploymentVersion(t.Context(), &workflowservice.DescribeWorkerDeploymentVersionRequest{
		Namespace: namespace, DeploymentVersion: version,
	})
	require.NoError(t, err)
	require.Nil(t, described.GetWorkerDeploymentVersionInfo().GetComputeConfig())

	_, err = f.workflow.ValidateWorkerDeploymentVersionComputeConfig(t.Context(), &workflowservice.ValidateWorkerDeploymentVersionComputeConfigRequest{
		Namespace: namespace, DeploymentVersion: version,
		ComputeConfigScalingGroups: map[string]*computepb.ComputeConfigScalingGroupUpdate{"all": {ScalingGroup: groups["all"]}},
	})
	require.Equal(t, codes.InvalidArgument, status.Code(err), err)

	_, err = f.workflow.DeleteWorkerDeploymentVersion(t.Context(), &workflowservice.DeleteWorkerDeploymentVersionRequest{
		Namespace: namespace, DeploymentVersion: version,
	})
	require.NoError(t, err)
}
