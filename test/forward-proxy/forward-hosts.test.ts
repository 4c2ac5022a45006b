import t from 'tap'
import { createLog } from '../../src/common/log.ts'
import { watchForwardHosts } from '../../src/forward-proxy/forward-hosts.ts'
import { startTestService } from '../kit/service.ts'
import { openInThread } from '../kit/store-in-thread.ts'

const service = await startTestService(t, { openStore: openInThread })
const create = async (host: string, key = service.managementKey) => {
  const body = { name: 'p', destination_url: `https://${host}/v1`, intercept: true }
  const { status, json, text } = await service.call('POST', '/proxies', { key, body })
  if (status !== 201) throw new Error(text)
  return json as { id: string }
}

const authority = {
  leaf: async (host: string) => ({ host, certificate: '', key: '', notBefore: 0, notAfter: 2 ** 50 }),
  generation: async () => 0,
}

/** Reports of the watch, one after the other. */
const watch = (limits?: { all: number; ofTenant: number }) => {
  const reports: (readonly string[])[] = []
  let next = Promise.withResolvers<void>()
  const watching = watchForwardHosts(
    { records: service.store.records, authority, clock: service.clock, log: createLog('test', 'silent') },
    {
      collections: ['proxies', 'applications'],
      intervalMs: 5,
      ...(limits ? { limits } : {}),
      onHosts: async (leaves) => {
        reports.push(leaves.map(({ host }) => host))
        next.resolve()
        next = Promise.withResolvers()
      },
    },
  )
  t.teardown(() => watching.close())
  return {
    until: async (wanted: readonly string[]) => {
      while (JSON.stringify(reports.at(-1)) !== JSON.stringify(wanted)) await next.promise
      return reports.at(-1)
    },
    reports,
    close: watching.close,
  }
}

t.test('hosts of all tenants are reported at first and after each change, each once', async (t) => {
  const other = await service.newTenant()
  const proxy = await create('b.example.com')
  await create('a.example.com', other.key)
  await create('b.example.com', other.key)
  const { until, reports, close } = watch()
  t.same(await until(['a.example.com', 'b.example.com']), ['a.example.com', 'b.example.com'])
  const added = await create('c.example.com')
  await until(['a.example.com', 'b.example.com', 'c.example.com'])
  await service.call('PATCH', `/proxies/${added.id}`, {
    body: { destination_url: 'https://d.example.com' },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  await until(['a.example.com', 'b.example.com', 'd.example.com'])
  const before = reports.length
  await service.call('DELETE', `/proxies/${proxy.id}`)
  await service.call('DELETE', `/proxies/${added.id}`)
  await until(['a.example.com', 'b.example.com'])
  t.ok(reports.length > before)
  await service.store.tenants.delete(other.id, service.clock.now())
  await until([])
  await close()
})

t.test('hosts of destinations of private applications and their rules are reported', async (t) => {
  const destinations = [{ host: 'App.Example.com' }, { host: '*.example.org', ports: [443, 8443] }]
  const rule = {
    description: 'r',
    priority: 1,
    container: '/',
    transform: 'reveal',
    permissions: ['token:use'],
    destinations: [{ host: 'rule.example.com' }, { host: 'app.example.com' }],
  }
  const body = { name: 'a', type: 'private', rules: [rule], destinations }
  const { status, json } = await service.call('POST', '/applications', { body })
  t.equal(status, 201)
  t.notOk('bound_hosts' in json)
  const other = {
    name: 'b',
    type: 'public',
    permissions: ['token:create'],
    destinations: [{ host: 'c.test' }],
  }
  t.equal((await service.call('POST', '/applications', { body: other })).status, 201)
  const { until, close } = watch()
  await until(['*.example.org', 'app.example.com', 'rule.example.com'])
  const path = `/applications/${(json as { id: string }).id}`
  await service.call('PUT', path, { body: { name: 'a', rules: [rule] } })
  await until(['app.example.com', 'rule.example.com'])
  await service.call('POST', `${path}/keys`)
  await service.call('DELETE', path)
  await until([])
  await close()
})

t.test('hosts are limited for each tenant and in total; the newest ones wait', async (t) => {
  const other = await service.newTenant()
  for (const host of ['z1', 'y2', 'x3']) await create(`${host}.example.com`)
  await create('w4.example.com', other.key)
  const ofTenant = watch({ all: 10, ofTenant: 2 })
  await ofTenant.until(['w4.example.com', 'y2.example.com', 'z1.example.com'])
  await ofTenant.close()
  const all = watch({ all: 2, ofTenant: 10 })
  await all.until(['y2.example.com', 'z1.example.com'])
  await all.close()
  t.pass()
})

t.test('a failed report is repeated', async (t) => {
  let calls = 0
  const done = Promise.withResolvers<void>()
  const watching = watchForwardHosts(
    { records: service.store.records, authority, clock: service.clock, log: createLog('test', 'silent') },
    {
      collections: ['proxies'],
      intervalMs: 1,
      onHosts: async () => {
        if (++calls < 3) throw new Error('not yet')
        done.resolve()
      },
    },
  )
  await done.promise
  await watching.close()
  t.equal(calls, 3)
})
