{{- define "magistrate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "magistrate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "magistrate.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "magistrate.name" .) | trunc 52 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "magistrate.selector" -}}
app.kubernetes.io/name: {{ include "magistrate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "magistrate.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "magistrate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "magistrate.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "magistrate.fullname" .) "default") }}
{{- end }}

{{- define "magistrate.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* The variable with the URL of the database, given the values and a secret that wins over that of the service. */ -}}
{{- define "magistrate.databaseUrl" -}}
- name: MAGISTRATE_DATABASE_URL
{{- if eq .values.database.type "postgresql" }}
  valueFrom:
    secretKeyRef:
      {{- $secret := ternary .secret .values.database.secret (not (empty .secret.name)) }}
      name: {{ $secret.name }}
      key: {{ $secret.key }}
{{- else }}
  value: sqlite:////data/magistrate.db
{{- end }}
{{- end }}

{{- /* The variables of settings. All numbers are floating-point in values: whole ones would become 2.68435456e+08. */ -}}
{{- define "magistrate.settings" -}}
{{- range $name, $value := .Values.settings }}
- name: MAGISTRATE_{{ upper $name }}
  value: {{ and (kindIs "float64" $value) (eq (floor $value) $value) | ternary (int64 $value) $value | quote }}
{{- end }}
{{- end }}

{{- /* What the restricted level of the Pod Security Standards demands of containers, and a root that cannot be written. */ -}}
{{- define "magistrate.securityContext" -}}
allowPrivilegeEscalation: false
capabilities:
  drop:
    - ALL
readOnlyRootFilesystem: true
{{- end }}
