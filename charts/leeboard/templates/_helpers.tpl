{{- define "leeboard.name" -}}
{{- default "leeboard" .Values.nameOverride | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{/* Settings of the operator's pod, under LLMKube's names. ToolHive's chart has the same below `operator`: those win. */}}
{{- define "leeboard.pod" -}}
{{- $names := list "env" "imagePullSecrets" "replicaCount" "resources" "podAnnotations" "podLabels" "podSecurityContext" "nodeSelector" "tolerations" "affinity" -}}
{{- $own := dict -}}
{{- range $names }}{{ if hasKey $.Values.operator . }}{{ $_ := set $own . (get $.Values.operator .) }}{{ end }}{{ end -}}
{{- toYaml (merge $own .Values.controllerManager) -}}
{{- end -}}

{{/* Values of upstream's charts that nothing here reads, for NOTES.txt. */}}
{{- define "leeboard.ignored" -}}
{{- $ignored := list -}}
{{- range $path := list "operator.image" "operator.autoscaling" "operator.gc" "operator.volumes" "operator.volumeMounts" "operator.imageDiscovery" "operator.containerSecurityContext" "global" "multitenancy" "gateway" "platformFloors" "modelCache.mountPath" -}}
{{- $parts := splitList "." $path -}}
{{- $in := $.Values -}}
{{- if gt (len $parts) 1 }}{{ $in = get $.Values (first $parts) }}{{ end -}}
{{- if get $in (last $parts) }}{{ $ignored = append $ignored $path }}{{ end -}}
{{- end -}}
{{- join ", " $ignored -}}
{{- end -}}

{{- define "leeboard.image" -}}
{{- $i := .Values.controllerManager.image -}}
{{- printf "%s:%s" $i.repository (default .Chart.AppVersion $i.tag) -}}
{{- end -}}

{{/* Serving pods have a priority: without one, the operator would be the first that a full node ends for them. */}}
{{- define "leeboard.priority" -}}
{{- $own := and .Values.priorityClasses.create (has "llmkube" .Values.families) -}}
{{- .Values.controllerManager.priorityClassName | default (ternary "llmkube-critical" "" $own) -}}
{{- end -}}

{{- define "leeboard.labels" -}}
app.kubernetes.io/managed-by: leeboard
app.kubernetes.io/name: {{ include "leeboard.name" . }}
{{- end -}}

{{- define "leeboard.account" -}}
{{- default (include "leeboard.name" .) .Values.serviceAccount.name -}}
{{- end -}}

{{/* The namespaces that are worked in, with commas between them; empty: all. */}}
{{- define "leeboard.watched" -}}
{{- if eq .Values.operator.rbac.scope "namespace" -}}
{{- if not .Values.operator.rbac.allowedNamespaces -}}
{{- fail "operator.rbac.scope is namespace: operator.rbac.allowedNamespaces needs names" -}}
{{- end -}}
{{- join "," .Values.operator.rbac.allowedNamespaces -}}
{{- end -}}
{{- end -}}

{{/* A rule for each resource that an enabled family uses, with all verbs that these families need.
     files/rights.yaml is made from the program by tools/chart. */}}
{{- define "leeboard.rules" -}}
{{- $families := .families -}}
{{- range .rows }}
{{- $row := . }}
{{- $have := dict }}
{{- range $families }}
{{- range (index $row.verbs . | default list) }}{{ $_ := set $have . true }}{{ end }}
{{- end }}
{{- if $have }}
- {{ if hasKey $row "url" }}nonResourceURLs: [{{ $row.url | quote }}]{{ else }}apiGroups: [{{ $row.group | quote }}]
  resources: [{{ $row.resource | quote }}]{{ end }}
  verbs:
  {{- range list "get" "list" "watch" "create" "update" "patch" "delete" }}
  {{- if hasKey $have . }}
  - {{ . }}
  {{- end }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "leeboard.args" -}}
{{- $v := .Values -}}
{{- $watched := include "leeboard.watched" . -}}
- operator
{{- if $v.controllerManager.leaderElection }}
- --leader-elect
{{- end }}
- --log-format=json
{{- if ne $v.controllerManager.logLevel "info" }}
- --log-level={{ $v.controllerManager.logLevel }}
{{- end }}
{{- if $v.metrics.enabled }}
- --metrics-bind-address=:{{ $v.metrics.port }}
{{- end }}
{{- if not $v.metrics.secure }}
- --metrics-secure=false
{{- end }}
{{- if ne (join "," $v.families) "llmkube,otterscale,toolhive" }}
- --families={{ join "," $v.families }}
{{- end }}
{{- with $watched }}
- --namespace={{ . }}
{{- end }}
{{- if and $v.webhook.enabled (has "llmkube" $v.families) }}
- --enable-webhooks
{{- with $v.nameOverride }}
- --webhook-name={{ include "leeboard.name" $ }}
{{- end }}
{{- end }}
{{- include "leeboard.shaping" . }}
{{- range $v.controllerManager.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Flags for values that differ from the program's defaults. */}}
{{- define "leeboard.shaping" -}}
{{- $v := .Values }}{{ $c := $v.controllerManager }}
{{- if not $v.modelCache.enabled }}
- --model-cache-path=
{{- end }}
{{- if ne $v.modelCache.mode "shared" }}
- --model-cache-mode={{ $v.modelCache.mode }}
{{- end }}
{{- if ne $v.modelCache.size "100Gi" }}
- --model-cache-size={{ $v.modelCache.size }}
{{- end }}
{{- with $v.modelCache.storageClass }}
- --model-cache-storage-class={{ . }}
{{- end }}
{{- if ne $v.modelCache.accessMode "ReadWriteOnce" }}
- --model-cache-access-mode={{ $v.modelCache.accessMode }}
{{- end }}
{{- with $v.modelSource.allowedHostPathRoots }}
- --allowed-host-path-roots={{ join "," . }}
{{- end }}
{{- with $v.modelSource.allowedRemoteHosts }}
- --allowed-remote-hosts={{ join "," . }}
{{- end }}
{{- if $v.metrics.emitScrapeAnnotations }}
- --emit-scrape-annotations
{{- end }}
{{- with $v.gpuSharing.sharedPoolSelector }}
- --gpu-sharing-shared-pool-selector={{ . }}
{{- end }}
{{- with $v.runtimeImages }}
{{- $pairs := list }}{{ range $k, $i := . }}{{ $pairs = append $pairs (printf "%s=%s" $k $i) }}{{ end }}
- --runtime-images={{ join "," $pairs }}
{{- end }}
{{- with $c.initContainer.repository }}
- --init-container-image={{ . }}{{ with $c.initContainer.tag }}:{{ . }}{{ end }}
{{- end }}
{{- if $v.openshift }}
- --default-fsgroup=0
{{- else if not (kindIs "invalid" $c.initContainer.defaultFSGroup) }}
- --default-fsgroup={{ $c.initContainer.defaultFSGroup }}
{{- end }}
{{- if not (kindIs "invalid" $c.driRenderGID) }}
- --dri-render-gid={{ $c.driRenderGID }}
{{- end }}
{{- with $c.caCertConfigMap }}
- --ca-cert-configmap={{ . }}
{{- end }}
{{- with $c.routerProxy.image }}
- --router-proxy-image={{ . }}
{{- end }}
{{- with $c.defaultLiteLLMURL }}
- --default-litellm-url={{ . }}
{{- end }}
{{- if $v.pyrra.enabled }}
- --enable-pyrra-slo
{{- end }}
{{- end -}}

{{/* What the ToolHive family reads from its environment, under ToolHive's names. */}}
{{- define "leeboard.env" -}}
{{- $o := .Values.operator }}
{{- with (include "leeboard.pod" . | fromYaml).env }}
{{- toYaml . }}
{{ end -}}
- name: POD_NAME
  valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}
- name: LEEBOARD_IMAGE
  value: {{ include "leeboard.image" . | quote }}
{{- with $o.toolhiveRunnerImage }}
- {name: TOOLHIVE_RUNNER_IMAGE, value: {{ . | quote }}}
{{- end }}
{{- with $o.vmcpImage }}
- {name: VMCP_IMAGE, value: {{ . | quote }}}
{{- end }}
{{- with .Values.registryAPI.image }}
- {name: TOOLHIVE_REGISTRY_API_IMAGE, value: {{ . | quote }}}
{{- end }}
{{- with $o.defaultImagePullSecrets }}
{{- $names := list }}{{ range . }}{{ $names = append $names (kindIs "map" . | ternary (get (kindIs "map" . | ternary . dict) "name") .) }}{{ end }}
- {name: TOOLHIVE_DEFAULT_IMAGE_PULL_SECRETS, value: {{ join "," $names | quote }}}
{{- end }}
{{- with $o.defaultRedis.addr }}
- {name: TOOLHIVE_DEFAULT_REDIS_ADDR, value: {{ . | quote }}}
{{- end }}
{{- with $o.defaultRedis.existingSecret }}
- {name: TOOLHIVE_DEFAULT_REDIS_SECRET_NAME, value: {{ . | quote }}}
{{- end }}
{{- with $o.defaultRedis.existingSecretKey }}
- {name: TOOLHIVE_DEFAULT_REDIS_SECRET_KEY, value: {{ . | quote }}}
{{- end }}
{{- if ne $o.proxyHost "0.0.0.0" }}
- {name: TOOLHIVE_PROXY_HOST, value: {{ $o.proxyHost | quote }}}
{{- end }}
{{- if $o.features.experimental }}
- {name: ENABLE_EXPERIMENTAL_FEATURES, value: "true"}
{{- end }}
{{- if not $o.features.storageVersionMigrator }}
- {name: TOOLHIVE_ENABLE_STORAGE_VERSION_MIGRATOR, value: "false"}
{{- end }}
{{- if .Values.openshift }}
- {name: OPERATOR_OPENSHIFT, value: "true"}
{{- end }}
{{- end -}}
