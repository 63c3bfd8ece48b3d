{{- define "countersign.settings" -}}
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
