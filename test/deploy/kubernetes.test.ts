import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../kit/sources.ts'
import { configOf, environmentOf, kubernetes, type Manifest, roleOf, textOf } from './kit.ts'

const { manifests, ofKind, secrets, pods, containersOf, ours } = kubernetes()

t.test('kinds, names and API versions are those of the example', async (t) => {
  t.strictSame(manifests.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`).sort(), [
    'apps/v1 Deployment',
    'apps/v1 Deployment',
    'networking.k8s.io/v1 NetworkPolicy',
    'networking.k8s.io/v1 NetworkPolicy',
    'policy/v1 PodDisruptionBudget',
    'v1 Secret',
    'v1 Secret',
    'v1 Secret',
    'v1 Secret',
    'v1 Service',
  ])
  for (const { kind, metadata, spec } of ofKind('Deployment'))
    t.match(spec.template.metadata.labels, spec.selector.matchLabels, `${kind} ${metadata.name}`)
  const labels = pods.map(({ metadata }) => metadata.labels)
  const has = (wanted: object) =>
    labels.some((found) => Object.entries(wanted).every(([name, value]) => found[name] === value))
  for (const { spec } of ofKind('Service')) t.ok(has(spec.selector))
  for (const { spec } of ofKind('PodDisruptionBudget')) t.ok(has(spec.selector.matchLabels))
  for (const { spec } of ofKind('NetworkPolicy')) t.ok(has(spec.podSelector.matchLabels))
})

t.test(
  'settings of the containers are a valid configuration; secrets exist, volumes and mounts match',
  async (t) => {
    const { version } = JSON.parse(textOf('package.json'))
    t.strictSame(ours.map(({ container }) => roleOf(t, container.args)).sort(), ['admin', 'gateway'])
    for (const { pod, container } of ours) {
      t.equal(container.image, `sidevault:${version}`)
      const environment = environmentOf(container, secrets)
      const config = configOf(t, environment)
      t.ok(config.postgres && config.redisUrl)
      t.match(new URL(config.postgres!.reveal()).search, /sslmode=verify-full/)
      const grace = pod.spec.terminationGracePeriodSeconds
      const preStop = container.lifecycle?.preStop.sleep.seconds ?? 0
      t.ok(preStop * 1_000 + config.drainMs < grace * 1_000, 'there is time to drain')

      const mounts: readonly Manifest[] = container.volumeMounts
      const files = ['SIDEVAULT_ROOT_KEY', 'SIDEVAULT_TLS_CERT', 'SIDEVAULT_TLS_KEY']
      for (const path of files.flatMap((name) => environment[name]?.replace(/^file:/, '') ?? [])) {
        const mount = mounts.find(({ mountPath }) => path.startsWith(`${mountPath}/`))
        const { secret } = pod.spec.volumes.find(({ name }: Manifest) => name === mount?.name)
        t.ok(path.slice(mount?.mountPath.length + 1) in secrets.get(secret.secretName), path)
        t.equal(secret.defaultMode, 0o440)
        t.equal(mount?.readOnly, true)
      }
      t.ok(mounts.some(({ mountPath }) => mountPath === '/var/lib/sidevault'))
      for (const { name } of mounts) t.ok(pod.spec.volumes.some((volume: Manifest) => volume.name === name))
    }
    for (const pod of pods)
      for (const { env = [] } of containersOf(pod))
        for (const { valueFrom } of env)
          if (valueFrom) t.ok(valueFrom.secretKeyRef.key in secrets.get(valueFrom.secretKeyRef.name))
  },
)

t.test('only required ports listen beyond loopback, and only with TLS', async (t) => {
  for (const { container } of ours) {
    const config = configOf(t, environmentOf(container, secrets))
    t.equal(config.tls === undefined, config.loopback)
    const ports = (container.ports ?? []).map(({ containerPort }: Manifest) => containerPort)
    t.strictSame(ports, config.loopback ? [] : [config.listen.port])
  }
  const [policy] = ofKind('NetworkPolicy')
  const [admin] = ours
  t.equal(policy.spec.ingress[0].ports[0].port, admin?.container.ports[0].containerPort)
})

t.test('probes use served paths, on a reachable address', async (t) => {
  for (const { container } of ours) {
    const { loopback } = configOf(t, environmentOf(container, secrets))
    for (const [probe, path] of [
      ['startupProbe', '/healthz'],
      ['livenessProbe', '/healthz'],
      ['readinessProbe', '/readyz'],
    ] as const) {
      const { httpGet, exec } = container[probe]
      if (loopback) {
        const [node, script, asked = '/healthz'] = exec.command
        t.strictSame([node, asked], ['node', path])
        t.ok(existsSync(join(root, script.replace(/^\/app\//, ''))), script)
      } else {
        t.match(httpGet, { path, scheme: 'HTTPS' })
        t.ok(container.ports.some(({ name }: Manifest) => name === httpGet.port))
      }
    }
  }
})

t.test('containers run with minimal privileges', async (t) => {
  for (const pod of pods) {
    t.equal(pod.spec.automountServiceAccountToken, false)
    t.match(pod.spec.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    for (const { name, securityContext, resources } of containersOf(pod)) {
      t.match(securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      t.ok((securityContext.runAsUser ?? pod.spec.securityContext.runAsUser) > 0, name)
      t.ok(resources.requests.cpu && resources.requests.memory && resources.limits.memory)
    }
  }
  for (const { spec } of ofKind('NetworkPolicy')) {
    const open = spec.egress.flatMap(({ to }: Manifest) =>
      to.flatMap(({ ipBlock }: Manifest) => ipBlock ?? []),
    )
    for (const { except } of open) t.ok(except.includes('169.254.0.0/16'), 'no metadata of the cloud')
  }
})

t.test(
  'the application has no vault key or volume, and its sidecar is a restartable init container',
  async (t) => {
    const pod = pods.find(({ spec }) => spec.initContainers)
    const [sidecar] = pod.spec.initContainers
    t.equal(sidecar.restartPolicy, 'Always')
    const [application] = pod.spec.containers
    t.notOk(application.volumeMounts)
    t.strictSame(
      application.env.map(({ name }: Manifest) => name),
      ['SIDEVAULT_URL', 'SIDEVAULT_KEY'],
    )
  },
)
