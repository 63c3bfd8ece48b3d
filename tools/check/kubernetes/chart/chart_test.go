package main

import (
	"maps"
	"net/netip"
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
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func TestChartIsThatOfTheManifests(t *testing.T) {
	t.Parallel()
	files, err := generate("../../" + source)
	require.NoError(t, err)
	var written []string
	require.NoError(t, filepath.WalkDir("../../"+target, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel("../../"+target, path)
			written = append(written, name)
		}
		return err
	}))
	require.ElementsMatch(t, slices.Collect(maps.Keys(files)), written, "run make chart")
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../../"+target, name))
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
	c, err := loader.LoadDir("../../" + target)
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
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../"+source)
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

// Whole numbers of a file of values keep their digits, which Helm reads as floats.
func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	texts := strings.Join(helm(t, `
settings: {COUNTERSIGN_A: 5000000, COUNTERSIGN_B: 9007199254740991, COUNTERSIGN_C: 0.25, COUNTERSIGN_D: true, COUNTERSIGN_E: "010", COUNTERSIGN_F: -12000000, COUNTERSIGN_G: 1234567.5}
memory: {request: 671088640, limit: 1342177280}
api: {cpu: 2}
`), "\n")
	for _, want := range []string{
		`COUNTERSIGN_A: "5000000"`, `COUNTERSIGN_B: "9007199254740991"`, `COUNTERSIGN_C: "0.25"`, `COUNTERSIGN_D: "true"`, `COUNTERSIGN_E: "010"`, `COUNTERSIGN_F: "-12000000"`,
		"memory: 671088640}", "limits: {memory: 1342177280}", "requests: {cpu: 2, ",
	} {
		require.Contains(t, texts, want)
	}
	require.Contains(t, texts, `COUNTERSIGN_G: "1234567.5"`)
}

// Values that would be rendered as something else, or that no template reads, are refused with their name.
func TestSchemaRefusesValues(t *testing.T) {
	t.Parallel()
	for values, place := range map[string]string{
		`image: {tag: 1.10}`: "/image/tag", `image: {tag: 20260101}`: "/image/tag", `image: {digest: "md5:1"}`: "/image/digest", `secret: 5`: "secret", `ports: {smtp: "587"}`: "/ports/smtp",
		`ports: {smtp: 70000}`: "/ports/smtp", `ports: {mail: 25}`: "mail", `api: {minReplicas: 2.5}`: "/api/minReplicas", `memory: {limit: 640MB}`: "/memory/limit",
		`settings: {COUNTERSIGN_A: [1]}`: "/settings/COUNTERSIGN_A", `settings: {COUNTERSIGN_A: 12345678901234567890}`: "/settings/COUNTERSIGN_A", `setings: {}`: "setings",
		`settings: {"countersign a": x}`: "countersign a", `to: {smtp: 10.0.0.0/8}`: "/to/smtp",
	} {
		given, err := chartutil.ReadValues([]byte(values))
		require.NoError(t, err)
		_, err = chartutil.ToRenderValues(loaded(t), given, chartutil.ReleaseOptions{Name: "countersign", Namespace: "countersign", IsInstall: true}, nil)
		require.ErrorContains(t, err, place, values)
	}
}

// policies are the network policies that the chart renders with the values.
func policies(t *testing.T, values string) []networkingv1.NetworkPolicy {
	t.Helper()
	var all []networkingv1.NetworkPolicy
	for _, text := range helm(t, values) {
		if strings.Contains(text, "\nkind: NetworkPolicy") {
			var p networkingv1.NetworkPolicy
			require.NoError(t, yaml.UnmarshalStrict([]byte(text), &p), "%s", text)
			all = append(all, p)
		}
	}
	require.NotEmpty(t, all)
	return all
}

// permitted reports whether pods of the component may connect to host:port by TCP. Peers that select pods do not include the host.
func permitted(t *testing.T, all []networkingv1.NetworkPolicy, component, to string) bool {
	t.Helper()
	at := netip.MustParseAddrPort(to)
	pod := labels.Set{"app.kubernetes.io/name": "countersign", "app.kubernetes.io/component": component}
	return slices.ContainsFunc(all, func(p networkingv1.NetworkPolicy) bool {
		selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
		require.NoError(t, err)
		return selector.Matches(pod) && slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) &&
			slices.ContainsFunc(p.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
				require.NotEmpty(t, rule.Ports, "%s permits every port", p.Name)
				return slices.ContainsFunc(rule.Ports, func(port networkingv1.NetworkPolicyPort) bool {
					return *port.Protocol == "TCP" && port.Port.IntValue() == int(at.Port())
				}) && (len(rule.To) == 0 || slices.ContainsFunc(rule.To, func(peer networkingv1.NetworkPolicyPeer) bool {
					return peer.IPBlock != nil && inside(peer.IPBlock, at.Addr())
				}))
			})
	})
}

func inside(block *networkingv1.IPBlock, a netip.Addr) bool {
	return netip.MustParsePrefix(block.CIDR).Contains(a) && !slices.ContainsFunc(block.Except, func(except string) bool {
		return netip.MustParsePrefix(except).Contains(a)
	})
}

// Each destination is permitted by its own setting or port, to the pods that connect to it, and not without.
func TestPoliciesFollowTheSettings(t *testing.T) {
	t.Parallel()
	const private, public = "10.20.0.7", "9.9.9.9"
	servers, all := []string{"api", "worker"}, []string{"api", "worker", "migrate"}
	for name, c := range map[string]struct {
		values string
		to     string
		from   []string // components that may connect with the values
		before []string // and without them
	}{
		"mail, STARTTLS":               {values: `settings: {COUNTERSIGN_SMTP_ADDRESS: "smtp.example.com:587"}`, to: private + ":587", from: servers},
		"mail, TLS":                    {values: `settings: {COUNTERSIGN_SMTP_ADDRESS: "smtp.example.com:465"}`, to: public + ":465", from: servers},
		"mail, IPv6":                   {values: `settings: {COUNTERSIGN_SMTP_ADDRESS: "[fd00::25]:465"}`, to: "[fd00::25]:465", from: servers},
		"mail, port of its setting":    {values: `settings: {COUNTERSIGN_SMTP_ADDRESS: "smtp.example.com:465"}`, to: public + ":587"},
		"mail, port of its pods":       {values: `{settings: {COUNTERSIGN_SMTP_ADDRESS: "mail.mail:25"}, ports: {smtp: 1025}}`, to: private + ":1025", from: servers},
		"mail, port without a setting": {values: `ports: {smtp: 1025}`, to: private + ":1025"},
		"mail, named network": {
			values: `{settings: {COUNTERSIGN_SMTP_ADDRESS: "smtp.internal:587"}, to: {smtp: [{ipBlock: {cidr: 10.20.0.0/24}}]}}`, to: private + ":587", from: servers,
		},
		"mail, different network": {
			values: `{settings: {COUNTERSIGN_SMTP_ADDRESS: "smtp.internal:587"}, to: {smtp: [{ipBlock: {cidr: 10.99.0.0/24}}]}}`, to: private + ":587",
		},
		"Postgres":                     {to: private + ":5432", from: all, before: all},
		"Postgres on a different port": {values: `ports: {postgres: 5000}`, to: private + ":5432", before: all},
		"Postgres behind a pooler":     {values: `ports: {pooler: 6432}`, to: private + ":5432", from: all, before: all},
		"pooler":                       {values: `ports: {pooler: 6432}`, to: private + ":6432", from: all},
		"standby":                      {values: `ports: {standby: 5433}`, to: private + ":5433", from: []string{"api"}},
		"Temporal":                     {to: private + ":7233", from: servers, before: servers},
		"Temporal on a different port": {values: `settings: {COUNTERSIGN_TEMPORAL_ADDRESS: "temporal.internal:7299"}`, to: private + ":7299", from: servers},
		"Temporal, port of its pods":   {values: `ports: {temporal: 7240}`, to: private + ":7240", from: servers},
		"collector":                    {values: `settings: {COUNTERSIGN_TRACES_ENDPOINT: "http://collector.monitoring:4318/"}`, to: private + ":4318", from: servers},
		"collector of metrics":         {values: `settings: {COUNTERSIGN_METRICS_ENDPOINT: "http://collector.monitoring:4318"}`, to: private + ":4318", from: servers},
		"collector, default port":      {values: `settings: {COUNTERSIGN_TRACES_ENDPOINT: "http://collector.monitoring/otlp"}`, to: private + ":80", from: servers},
		// Port 443 to every private address would let webhooks reach the inside.
		"collector at 443": {values: `settings: {COUNTERSIGN_TRACES_ENDPOINT: "https://collector.internal"}`, to: private + ":443"},
		"collector at 443 in a named network": {
			values: `{settings: {COUNTERSIGN_TRACES_ENDPOINT: "https://collector.internal"}, to: {traces: [{ipBlock: {cidr: 10.20.0.7/32}}]}}`, to: private + ":443", from: servers,
		},
		"provider in a private network":    {values: `settings: {COUNTERSIGN_OIDC_NETWORKS: "10.30.0.7/32, 10.20.0.0/16,"}`, to: private + ":443", from: servers},
		"provider, second port":            {values: `settings: {COUNTERSIGN_OIDC_NETWORKS: "10.20.0.0/16"}`, to: private + ":8443", from: servers},
		"provider in a different network":  {values: `settings: {COUNTERSIGN_OIDC_NETWORKS: "10.30.0.0/16"}`, to: private + ":443"},
		"provider, other ports":            {values: `settings: {COUNTERSIGN_OIDC_NETWORKS: "10.20.0.0/16"}`, to: private + ":8080"},
		"destination in a private network": {values: `settings: {COUNTERSIGN_DESTINATION_NETWORKS: "10.20.0.0/16"}`, to: private + ":6514", from: servers},
		"destination, network not named":   {values: `settings: {COUNTERSIGN_OIDC_NETWORKS: "10.20.0.0/16"}`, to: private + ":6514"},
		"destination in public":            {to: public + ":6514", from: servers, before: servers},
		"Postgres, no list of peers":       {values: `to: null`, to: private + ":5432", from: all, before: all}, // helm upgrade --reuse-values
		"webhook":                          {to: public + ":443", from: servers, before: servers},
		"webhook to the metadata":          {to: "169.254.169.254:443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			without, with := policies(t, ""), policies(t, c.values)
			for _, component := range all {
				require.Equal(t, slices.Contains(c.before, component), permitted(t, without, component, c.to), "%s to %s by default", component, c.to)
				require.Equal(t, slices.Contains(c.from, component), permitted(t, with, component, c.to), "%s to %s", component, c.to)
			}
		})
	}
}

// An identity provider in the cluster is named by its pods, which ipBlock does not select with every network plugin.
func TestProvidersInTheClusterAreSelected(t *testing.T) {
	t.Parallel()
	var found int
	for _, p := range policies(t, `{settings: {COUNTERSIGN_OIDC_NETWORKS: 10.20.0.0/16}, to: {oidc: [{namespaceSelector: {matchLabels: {team: login}}}]}}`) {
		for _, rule := range p.Spec.Egress {
			for _, peer := range rule.To {
				if peer.NamespaceSelector != nil {
					require.Equal(t, map[string]string{"team": "login"}, peer.NamespaceSelector.MatchLabels)
					require.Len(t, rule.To, 2)
					found++
				}
			}
		}
	}
	require.Equal(t, 1, found)
}
