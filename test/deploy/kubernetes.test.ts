import t from 'tap'
import { configOf, environmentOf, kubernetes, type Manifest, roleOf, textOf } from './kit.ts'

const { manifests, ofKind, secrets, pods, containersOf, ours } = kubernetes()

const matches = (labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>) =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value)

t.test('kinds, names and API versions are those of the example', async (t) => {
  t.strictSame(manifests.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`).sort(), [
    'apps/v1 Deployment',
    'apps/v1 Deployment',
    'apps/v1 Deployment',
    'networking.k8s.io/v1 NetworkPolicy',
    'networking.k8s.io/v1 NetworkPolicy',
    'policy/v1 PodDisruptionBudget',
    'policy/v1 PodDisruptionBudget',
    'v1 Secret',
    'v1 Secret',
    'v1 Secret',
    'v1 Secret',
    'v1 Secret',
    'v1 Service',
    'v1 Service',
  ])
  for (const { kind, metadata, spec } of ofKind('Deployment'))
    t.match(spec.template.metadata.labels, spec.selector.matchLabels, `${kind} ${metadata.name}`)
  const labels = pods.map(({ metadata }) => metadata.labels)
  const has = (wanted: Readonly<Record<string, string>>) => labels.some((found) => matches(found, wanted))
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

t.test('only required ports listen, with TLS, and policies and services name them', async (t) => {
  for (const { container } of ours) {
    const config = configOf(t, environmentOf(container, secrets))
    t.ok(config.tls)
    const { listen, forwardListen, opsListen, apiListen } = config
    const forward = roleOf(t, container.args) === 'gateway' ? forwardListen?.port : undefined
    t.strictSame(
      container.ports.map(({ containerPort }: Manifest) => containerPort),
      [listen.port, forward, opsListen?.port].filter((port) => port !== undefined),
    )
    t.equal(apiListen, undefined)
  }
  const names = (selector: Readonly<Record<string, string>>, text: string) => {
    const found = ours.find(({ pod }) => matches(pod.metadata.labels, selector))
    t.ok(
      found?.container.ports.some(({ name }: Manifest) => name === text),
      text,
    )
  }
  for (const { spec } of ofKind('Service'))
    for (const { targetPort } of spec.ports) names(spec.selector, targetPort)
  for (const { spec } of ofKind('NetworkPolicy'))
    for (const { ports } of spec.ingress)
      for (const { port } of ports) names(spec.podSelector.matchLabels, port)
})

t.test('only pods with the label, and peers that the values name, may connect', async (t) => {
  const rules = ofKind('NetworkPolicy').flatMap(({ spec }) => spec.ingress)
  for (const { from } of rules) t.ok(from.length > 0, 'a rule without peers admits everybody')
  const [application] = pods.filter((pod) => containersOf(pod).some(({ name }) => name === 'shop'))
  const admitted = rules.filter(({ from }) =>
    from.some(
      ({ podSelector }: Manifest) =>
        podSelector && matches(application.metadata.labels, podSelector.matchLabels),
    ),
  )
  t.strictSame(
    admitted.flatMap(({ ports }) => ports.map(({ port }: Manifest) => port)),
    ['https', 'forward'],
  )
})

t.test('probes use served paths, on a reachable address', async (t) => {
  for (const { container } of ours)
    for (const [probe, path] of [
      ['startupProbe', '/healthz'],
      ['livenessProbe', '/healthz'],
      ['readinessProbe', '/readyz'],
    ] as const)
      t.match(container[probe].httpGet, { path, scheme: 'HTTPS', port: 'ops' })
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
    const [ipv4, ipv6] = open
    t.ok(ipv4.except.includes('169.254.0.0/16'), 'no metadata of the cloud')
    t.ok(ipv6.except.includes('fc00::/7'))
  }
})

t.test('the application has a key of its own and nothing of the vault', async (t) => {
  const [application] = pods.flatMap(containersOf).filter(({ name }) => name === 'shop')
  t.strictSame(
    application.env.map(({ name }: Manifest) => name),
    ['SIDEVAULT_URL', 'NODE_EXTRA_CA_CERTS', 'SIDEVAULT_KEY'],
  )
  t.equal(application.volumeMounts.length, 1)
})
