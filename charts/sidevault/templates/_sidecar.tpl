{{- /*
A gateway for one tenant beside an application, for "initContainers" of its pod (Kubernetes 1.29: it starts before the
application and stops after it). Only the pod can call http://127.0.0.1:8080/proxy. It gets a key that opens this tenant
(sidevault keys delegate) and a database login that sees this tenant, never the root key.

  {{ include "sidevault.sidecar" (dict "image" "sidevault:0.2.0" "tenant" "<id>" "secret" "shop-gateway") }}

"secret" names a Secret with "delegated.key", "store" and, with "redis" true, "redis". "settings", "resources": as of the
chart's gateway.
*/}}
{{- define "sidevault.sidecar" -}}
{{- $secret := required "sidevault.sidecar needs \"secret\": the Secret with delegated.key and store" .secret -}}
- name: sidevault
  image: {{ required "sidevault.sidecar needs \"image\"" .image }}
  restartPolicy: Always
  args: [start, --role, gateway, --tenant, {{ required "sidevault.sidecar needs \"tenant\": its id" .tenant | quote }}]
  env:
    # Loopback of the pod: plain HTTP does not leave the pod, so no certificate is needed.
    - { name: SIDEVAULT_LISTEN, value: "127.0.0.1:8080" }
    - { name: SIDEVAULT_DELEGATED_KEY, value: "file:/etc/sidevault/delegated/delegated.key" }
    - name: SIDEVAULT_STORE
      valueFrom: { secretKeyRef: { name: {{ $secret }}, key: store } }
    {{- if .redis }}
    - name: SIDEVAULT_REDIS_URL
      valueFrom: { secretKeyRef: { name: {{ $secret }}, key: redis } }
    {{- end }}
    {{- $own := dict "SIDEVAULT_DRAIN_SECONDS" "30" "SIDEVAULT_AUDIT_RETENTION_MIB" "512" }}
    {{- include "sidevault.settings" (merge (dict) (.settings | default dict) $own) | trim | nindent 4 }}
  # Commands, because HTTP probes come from the node and cannot reach loopback.
  startupProbe:
    exec: { command: [node, /app/bin/healthcheck.js] }
    periodSeconds: 1
    timeoutSeconds: 5
    failureThreshold: 60
  livenessProbe:
    exec: { command: [node, /app/bin/healthcheck.js] }
    periodSeconds: 20
    timeoutSeconds: 5
  readinessProbe:
    exec: { command: [node, /app/bin/healthcheck.js, /readyz] }
    periodSeconds: 10
    timeoutSeconds: 5
  resources: {{- toYaml (.resources | default (dict "requests" (dict "cpu" "250m" "memory" "384Mi") "limits" (dict "memory" "1Gi"))) | nindent 4 }}
  securityContext:
    runAsUser: 1000
    runAsGroup: 1000
    {{- include "sidevault.containerSecurity" . | nindent 4 }}
  volumeMounts:
    - { name: sidevault-data, mountPath: /var/lib/sidevault }
    - { name: sidevault-tmp, mountPath: /tmp }
    - { name: sidevault-delegated-key, mountPath: /etc/sidevault/delegated, readOnly: true }
{{- end }}

{{- /* Volumes of the sidecar, for "volumes" of the pod, with the same "secret". */}}
{{- define "sidevault.sidecarVolumes" -}}
- { name: sidevault-data, emptyDir: {} }
- { name: sidevault-tmp, emptyDir: { medium: Memory } }
# Mounted into the sidecar only. 288 is 0440: YAML parsers differ on numbers with a leading zero.
- name: sidevault-delegated-key
  secret: { secretName: {{ .secret }}, defaultMode: 288, items: [{ key: delegated.key, path: delegated.key }] }
{{- end }}
