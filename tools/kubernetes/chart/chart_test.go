package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func TestChartIsThatOfTheManifests(t *testing.T) {
	t.Parallel()
	files, err := generate("../" + source)
	require.NoError(t, err)
	var written []string
	require.NoError(t, filepath.WalkDir("../"+target, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel("../"+target, path)
			written = append(written, name)
		}
		return err
	}))
	require.ElementsMatch(t, slices.Collect(maps.Keys(files)), written, "run make chart")
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../"+target, name))
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%s: run make chart", name)
	}
}

// objects of one rendering, by kind and name, in the fields that both ways of installing set.
type objects map[string]map[string]any

var settingsName = regexp.MustCompile(`countersign-[0-9a-z]{10}\b`)

func (o objects) add(t *testing.T, text string) {
	t.Helper()
	// Both derive the name of the settings from their content, each with a hash of its own.
	var object map[string]any
	require.NoError(t, yaml.UnmarshalStrict([]byte(settingsName.ReplaceAllString(text, "countersign-HASH")), &object), "%s", text)
	if object == nil || object["kind"] == "Namespace" {
		return
	}
	metadata, ok := object["metadata"].(map[string]any)
	require.True(t, ok)
	delete(metadata, "namespace")
	if annotations, ok := metadata["annotations"].(map[string]any); ok && (annotations["helm.sh/hook"] != nil || annotations["helm.sh/resource-policy"] != nil) {
		delete(metadata, "annotations")
	}
	key := object["kind"].(string) + " " + metadata["name"].(string)
	require.NotContains(t, o, key)
	o[key] = object
}

func loaded(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir("../" + target)
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	return c
}

// helm renders the chart as helm install does, with values over its own.
func helm(t *testing.T, values string) []string {
	t.Helper()
	given, err := chartutil.ReadValues([]byte(values))
	require.NoError(t, err)
	all, err := chartutil.ToRenderValues(loaded(t), given, chartutil.ReleaseOptions{Name: "countersign", Namespace: "countersign", IsInstall: true}, nil)
	require.NoError(t, err)
	rendered, err := engine.Engine{Strict: true}.Render(loaded(t), all)
	require.NoError(t, err)
	var texts []string
	for _, text := range rendered {
		texts = append(texts, regexp.MustCompile(`(?m)^---$`).Split(text, -1)...)
	}
	return texts
}

func TestChartRendersTheManifests(t *testing.T) {
	t.Parallel()
	fromHelm, fromKustomize := objects{}, objects{}
	for _, text := range helm(t, "") {
		fromHelm.add(t, text)
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../"+source)
	require.NoError(t, err)
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		require.NoError(t, err)
		fromKustomize.add(t, string(text))
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(fromKustomize)), slices.Collect(maps.Keys(fromHelm)))
	for name, want := range fromKustomize {
		require.Equal(t, want, fromHelm[name], name)
	}
}

func TestValuesReachThePods(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, text := range helm(t, `
image: {repository: registry.bank.example/countersign, digest: "sha256:0123"}
secret: bank
api: {cpu: 2000m, minReplicas: 9, maxReplicas: 21}
worker: {minReplicas: 5}
memory: {request: 320Mi, limit: 640Mi}
settings: {GOMEMLIMIT: 560MiB}
ports: {postgres: 6432}
`) {
		require.NotContains(t, text, "5432")
		switch {
		case strings.Contains(text, "\nkind: Deployment"):
			var d appsv1.Deployment
			require.NoError(t, yaml.UnmarshalStrict([]byte(text), &d))
			pod := d.Spec.Template.Spec
			require.Equal(t, "registry.bank.example/countersign@sha256:0123", pod.Containers[0].Image)
			require.Equal(t, "bank", pod.Volumes[0].Secret.SecretName)
			require.Equal(t, resource.MustParse("640Mi"), pod.Containers[0].Resources.Limits["memory"])
			require.Regexp(t, settingsName, pod.Containers[0].EnvFrom[0].ConfigMapRef.Name)
		case strings.Contains(text, "\nkind: HorizontalPodAutoscaler"):
			var h autoscalingv2.HorizontalPodAutoscaler
			require.NoError(t, yaml.UnmarshalStrict([]byte(text), &h))
			require.Contains(t, []int32{9, 5}, *h.Spec.MinReplicas)
		case strings.Contains(text, "\nkind: ConfigMap"):
			require.Contains(t, text, `GOMEMLIMIT: "560MiB"`)
			require.Contains(t, text, "COUNTERSIGN_TEMPORAL_NAMESPACE")
		default:
			continue
		}
		seen++
	}
	require.Equal(t, 5, seen)
}
