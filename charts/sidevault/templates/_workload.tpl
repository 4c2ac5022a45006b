{{- /* Workload, Service and PodDisruptionBudget of a role. Takes root, role, values (.Values.admin or .gateway). */}}
{{- define "sidevault.workload" -}}
{{- $given := hasKey (merge (dict) .values.settings .root.Values.settings) "SIDEVAULT_ROOT_KEY" -}}
{{- if eq $given (not (empty .root.Values.secrets.rootKey)) -}}
{{- fail "Set either secrets.rootKey (the name of a Secret) or, for a key provider, settings.SIDEVAULT_ROOT_KEY and secrets.rootKey \"\"." -}}
{{- end -}}
{{- $persistent := .root.Values.persistence.enabled -}}
{{- $forward := and (eq .root.Values.gateway.mode "shared") .root.Values.gateway.forwardProxy -}}
{{- $listens := and $forward (eq .role "gateway") -}}
apiVersion: apps/v1
kind: {{ $persistent | ternary "StatefulSet" "Deployment" }}
metadata:
  name: {{ include "sidevault.name" . }}
  labels: {{- include "sidevault.labels" . | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  {{- if $persistent }}
  serviceName: {{ include "sidevault.name" . }}
  podManagementPolicy: Parallel
  {{- end }}
  selector:
    matchLabels: {{- include "sidevault.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "sidevault.labels" . | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      # preStop and SIDEVAULT_DRAIN_SECONDS, and a margin.
      terminationGracePeriodSeconds: 45
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - { name: {{ . }} }
        {{- end }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: { type: RuntimeDefault }
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "sidevault.selector" . | nindent 14 }}
      containers:
        - name: sidevault
          image: {{ include "sidevault.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [start, --role, {{ .role }}]
          env:
            - { name: SIDEVAULT_LISTEN, value: "0.0.0.0:8080" }
            # Health and metrics are served here only.
            - { name: SIDEVAULT_OPS_LISTEN, value: "0.0.0.0:9090" }
            {{- if $forward }}
            {{- if not $listens }}
            # It does not listen there: it serves the authority's certificate, /ca.pem.
            {{- end }}
            - { name: SIDEVAULT_FORWARD_LISTEN, value: "0.0.0.0:8090" }
            {{- end }}
            - { name: SIDEVAULT_TLS_CERT, value: /etc/sidevault/tls/tls.crt }
            - { name: SIDEVAULT_TLS_KEY, value: /etc/sidevault/tls/tls.key }
            {{- if .root.Values.secrets.rootKey }}
            - { name: SIDEVAULT_ROOT_KEY, value: "file:/etc/sidevault/root/root.key" }
            {{- end }}
            - name: SIDEVAULT_STORE
              valueFrom: { secretKeyRef: { name: {{ .root.Values.secrets.connections }}, key: store } }
            {{- if .root.Values.secrets.redis }}
            - name: SIDEVAULT_REDIS_URL
              valueFrom: { secretKeyRef: { name: {{ .root.Values.secrets.connections }}, key: redis } }
            {{- end }}
            {{- $own := dict "SIDEVAULT_DRAIN_SECONDS" "30" }}
            {{- if not $persistent }}
            {{- /* Journals that are ingested already: an emptyDir uses the disk of its node. */}}
            {{- $_ := set $own "SIDEVAULT_AUDIT_RETENTION_MIB" "512" }}
            {{- end }}
            {{- include "sidevault.settings" (merge (dict) .values.settings .root.Values.settings $own) | trim | nindent 12 }}
          ports:
            - { name: https, containerPort: 8080 }
            {{- if $listens }}
            - { name: forward, containerPort: 8090 }
            {{- end }}
            - { name: ops, containerPort: 9090 }
          startupProbe:
            httpGet: { path: /healthz, port: ops, scheme: HTTPS }
            periodSeconds: 1
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /healthz, port: ops, scheme: HTTPS }
            periodSeconds: 10
            timeoutSeconds: 5
          readinessProbe:
            httpGet: { path: /readyz, port: ops, scheme: HTTPS }
            periodSeconds: 5
            timeoutSeconds: 5
          lifecycle:
            # Time to remove the endpoint from the service; then SIGTERM lets requests in flight finish.
            preStop: { sleep: { seconds: 5 } }
          resources: {{- toYaml .values.resources | nindent 12 }}
          securityContext: {{- include "sidevault.containerSecurity" . | nindent 12 }}
          volumeMounts:
            - { name: data, mountPath: /var/lib/sidevault }
            - { name: tmp, mountPath: /tmp }
            {{- if .root.Values.secrets.rootKey }}
            - { name: root-key, mountPath: /etc/sidevault/root, readOnly: true }
            {{- end }}
            - { name: tls, mountPath: /etc/sidevault/tls, readOnly: true }
      volumes:
        {{- if not $persistent }}
        - { name: data, emptyDir: {} }
        {{- end }}
        - { name: tmp, emptyDir: { medium: Memory } }
        # 288 is 0440: YAML parsers differ on numbers with a leading zero.
        {{- with .root.Values.secrets.rootKey }}
        - { name: root-key, secret: { secretName: {{ . }}, defaultMode: 288 } }
        {{- end }}
        - { name: tls, secret: { secretName: {{ .values.tls }}, defaultMode: 288 } }
  {{- if $persistent }}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{- with .root.Values.persistence.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests: { storage: {{ .root.Values.persistence.size }} }
  {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "sidevault.name" . }}
  labels: {{- include "sidevault.labels" . | nindent 4 }}
spec:
  selector: {{- include "sidevault.selector" . | nindent 4 }}
  ports:
    - { name: https, port: 443, targetPort: https }
    {{- if $listens }}
    - { name: forward, port: 8090, targetPort: forward }
    {{- end }}
    - { name: ops, port: 9090, targetPort: ops }
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "sidevault.name" . }}
  labels: {{- include "sidevault.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "sidevault.selector" . | nindent 6 }}
{{- end }}
