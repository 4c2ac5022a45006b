import t from 'tap'
import { createDiscovery, NackError } from '../../src/control-plane/discovery.ts'
import type { Snapshot } from '../../src/control-plane/snapshot.ts'
import { RESOURCE_TYPE_NAMES, type ResourceType } from '../../src/control-plane/xds.ts'

const LONG = 60_000
const resource = (name: string) => ({ name })
const snapshotOf = (name: string): Snapshot => ({
  clusters: [resource(name)],
  listeners: [resource('edge')],
  routes: [resource('edge')],
  secrets: [],
})
const never = new AbortController().signal

/** Asks as Envoy does, taking what it gets, until nothing is new for it. */
const envoy = (
  discovery: ReturnType<typeof createDiscovery>,
  takes: (kind: ResourceType) => boolean = () => true,
) => {
  const has = new Map<ResourceType, string>()
  const ask = async (kind: ResourceType): Promise<boolean> => {
    const gone = new AbortController()
    const asked = discovery.response(kind, { version_info: has.get(kind) ?? '' }, gone.signal)
    setImmediate(() => gone.abort())
    const response = await asked
    if (response.status === 304) return false
    if (takes(kind)) has.set(kind, JSON.parse(response.body).version_info)
    return true
  }
  return {
    has,
    settle: async () => {
      for (const kind of RESOURCE_TYPE_NAMES) for (let left = 10; left > 0 && (await ask(kind)); left--);
    },
  }
}

t.test('a served version counts as applied when Envoy acknowledges it', async (t) => {
  const discovery = createDiscovery({ clock: { now: () => 0 } })
  const served = discovery.serve(snapshotOf('a'), LONG)
  t.same(
    discovery.status().map(({ kind, acked }) => [kind, acked]),
    [
      ['clusters', false],
      ['listeners', false],
      ['routes', false],
    ],
  )
  const client = envoy(discovery)
  await client.settle()
  await served
  t.ok(discovery.status().every(({ acked }) => acked))
  const before = new Map(client.has)
  const next = discovery.serve(snapshotOf('b'), LONG)
  await client.settle()
  await next
  t.not(client.has.get('clusters'), before.get('clusters'))
  t.equal(client.has.get('routes'), before.get('routes'), 'what is the same keeps its version')
})

t.test('a discovery request waits for a new version', async (t) => {
  const discovery = createDiscovery({ clock: { now: () => 0 } })
  discovery.serve(snapshotOf('a'), 1).catch(() => {})
  const first = await discovery.response('clusters', {}, never)
  t.equal(first.status, 200)
  const version_info = first.status === 200 ? JSON.parse(first.body).version_info : ''
  const waiting = discovery.response('clusters', { version_info }, never)
  discovery.serve(snapshotOf('b'), 1).catch(() => {})
  const second = await waiting
  t.match(second.status === 200 ? JSON.parse(second.body) : {}, {
    type_url: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
    resources: [{ '@type': 'type.googleapis.com/envoy.config.cluster.v3.Cluster', name: 'b' }],
  })
  const again = discovery.response(
    'clusters',
    { version_info: second.status === 200 ? JSON.parse(second.body).version_info : '' },
    never,
  )
  discovery.close()
  t.same(await again, { status: 304 })
})

t.test('a version that Envoy rejects is NACKed, counted once, and rolled back', async (t) => {
  const discovery = createDiscovery({ clock: { now: () => 0 } })
  const good = envoy(discovery)
  const first = discovery.serve(snapshotOf('a'), LONG)
  await good.settle()
  await first
  const bad = discovery.serve(snapshotOf('b'), LONG)
  const stubborn = envoy(discovery, () => false)
  const rejected = t.rejects(bad, new NackError(['clusters']))
  await stubborn.settle()
  await rejected
  t.same(
    discovery.status().map(({ kind, nacked }) => [kind, nacked]),
    [
      ['clusters', 1],
      ['listeners', 0],
      ['routes', 0],
    ],
  )
  await stubborn.settle()
  t.equal(discovery.status()[0]?.nacked, 1, 'a further request is no further NACK')
  // What was before is served as news: Envoy may have taken a part.
  const version = good.has.get('clusters')
  const back = discovery.serve(snapshotOf('a'), LONG)
  await good.settle()
  await back
  t.not(good.has.get('clusters'), version)
})

t.test('a new Envoy gets all resources, and serve() rejects when none acknowledges', async (t) => {
  const discovery = createDiscovery({ clock: { now: () => 0 } })
  const first = discovery.serve(snapshotOf('a'), LONG)
  await envoy(discovery).settle()
  await first
  discovery.restarted()
  t.ok(discovery.status().every(({ acked }) => !acked))
  const restarted = envoy(discovery)
  await restarted.settle()
  t.ok(discovery.status().every(({ acked }) => acked))
  t.ok(restarted.has.has('routes'))
  await t.rejects(discovery.serve(snapshotOf('b'), 1), /did not acknowledge/)
})

t.test('waiting requests end when the discovery is closed', async (t) => {
  const discovery = createDiscovery({ clock: { now: () => 0 } })
  const served = discovery.serve(snapshotOf('a'), LONG)
  discovery.close()
  await t.rejects(served, /did not acknowledge/)
})
