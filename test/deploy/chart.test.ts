import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { root } from '../kit/sources.ts'
import { helmMissing, runHelm, sidecarManifests } from './helm.ts'
import { configOf, documentsOf, environmentOf, type Manifest, TEMPLATE, textOf } from './kit.ts'

const skip = helmMissing

/** Manifests with other values. */
const rendered = async (t: Test, values: object): Promise<readonly Manifest[]> => {
  const file = join(directoryFor(t), 'values.json')
  writeFileSync(file, JSON.stringify(values))
  return documentsOf(await runHelm(...TEMPLATE, '--values', file)).filter((document) => document !== null)
}

const kindsOf = (manifests: readonly Manifest[]) =>
  manifests.map(({ kind, metadata }) => `${kind} ${metadata.name.replace('sidevault-', '')}`).sort()

const WORKLOAD = ['NetworkPolicy', 'PodDisruptionBudget', 'Service']

t.test('helm lint has no complaint', { skip }, async () => {
  await runHelm('lint', '--strict', 'charts/sidevault')
})

t.test('the manifests of the example are those that the chart prints', { skip }, async (t) => {
  const [first, ...lines] = textOf('examples/kubernetes/sidevault.yaml').split('\n')
  t.equal(first, `# helm ${TEMPLATE.join(' ')}`)
  t.equal(lines.join('\n'), await runHelm(...TEMPLATE))
})

t.test('each value does what its comment says', { skip }, async (t) => {
  t.strictSame(kindsOf(await rendered(t, { gateway: { mode: 'sidecar' } })), [
    'Deployment admin',
    ...WORKLOAD.map((kind) => `${kind} admin`),
  ])
  t.strictSame(kindsOf(await rendered(t, { admin: { enabled: false }, networkPolicy: { enabled: false } })), [
    'Deployment gateway',
    'PodDisruptionBudget gateway',
    'Service gateway',
  ])
  const monitored = await rendered(t, {
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  })
  const monitor = monitored.find(({ kind }) => kind === 'ServiceMonitor')
  for (const { metadata } of monitored.filter(({ kind }) => kind === 'Service'))
    t.match(metadata.labels, monitor.spec.selector.matchLabels)

  const kept = await rendered(t, { persistence: { enabled: true, storageClass: 'fast' } })
  const sets = kept.filter(({ kind }) => kind === 'StatefulSet')
  t.equal(sets.length, 2)
  for (const { spec } of sets) {
    t.match(spec.volumeClaimTemplates, [{ metadata: { name: 'data' }, spec: { storageClassName: 'fast' } }])
    t.notOk(spec.template.spec.volumes.some(({ name }: Manifest) => name === 'data'))
    t.ok(kept.some(({ kind, metadata }) => kind === 'Service' && metadata.name === spec.serviceName))
  }

  const settings = { SIDEVAULT_BODY_LIMIT: 2_097_152, SIDEVAULT_ROOT_KEY: 'transit:root' }
  const digest = `sha256:${'0'.repeat(64)}`
  const set = await rendered(t, {
    settings,
    secrets: { rootKey: '', redis: false },
    gateway: { forwardProxy: false, settings: { SIDEVAULT_DRAIN_SECONDS: 20 } },
    image: { digest, pullSecrets: ['registry'] },
    networkPolicy: { clients: { namespaceLabels: {} }, adminFrom: [], metricsFrom: [] },
  })
  const deployment = (name: string) =>
    set.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name)
  const { template } = deployment('sidevault-gateway').spec
  const [container] = template.spec.containers
  const env = Object.fromEntries(container.env.map(({ name, value }: Manifest) => [name, value]))
  t.match(env, { ...settings, SIDEVAULT_BODY_LIMIT: '2097152', SIDEVAULT_DRAIN_SECONDS: '20' })
  t.notOk('SIDEVAULT_REDIS_URL' in env || 'SIDEVAULT_FORWARD_LISTEN' in env)
  t.equal(container.image, `sidevault@${digest}`)
  t.strictSame(template.spec.imagePullSecrets, [{ name: 'registry' }])
  t.notOk(template.spec.volumes.some(({ name }: Manifest) => name === 'root-key'))
  const policies = set.filter(({ kind }) => kind === 'NetworkPolicy')
  t.strictSame(policies.map(({ spec }) => spec.ingress.length).sort(), [0, 1], 'empty: no pod')
  t.strictSame(
    policies.find(({ spec }) => spec.ingress.length > 0).spec.ingress[0].from[0].namespaceSelector,
    {},
  )
})

t.test(
  'a sidecar gets a key for its tenant, in a container that can do no more, and nothing else',
  { skip },
  async (t) => {
    const [{ spec }, ...others] = await sidecarManifests(t, '--set', 'tenant=ten_1')
    t.strictSame(others, [], 'nothing of the chart but the template')
    const pod = spec.template.spec
    const [sidecar] = pod.initContainers
    t.strictSame(sidecar.args, ['start', '--role', 'gateway', '--tenant', 'ten_1'])
    t.equal(sidecar.restartPolicy, 'Always')
    const secrets = new Map([
      [
        'shop-gateway',
        { store: 'postgres://shop:password@db/sidevault?sslmode=verify-full', redis: 'rediss://cache:6379' },
      ],
    ])
    const environment = environmentOf(sidecar, secrets)
    const { loopback, drainMs } = configOf(t, environment)
    t.ok(loopback)
    t.ok(drainMs + 5_000 < pod.terminationGracePeriodSeconds * 1_000)
    t.notOk('SIDEVAULT_ROOT_KEY' in environment)
    const mounted = sidecar.volumeMounts.map(({ name }: Manifest) => name)
    t.strictSame(
      pod.volumes.map(({ name }: Manifest) => name),
      mounted,
    )
    const { mountPath } = sidecar.volumeMounts.at(-1)
    const { items, defaultMode } = pod.volumes.at(-1).secret
    t.equal(environment.SIDEVAULT_DELEGATED_KEY, `file:${mountPath}/${items[0].path}`)
    t.equal(defaultMode, 0o440)
    t.match(sidecar.securityContext, {
      runAsUser: 1000,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const [application] = pod.containers
    t.notOk(application.volumeMounts)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      t.ok(existsSync(join(root, sidecar[probe].exec.command[1].replace(/^\/app\//, ''))))
    await t.rejects(sidecarManifests(t), { message: /needs "tenant"/ })
  },
)

t.test('wrong values are errors that name them', { skip }, async (t) => {
  for (const [values, message] of [
    [{ gateway: { replica: 3 } }, /gateway.*replica/s],
    [{ gateway: { mode: 'both' } }, /mode/],
    [{ settings: { SIDEVAULT_STORE: 'postgres://user:password@host/db' } }, /SIDEVAULT_STORE/],
    [{ settings: { BODY_LIMIT: 1 } }, /BODY_LIMIT/],
    [{ networkPolicy: { clients: { podLabels: null } } }, /podLabels/],
    [{ networkPolicy: { adminFrom: [{}] } }, /adminFrom/],
    [{ secrets: { rootKey: '' } }, /SIDEVAULT_ROOT_KEY/],
    [{ settings: { SIDEVAULT_ROOT_KEY: 'transit:root' } }, /secrets\.rootKey/],
  ] as const)
    await t.rejects(rendered(t, values), { message }, JSON.stringify(values))
})
