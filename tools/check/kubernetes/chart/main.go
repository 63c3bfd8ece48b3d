// Command chart writes the Helm chart of deploy/helm from the manifests of deploy/kubernetes (make chart). What an installation
// changes becomes a value whose default is that of the manifests; everything else is copied, comments included.
package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	// The paths are from tools/check, in which make chart runs this command.
	source = "../../deploy/kubernetes"
	target = "../../deploy/helm/countersign"
)

func main() {
	files, err := generate(source)
	if err == nil {
		err = write(target, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// write replaces the folder, so that no template of a removed manifest stays.
func write(dir string, files map[string]string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// schema refuses values that the templates would render as something else, such as a tag that YAML reads as a number.
//
//go:embed schema.json
var schema string

// change replaces what the pattern finds. Its groups are the defaults of the values that the template refers to, in order.
type change struct {
	pattern  string
	template string
	values   []string // dotted names
}

const (
	image = `"{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}"`
	// hook makes the job run before the other objects, at each upgrade anew: a Job cannot be changed.
	hook = "\n  annotations: {helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-delete-policy: before-hook-creation}"
)

// server are the changes that an API and a worker have in common.
func server(kind string) []change {
	return []change{
		{pattern: `image: countersign`, template: "image: " + image},
		{pattern: `configMapRef: \{name: countersign\}`, template: `configMapRef: {name: "{{ include "countersign.settings" . }}"}`},
		{pattern: `secretName: countersign`, template: `secretName: "{{ .Values.secret }}"`},
		{
			pattern:  `requests: \{cpu: (\w+), memory: (\w+)\}, limits: \{memory: (\w+)\}`,
			template: `requests: {cpu: {{ include "countersign.text" .Values.` + kind + `.cpu }}, memory: {{ include "countersign.text" .Values.memory.request }}}, limits: {memory: {{ include "countersign.text" .Values.memory.limit }}}`,
			values:   []string{kind + ".cpu", "memory.request", "memory.limit"},
		},
		{
			pattern:  `minReplicas: (\d+)\n  maxReplicas: (\d+)`,
			template: "minReplicas: {{ .Values." + kind + ".minReplicas }}\n  maxReplicas: {{ .Values." + kind + ".maxReplicas }}",
			values:   []string{kind + ".minReplicas", kind + ".maxReplicas"},
		},
	}
}

// manifests are the files that become templates, with the changes of each. Every change must be found.
var manifests = map[string][]change{
	"api.yaml":    server("api"),
	"worker.yaml": server("worker"),
	"migrate.yaml": {
		{pattern: `name: countersign-migrate`, template: "name: countersign-migrate" + hook},
		{pattern: `image: countersign`, template: "image: " + image},
		{pattern: `secretName: countersign`, template: `secretName: "{{ .Values.secret }}"`},
		{pattern: `secretKeyRef: \{name: countersign,`, template: `secretKeyRef: {name: "{{ .Values.secret }}",`},
	},
	"network.yaml": {
		{pattern: `metadata\.name: (\w+)`, template: `metadata.name: "{{ .Values.scraperNamespace }}"`, values: []string{"scraperNamespace"}},
		{pattern: rule("5432"), template: permit("postgres", ""), values: []string{"ports.postgres"}},
		{pattern: rule("6432"), template: permit("pooler", "")},
		// Without a standby the section is left out, because an empty one is null.
		{pattern: `\n  # egress:` + rule("5433"), template: "\n  {{- if .Values.ports.standby }}\n  egress:" + permit("standby", "") + "\n  {{- end }}"},
		{pattern: rule("7233"), template: permit("temporal", "COUNTERSIGN_TEMPORAL_ADDRESS")},
		{pattern: `# COUNTERSIGN_METRICS_ENDPOINT` + rule("4318"), template: "# COUNTERSIGN_METRICS_ENDPOINT" + permit("metrics", "COUNTERSIGN_METRICS_ENDPOINT")},
		{pattern: rule("4318"), template: permit("traces", "COUNTERSIGN_TRACES_ENDPOINT")},
		{pattern: rule("587"), template: permit("smtp", "COUNTERSIGN_SMTP_ADDRESS")},
		{pattern: networks("10.20.0.0/16"), template: permitNetworks("oidc", "COUNTERSIGN_OIDC_NETWORKS")},
		{pattern: networks("10.30.0.0/16"), template: permitNetworks("destinations", "COUNTERSIGN_DESTINATION_NETWORKS", 4318, 6514, 8088)},
	},
}

// rule finds the egress rule of a port, which is a comment if the setting that it is for is not set.
func rule(number string) string {
	return `\n +(?:# +)?- ports: \[\{port: (` + number + `), protocol: TCP\}\]`
}

// permit writes a rule if the values have a port for it. Without a setting, the port is that of the values only: the URL is in the secret.
func permit(name, setting string) string {
	return fmt.Sprintf("\n    {{- include \"countersign.egress\" (dict \"values\" .Values \"name\" %q \"setting\" %q) }}", name, setting)
}

// networks finds the comment that is the rule of networks for which a setting permits the ports of public addresses and others.
func networks(cidr string) string {
	return `\n    # - to: \[\{ipBlock: \{cidr: ` + regexp.QuoteMeta(cidr) + `\}\}\]\n    #   ports: \[.*\]`
}

// permitNetworks writes a rule for the networks of a setting and the peers of the values, at 443, 8443 and more ports.
func permitNetworks(name, setting string, more ...int) string {
	ports := "443 8443"
	for _, p := range more {
		ports += fmt.Sprintf(" %d", p)
	}
	return fmt.Sprintf("\n    {{- include \"countersign.networks\" (dict \"values\" .Values \"name\" %q \"setting\" %q \"ports\" (list %s)) }}", name, setting, ports)
}

// generate returns the files of the chart by path.
func generate(dir string) (map[string]string, error) {
	values := map[string]string{}
	files := map[string]string{"templates/_names.tpl": names, "templates/settings.yaml": settingsTemplate}
	for name, changes := range manifests {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		made := string(text)
		for _, c := range changes {
			if made, err = c.apply(made, values); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		files["templates/"+name] = "# Generated from deploy/kubernetes/" + name + " by make chart.\n" + made
	}
	settings, err := settingsOf(filepath.Join(dir, "settings.env"))
	if err != nil {
		return nil, err
	}
	repository, tag, err := imageOf(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	files["Chart.yaml"] = fmt.Sprintf(chartFile, tag, tag)
	files["values.yaml"] = valuesFile(values, settings, repository, tag)
	files["values.schema.json"] = schema
	return files, nil
}

// apply records the defaults that the pattern finds. Two finds with different defaults are an error.
func (c change) apply(text string, values map[string]string) (string, error) {
	pattern := regexp.MustCompile(c.pattern)
	found := pattern.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return "", fmt.Errorf("nothing matches %s", c.pattern)
	}
	for _, groups := range found {
		for i, name := range c.values {
			if before, ok := values[name]; ok && before != groups[i+1] {
				return "", fmt.Errorf("%s is %s and %s: want the same in every manifest", name, before, groups[i+1])
			}
			values[name] = groups[i+1]
		}
	}
	return pattern.ReplaceAllLiteralString(text, c.template), nil
}

// settingsOf reads NAME=value lines, with their comments.
func settingsOf(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			line = fmt.Sprintf("%s: %q", name, value)
		}
		lines = append(lines, "  "+line)
	}
	return lines, nil
}

// imageOf reads the image of the kustomization.
func imageOf(path string) (repository, tag string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	found := regexp.MustCompile(`newName: (\S+)\n\s+newTag: "([^"]+)"`).FindStringSubmatch(string(text))
	if found == nil {
		return "", "", fmt.Errorf("%s names no image", path)
	}
	return found[1], found[2], nil
}

// valuesFile has the sizes as countersign capacity --values prints them.
func valuesFile(values map[string]string, settings []string, repository, tag string) string {
	kind := func(name string) string {
		return fmt.Sprintf("%s: {cpu: %s, minReplicas: %s, maxReplicas: %s}", name, values[name+".cpu"], values[name+".minReplicas"], values[name+".maxReplicas"])
	}
	lines := slices.Concat([]string{
		"# Generated from deploy/kubernetes by make chart.",
		"# An image is pulled by its digest (sha256:...), if there is one, and else by its tag.",
		fmt.Sprintf("image: {repository: %s, tag: %q, digest: \"\"}", repository, tag),
		"# The secret with the keys database-url and master-key, and if wanted database-direct-url and database-standby-url, made before the installation.",
		"secret: countersign",
		"# Sizes for 200 decisions a second. For another load: countersign capacity --decisions RATE --values > sizes.yaml, and --values sizes.yaml.",
		kind("api"), kind("worker"),
		fmt.Sprintf("memory: {request: %s, limit: %s}", values["memory.request"], values["memory.limit"]),
		"# Ports that the pods may connect to. The URLs of the database are in the secret, so name their ports here: that of Postgres itself, that of a",
		"# connection pooler in database-url (0: there is none), and that of a standby, if its port or network is a different one. For temporal,",
		"# traces, metrics and smtp, 0 is the port in COUNTERSIGN_TEMPORAL_ADDRESS, COUNTERSIGN_TRACES_ENDPOINT, COUNTERSIGN_METRICS_ENDPOINT and",
		"# COUNTERSIGN_SMTP_ADDRESS below, and nothing is permitted without the setting. Policies apply to the port of a server's pods: name it here if their Service maps a different one to it.",
		fmt.Sprintf("ports: {postgres: %s, pooler: 0, standby: 0, temporal: 0, traces: 0, metrics: 0, smtp: 0}", values["ports.postgres"]),
		"# Networks, namespaces and pods that these ports are limited to, as in the field to of a NetworkPolicy, such as [{ipBlock: {cidr: 10.1.0.0/24}}]; empty",
		"# permits every address. At 443, 8443, 4318, 6514 and 8088 an empty list permits public addresses only, so that webhooks reach no private network. oidc adds",
		"# identity providers in the cluster to the networks of COUNTERSIGN_OIDC_NETWORKS, such as [{namespaceSelector: {matchLabels: {team: login}}}], destinations",
		"# collectors to those of COUNTERSIGN_DESTINATION_NETWORKS.",
		"to: {postgres: [], pooler: [], standby: [], temporal: [], traces: [], metrics: [], smtp: [], oidc: [], destinations: []}",
		"# The namespace whose pods may scrape the operations port.",
		"scraperNamespace: " + values["scraperNamespace"],
		"settings:",
	}, settings)
	return strings.Join(lines, "\n") + "\n"
}

const chartFile = `# Generated from deploy/kubernetes by make chart.
apiVersion: v2
name: countersign
description: Decides whether the person at the keyboard is the one who enrolled, and signs a proof of it
type: application
version: %s
appVersion: %q
kubeVersion: ">=1.30.0-0"
`

// names makes a name from the settings, as kustomize does: a changed setting rolls the pods. The other templates write rules of
// network policies. The value to is absent after an upgrade with --reuse-values from a chart without it.
const names = `{{- define "countersign.settings" -}}
countersign-{{ .Values.settings | toJson | sha256sum | trunc 10 }}
{{- end }}

{{- /* The text of a value. Numbers of a file of values are floats, which print 5000000 as 5e+06. */}}
{{- define "countersign.text" -}}
{{- if kindIs "float64" . }}{{ toJson . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- /* The port of a destination: that of the values, or else of its setting, host:port or a URL. Without either, nothing. */}}
{{- define "countersign.port" -}}
{{- $address := get .values.settings .setting | toString }}
{{- $port := get .values.ports .name }}
{{- if and .setting (not $address) }}
{{- else if or $port (not .setting) }}
{{- $port | default "" }}
{{- else }}
{{- $host := regexReplaceAll "^[A-Za-z]+://([^/?#]*).*$" $address "${1}" }}
{{- regexFind ":[0-9]+$" $host | trimPrefix ":" | default (ternary "443" "80" (hasPrefix "https:" (lower $address))) }}
{{- end }}
{{- end }}

{{- /* The rule of a destination. Webhooks may use 443 and 8443, so that these need a list of peers. */}}
{{- define "countersign.egress" -}}
{{- $port := include "countersign.port" . }}
{{- $to := get (get .values "to" | default dict) .name }}
{{- if and $port (or $to (not (has $port (list "443" "8443")))) }}
    - ports: [{port: {{ $port }}, protocol: TCP}]
{{- with $to }}
      to: {{ toJson . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The rule of servers that are not public, with the ports that the service permits for them. */}}
{{- define "countersign.networks" -}}
{{- $to := get (get .values "to" | default dict) .name | default list }}
{{- range splitList "," (get .values.settings .setting | toString) }}
{{- with trim . }}
{{- $to = append $to (dict "ipBlock" (dict "cidr" .)) }}
{{- end }}
{{- end }}
{{- with $to }}
    - to: {{ toJson . }}
      ports: [{{ range $i, $port := $.ports }}{{ if $i }}, {{ end }}{port: {{ $port }}, protocol: TCP}{{ end }}]
{{- end }}
{{- end }}
`

const settingsTemplate = `# Generated from deploy/kubernetes/settings.env by make chart.
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "countersign.settings" . }}
  annotations:
    # Pods of the earlier settings need theirs as long as they run, also after a restart or a rollback.
    helm.sh/resource-policy: keep
data:
{{- range $name, $value := .Values.settings }}
  {{ $name }}: {{ include "countersign.text" $value | quote }}
{{- end }}
`
