{{- define "countersign.settings" -}}
countersign-{{ .Values.settings | toJson | sha256sum | trunc 10 }}
{{- end }}
