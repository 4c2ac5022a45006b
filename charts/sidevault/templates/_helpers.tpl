{{- define "sidevault.name" -}}
{{ .root.Release.Name }}-{{ .role }}
{{- end }}

{{- define "sidevault.selector" -}}
app.kubernetes.io/name: sidevault
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "sidevault.labels" -}}
{{ include "sidevault.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "sidevault.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* A container can do no more than this, in Deployments and sidecars. */}}
{{- define "sidevault.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- /* Settings as variables, sorted by name. Numbers of values files are floating-point: 1e+06. */}}
{{- define "sidevault.settings" -}}
{{- range $name, $value := . }}
- { name: {{ $name }}, value: {{ kindIs "float64" $value | ternary (int64 $value) $value | toString | quote }} }
{{- end }}
{{- end }}
