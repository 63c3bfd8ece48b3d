// Package kubernetes holds deploy/kubernetes to what a cluster would say of it, and to what an operator expects: fields that
// exist, pods that the restricted profile admits, probes, budgets and policies that are about the pods there are.
package kubernetes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const folder = "../../../deploy/kubernetes"

// cluster has the objects that kubectl apply -k sends.
type cluster struct {
	Namespaces  []corev1.Namespace
	ConfigMaps  []corev1.ConfigMap
	Services    []corev1.Service
	Deployments []appsv1.Deployment
	Jobs        []batchv1.Job
	Budgets     []policyv1.PodDisruptionBudget
	Scalers     []autoscalingv2.HorizontalPodAutoscaler
	Policies    []networkingv1.NetworkPolicy
}

// rendered fails the test for a kind that is not expected, and for a field that the kind has not.
func rendered(t *testing.T) cluster {
	t.Helper()
	return renderedFrom(t, filesys.MakeFsOnDisk(), folder)
}

func renderedFrom(t *testing.T, files filesys.FileSystem, folder string) cluster {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, folder)
	require.NoError(t, err)
	var c cluster
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		require.NoError(t, err)
		switch kind := r.GetApiVersion() + " " + r.GetKind(); kind {
		case "v1 Namespace":
			c.Namespaces = append(c.Namespaces, decoded[corev1.Namespace](t, text))
		case "v1 ConfigMap":
			c.ConfigMaps = append(c.ConfigMaps, decoded[corev1.ConfigMap](t, text))
		case "v1 Service":
			c.Services = append(c.Services, decoded[corev1.Service](t, text))
		case "apps/v1 Deployment":
			c.Deployments = append(c.Deployments, decoded[appsv1.Deployment](t, text))
		case "batch/v1 Job":
			c.Jobs = append(c.Jobs, decoded[batchv1.Job](t, text))
		case "policy/v1 PodDisruptionBudget":
			c.Budgets = append(c.Budgets, decoded[policyv1.PodDisruptionBudget](t, text))
		case "autoscaling/v2 HorizontalPodAutoscaler":
			c.Scalers = append(c.Scalers, decoded[autoscalingv2.HorizontalPodAutoscaler](t, text))
		case "networking.k8s.io/v1 NetworkPolicy":
			c.Policies = append(c.Policies, decoded[networkingv1.NetworkPolicy](t, text))
		default:
			t.Fatalf("%s: this test knows no such kind", kind)
		}
	}
	return c
}

func decoded[T any](t *testing.T, text []byte) T {
	t.Helper()
	var out T
	require.NoError(t, yaml.UnmarshalStrict(text, &out), "%s", text)
	return out
}

// pods are the templates by the name of what makes them.
func (c cluster) pods() map[string]corev1.PodTemplateSpec {
	all := map[string]corev1.PodTemplateSpec{}
	for _, d := range c.Deployments {
		all[d.Name] = d.Spec.Template
	}
	for _, j := range c.Jobs {
		all[j.Name] = j.Spec.Template
	}
	return all
}

// chosen are the names of those whose pods the selector is about.
func (c cluster) chosen(t *testing.T, s *metav1.LabelSelector) []string {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	require.NoError(t, err)
	var names []string
	for name, pod := range c.pods() {
		if selector.Matches(labels.Set(pod.Labels)) {
			names = append(names, name)
		}
	}
	return names
}

// The files as they are, too: a comment in front of a document must not hide a second one.
func TestEveryFileIsRendered(t *testing.T) {
	t.Parallel()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	require.NoError(t, err)
	written := 1 // the settings, which have no kind
	files, err := filepath.Glob(folder + "/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if filepath.Base(file) != "kustomization.yaml" {
			written += len(regexp.MustCompile(`(?m)^kind: `).FindAll(text, -1))
		}
	}
	require.Len(t, resources.Resources(), written)
}

func TestTheRestrictedProfileAdmitsEveryPod(t *testing.T) {
	t.Parallel()
	c := rendered(t)
	require.Equal(t, "restricted", c.Namespaces[0].Labels["pod-security.kubernetes.io/enforce"])
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks())
	require.NoError(t, err)
	for name, pod := range c.pods() {
		results := evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec)
		total := policy.AggregateCheckResults(results)
		require.True(t, total.Allowed, "%s: %s", name, total.ForbiddenDetail())
	}
}

func TestPodsRunAsNobodyAndKeepNothing(t *testing.T) {
	t.Parallel()
	for name, pod := range rendered(t).pods() {
		require.False(t, *pod.Spec.AutomountServiceAccountToken, name)
		require.False(t, *pod.Spec.EnableServiceLinks, name)
		require.NotZero(t, *pod.Spec.SecurityContext.RunAsUser, name)
		for _, container := range pod.Spec.Containers {
			s := container.SecurityContext
			require.True(t, *s.ReadOnlyRootFilesystem, name)
			require.Equal(t, []corev1.Capability{"ALL"}, s.Capabilities.Drop, name)
			require.Empty(t, s.Capabilities.Add, name)
			require.NotZero(t, container.Resources.Requests.Cpu().MilliValue(), name)
			require.NotZero(t, container.Resources.Requests.Memory().Value(), name)
			require.NotZero(t, container.Resources.Limits.Memory().Value(), name)
			require.True(t, container.Resources.Limits.Cpu().IsZero(), "%s: a limit of CPU slows decisions down for nothing", name)
			require.NotEqual(t, "latest", container.Image[strings.LastIndex(container.Image, ":")+1:], name)
			for _, m := range container.VolumeMounts {
				require.True(t, m.ReadOnly, "%s: %s", name, m.Name)
			}
		}
		for _, v := range pod.Spec.Volumes {
			require.Equal(t, int32(0o440), *v.Secret.DefaultMode, name)
		}
	}
}

func TestServersAreProbedAndReplacedOneByOne(t *testing.T) {
	t.Parallel()
	for _, d := range rendered(t).Deployments {
		container := d.Spec.Template.Spec.Containers[0]
		for which, probe := range map[string]*corev1.Probe{
			"/livez": container.LivenessProbe, "/readyz": container.ReadinessProbe, "": container.StartupProbe,
		} {
			require.NotNil(t, probe, d.Name)
			require.Contains(t, probe.HTTPGet.Path, which, "%s: an unavailable part makes the pod unready and restarts nothing", d.Name)
			require.Contains(t, portNames(container), probe.HTTPGet.Port.String(), d.Name)
		}
		require.Zero(t, d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue(), d.Name)
		// Leaving the balancers, draining (15 s) and an activity's end (10 s) have their time.
		grace := *d.Spec.Template.Spec.TerminationGracePeriodSeconds
		if container.Lifecycle != nil {
			grace -= container.Lifecycle.PreStop.Sleep.Seconds
		}
		require.GreaterOrEqual(t, grace, int64(30), d.Name)
	}
}

func portNames(container corev1.Container) []string {
	var names []string
	for _, p := range container.Ports {
		names = append(names, p.Name)
	}
	return names
}

func TestSelectorsAreAboutThePodsThereAre(t *testing.T) {
	t.Parallel()
	c := rendered(t)
	budgeted := map[string]bool{}
	for _, b := range c.Budgets {
		for _, name := range c.chosen(t, b.Spec.Selector) {
			budgeted[name] = true
		}
		require.Equal(t, 1, b.Spec.MaxUnavailable.IntValue(), "%s: a budget that grows with the replicas", b.Name)
	}
	for _, d := range c.Deployments {
		require.Equal(t, []string{d.Name}, c.chosen(t, d.Spec.Selector))
		require.True(t, budgeted[d.Name], "%s has no disruption budget", d.Name)
		for _, spread := range d.Spec.Template.Spec.TopologySpreadConstraints {
			require.Equal(t, []string{d.Name}, c.chosen(t, spread.LabelSelector))
		}
	}
	for _, s := range c.Services {
		names := c.chosen(t, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
		require.Len(t, names, 1, s.Name)
		for _, p := range s.Spec.Ports {
			require.Contains(t, portNames(c.pods()[names[0]].Spec.Containers[0]), p.TargetPort.String())
		}
	}
	var deployed, scaled []string
	for _, d := range c.Deployments {
		require.Nil(t, d.Spec.Replicas, "an apply would undo the autoscaler's work on %s", d.Name)
		deployed = append(deployed, d.Name)
	}
	for _, h := range c.Scalers {
		scaled = append(scaled, h.Spec.ScaleTargetRef.Name)
	}
	require.ElementsMatch(t, deployed, scaled)
}

// The capacity model computes with this utilization, and with pods that are spread evenly over the machines that there are.
func TestReplicasSurviveTheLossOfAMachine(t *testing.T) {
	t.Parallel()
	c := rendered(t)
	for _, h := range c.Scalers {
		require.Equal(t, int32(70), *h.Spec.Metrics[0].Resource.Target.AverageUtilization, h.Name)
		require.GreaterOrEqual(t, *h.Spec.MinReplicas, int32(2), h.Name)
		require.GreaterOrEqual(t, h.Spec.MaxReplicas, *h.Spec.MinReplicas, h.Name)
	}
	for _, d := range c.Deployments {
		hard := map[string]corev1.TopologySpreadConstraint{}
		for _, spread := range d.Spec.Template.Spec.TopologySpreadConstraints {
			if spread.WhenUnsatisfiable == corev1.DoNotSchedule {
				hard[spread.TopologyKey] = spread
			}
		}
		machine := hard[corev1.LabelHostname]
		require.Equal(t, int32(1), machine.MaxSkew, d.Name)
		require.Equal(t, corev1.NodeInclusionPolicyHonor, *machine.NodeTaintsPolicy, "%s: a lost machine would keep its pods from the others", d.Name)
		require.Equal(t, []string{"pod-template-hash"}, machine.MatchLabelKeys, "%s: a rollout would wait for the pods of before", d.Name)
		require.NotContains(t, hard, corev1.LabelTopologyZone, "%s: a lost zone would keep its pods from the others", d.Name)
	}
}

// The Go runtime collects harder before the limit of the container ends the process.
func TestTheMemoryLimitIsAboveGos(t *testing.T) {
	t.Parallel()
	c := rendered(t)
	soft := resource.MustParse(strings.TrimSuffix(c.ConfigMaps[0].Data["GOMEMLIMIT"], "B"))
	for _, d := range c.Deployments {
		limit := d.Spec.Template.Spec.Containers[0].Resources.Limits.Memory()
		require.Positive(t, limit.Cmp(soft), d.Name)
	}
}

func TestPoliciesShutInEveryPod(t *testing.T) {
	t.Parallel()
	c := rendered(t)
	shut := map[string]map[networkingv1.PolicyType]bool{}
	for name := range c.pods() {
		shut[name] = map[networkingv1.PolicyType]bool{}
	}
	for _, p := range c.Policies {
		names := c.chosen(t, &p.Spec.PodSelector)
		require.NotEmpty(t, names, p.Name)
		for _, name := range names {
			for _, direction := range p.Spec.PolicyTypes {
				shut[name][direction] = true
			}
		}
		for _, in := range p.Spec.Ingress {
			require.NotEmpty(t, in.Ports, "%s lets everything in", p.Name)
			for _, port := range in.Ports {
				require.True(t, port.Port.String() != "ops" || len(in.From) > 0, "the operations port is for the inside only")
			}
		}
		for _, out := range p.Spec.Egress {
			require.NotEmpty(t, out.Ports, "%s lets everything out", p.Name)
		}
	}
	for name, directions := range shut {
		require.Len(t, directions, 2, name)
	}
}

// Settings are those that the command knows, and what they name is there.
func TestSettingsAreKnownAndTheirFilesMounted(t *testing.T) {
	t.Parallel()
	c := rendered(t)
	require.Len(t, c.ConfigMaps, 1)
	config, err := os.ReadFile("../../../cmd/countersign/settings.go")
	require.NoError(t, err)
	for name, pod := range c.pods() {
		container := pod.Spec.Containers[0]
		given := map[string]string{}
		for _, from := range container.EnvFrom {
			require.Equal(t, c.ConfigMaps[0].Name, from.ConfigMapRef.Name, name)
			given = c.ConfigMaps[0].Data
		}
		for _, e := range container.Env {
			given[e.Name] = e.Value
		}
		require.NotEmpty(t, given["COUNTERSIGN_DATABASE_URL_FILE"], name)
		for key, value := range given {
			if strings.HasPrefix(key, "COUNTERSIGN_") {
				require.True(t, bytes.Contains(config, []byte(`"`+strings.TrimSuffix(key, "_FILE")+`"`)), "no setting is called %s", key)
			}
			if strings.HasSuffix(key, "_FILE") {
				require.Equal(t, container.VolumeMounts[0].MountPath, filepath.Dir(value), "%s: %s", name, key)
			}
		}
	}
}

// open are the ports that each pod may connect to, by the name of what makes it.
func (c cluster) open(t *testing.T) map[string]map[int]bool {
	t.Helper()
	open := map[string]map[int]bool{}
	for _, p := range c.Policies {
		for _, name := range c.chosen(t, &p.Spec.PodSelector) {
			for _, out := range p.Spec.Egress {
				for _, port := range out.Ports {
					if open[name] == nil {
						open[name] = map[int]bool{}
					}
					open[name][port.Port.IntValue()] = true
					require.True(t, port.Port.IntValue() != 443 || len(out.To) > 0, "webhooks must not reach the inside")
				}
			}
		}
	}
	return open
}

// An API sends test deliveries of webhooks, so both kinds of server need every destination; the job needs the database. What is for
// settings that are not set is denied.
func TestPoliciesLetOutWhatIsNeeded(t *testing.T) {
	t.Parallel()
	servers := map[int]bool{53: true, 5432: true, 7233: true, 443: true, 8443: true, 4318: true, 6514: true, 8088: true}
	require.Equal(t, map[string]map[int]bool{
		"countersign-api": servers, "countersign-worker": servers, "countersign-migrate": {53: true, 5432: true},
	}, rendered(t).open(t))
}

// uncommented are the manifests with their optional settings and rules.
func uncommented(t *testing.T) cluster {
	t.Helper()
	files := filesys.MakeFsInMemory()
	paths, err := filepath.Glob(folder + "/*")
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		switch filepath.Base(path) {
		case "settings.env":
			text = regexp.MustCompile(`(?m)^# (COUNTERSIGN_)`).ReplaceAll(text, []byte("$1"))
		case "network.yaml":
			text = regexp.MustCompile(`(?m)^( +)# (- |  |egress:)`).ReplaceAll(text, []byte("$1$2"))
		}
		require.NoError(t, files.WriteFile("/"+filepath.Base(path), text))
	}
	return renderedFrom(t, files, "/")
}

// The rules that an operator uncomments are those that the settings beside them need.
func TestOptionalRulesPermitWhatOptionalSettingsName(t *testing.T) {
	t.Parallel()
	c := uncommented(t)
	require.Len(t, c.ConfigMaps, 1)
	known, err := filepath.Glob("../../../cmd/countersign/*.go")
	require.NoError(t, err)
	var sources []byte
	for _, path := range known {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		sources = append(sources, text...)
	}
	settings := c.ConfigMaps[0].Data
	for key := range settings {
		if strings.HasPrefix(key, "COUNTERSIGN_") {
			require.True(t, bytes.Contains(sources, []byte(`"`+strings.TrimSuffix(key, "_FILE")+`"`)), "no setting is called %s", key)
		}
	}
	open := c.open(t)
	for _, name := range []string{"COUNTERSIGN_SMTP_ADDRESS", "COUNTERSIGN_TRACES_ENDPOINT", "COUNTERSIGN_METRICS_ENDPOINT", "COUNTERSIGN_TEMPORAL_ADDRESS"} {
		port, err := strconv.Atoi(settings[name][strings.LastIndex(settings[name], ":")+1:])
		require.NoError(t, err, name)
		for _, d := range c.Deployments {
			require.Contains(t, open[d.Name], port, "%s: %s", d.Name, name)
		}
		require.NotContains(t, open["countersign-migrate"], port, name)
	}
	for name := range c.pods() {
		require.Contains(t, open[name], 6432, "%s: the connection pooler", name)
		require.Contains(t, open[name], 5432, "%s: the server behind it", name)
		require.Equal(t, name == "countersign-api", open[name][5433], "%s: the standby", name)
	}
	var networks []string
	for _, p := range c.Policies {
		for _, out := range p.Spec.Egress {
			for _, peer := range out.To {
				if len(peer.IPBlock.Except) == 0 {
					networks = append(networks, fmt.Sprintf("%s at %d ports", peer.IPBlock.CIDR, len(out.Ports)))
				}
			}
		}
	}
	require.Equal(t, []string{settings["COUNTERSIGN_OIDC_NETWORKS"] + " at 2 ports", settings["COUNTERSIGN_DESTINATION_NETWORKS"] + " at 5 ports"}, networks)
}

// A new setting that names a server needs a rule, or the policies deny its connections.
func TestEverySettingThatNamesAServerHasARule(t *testing.T) {
	t.Parallel()
	// Neither is connected to: links lead to the first, and the console's to the second.
	links := []string{"COUNTERSIGN_BASE_URL", "COUNTERSIGN_TEMPORAL_UI"}
	policies, err := os.ReadFile(folder + "/network.yaml")
	require.NoError(t, err)
	paths, err := filepath.Glob("../../../cmd/countersign/settings*.go")
	require.NoError(t, err)
	found := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`"(COUNTERSIGN_\w+_(?:URL|ADDRESS|ENDPOINT|NETWORKS|UI))"`).FindAllSubmatch(text, -1) {
			if name := string(m[1]); !slices.Contains(links, name) {
				require.Regexp(t, name+`\b`, string(policies), "%s has no rule in network.yaml", name)
				found++
			}
		}
	}
	require.GreaterOrEqual(t, found, 7)
}
