import { setImmediate } from 'node:timers/promises'
import type { Test } from 'tap'
import { createProxyDirectory } from '../../src/kernel/services/proxies.ts'
import { startTestService, testClock } from '../kit/service.ts'

const rule = (transform: string, permissions: readonly string[], container = '/') => ({
  description: 'rule',
  priority: 1,
  container,
  transform,
  permissions,
})

/** Observations of a call: secrets in its text, the destination of a proxy, the rights of its caller. */
export interface Outcome {
  readonly ok: boolean
  readonly shows: readonly string[]
  readonly leads: string
}

/** A request that is sent again with its idempotency key: path and body. */
type Repeated = readonly [path: string, body: object]

const keyed = (at: number) => ({ 'svc-idempotency-key': `once ${at}` })

const SECRETS = /secret-[a-z]+-\d/g

/**
 * A vault with a record of every kind, in two tenants, and what became of it: `change` takes rights away, moves,
 * deletes.
 * `look` makes the same calls each time.
 */
export const preparedVault = async (t: Test) => {
  const clock = testClock()
  const service = await startTestService(t, { clock })
  const { call, kernel } = service
  const create = async (
    method: string,
    path: string,
    body?: object,
    key = service.managementKey,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const { status, text, json } = await call(method, path, { key, headers, ...(body ? { body } : {}) })
    if (status >= 300) throw new Error(`${method} ${path}: ${text}`)
    return json
  }
  const tenant = async (management: string, name: string) => {
    const all = ['token:create', 'token:read', 'token:update', 'token:delete', 'token:use', 'token:search']
    const app = (type: string, grants: object) =>
      create('POST', '/applications', { name: `${name} ${type}`, type, ...grants }, management)
    const full = await app('private', { rules: [rule('reveal', all)] })
    const reader = await app('private', { rules: [rule('reveal', ['token:read', 'token:use'], '/open/')] })
    const page = await app('public', { permissions: ['token:create'] })
    const lost = await app('private', { rules: [rule('reveal', all)] })
    const token = (id: string, data: string, containers: readonly string[], more: object = {}) =>
      create('POST', '/tokens', { id, data: `secret-${data}`, containers, ...more }, full.key)
    await token(`${name}-open`, `${name}-1`, ['/open/'], {
      metadata: { a: name },
      search_indexes: ['{{ data }}'],
      deduplicate_token: true,
    })
    await token(`${name}-closed`, `${name}-2`, ['/closed/'], { metadata: { a: 'b' } })
    await token(`${name}-gone`, `${name}-3`, ['/open/'])
    await token(`${name}-moved`, `${name}-4`, ['/open/'])
    await token(`${name}-limited`, `${name}-5`, ['/open/'])
    const later = new Date(clock.now() + 3_600_000).toISOString()
    const session = await create('POST', '/sessions', {}, page.key)
    await create(
      'POST',
      '/sessions/authorize',
      { nonce: session.nonce, expires_at: later, rules: [rule('reveal', ['token:read'], '/open/')] },
      full.key,
    )
    const ended = await create('POST', '/sessions', {}, page.key)
    await create(
      'POST',
      '/sessions/authorize',
      { nonce: ended.nonce, expires_at: later, rules: [rule('reveal', ['token:read'], '/open/')] },
      full.key,
    )
    const proxy = await create(
      'POST',
      '/proxies',
      { name: `${name} proxy`, destination_url: `https://old-${name}.example/`, application_id: full.id },
      management,
    )
    const code = 'module.exports = async ({ args }) => ({ raw: args })'
    const formula = await create('POST', '/reactor-formulas', { name, type: 'private', code }, management)
    const newReactor = () => create('POST', '/reactors', { name, formula: { id: formula.id } }, management)
    const [reactor, brief] = [await newReactor(), await newReactor()]
    await create('POST', '/tenants/self/invitations', { email: `${name}@example.com` }, management)
    await token(`${name}-parent`, 'none', ['/open/'])
    for (const child of ['open', 'gone', 'moved'])
      await create('POST', `/tokens/${name}-parent/children/${name}-${child}`, undefined, full.key)
    const soon = new Date(clock.now() + 60_000).toISOString()
    const repeated: readonly Repeated[] = [
      ['/tokens', { id: `${name}-same`, data: `secret-${name}-6` }],
      ['/tokens', { id: `${name}-edited`, data: `secret-${name}-7` }],
      ['/tokens', { id: `${name}-dropped`, data: `secret-${name}-8` }],
      ['/tokens', { id: `${name}-ended`, data: `secret-${name}-0`, expires_at: soon }],
      [`/reactors/${brief.id}/react`, { args: { a: `secret-${name}-9` } }],
    ]
    for (const [at, [path, body]] of repeated.entries()) await create('POST', path, body, full.key, keyed(at))
    const results: string[] = []
    for (const at of ['taken', 'kept']) {
      const args = { a: `secret-${at}-1` }
      const started = await create('POST', `/reactors/${reactor.id}/react-async`, { args }, full.key)
      results.push(`/reactors/${reactor.id}/results/${started.asyncReactorRequestId}`)
      const found = () =>
        service.store.records.get('reactor_requests', full.tenant_id, started.asyncReactorRequestId)
      while ((await found())?.version === 1) await setImmediate()
    }
    const elsewhere = results[1]!.replace(reactor.id, brief.id)
    const records = { full, reader, page, lost, session, ended, proxy, reactor, brief }
    return { ...records, management, name, repeated, results, elsewhere }
  }
  const one = await tenant(service.managementKey, 'one')
  const two = await tenant((await service.newTenant('Two')).key, 'two')

  const change = async (): Promise<void> => {
    for (const { management, full, reader, lost, ended, proxy, brief, results, name } of [one, two]) {
      await create(
        'PUT',
        `/applications/${reader.id}`,
        { name: 'reader', type: 'private', rules: [rule('redact', ['token:read'], '/open/')] },
        management,
      )
      await call('DELETE', `/applications/${lost.id}`, { key: management })
      await call('DELETE', `/sessions/${ended.id}`, { key: management })
      await create(
        'PUT',
        `/proxies/${proxy.id}`,
        { name: 'proxy', destination_url: `https://honest.example/${name}`, application_id: full.id },
        management,
      )
      await create('PUT', '/tenants/self', { name, settings: { deduplicate_tokens: 'true' } }, management)
      await call('DELETE', `/tokens/${name}-gone`, { key: full.key })
      const moved = { containers: ['/closed/'], data: `secret-${name}-5` }
      await create('PATCH', `/tokens/${name}-moved`, moved, full.key)
      await create('PATCH', `/tokens/${name}-edited`, { data: 'none' }, full.key)
      const limits = { destinations: [{ host: `${name}.example` }], egress_only: true }
      await create('PATCH', `/tokens/${name}-limited`, limits, full.key)
      await call('DELETE', `/tokens/${name}-dropped`, { key: full.key })
      await call('DELETE', `/reactors/${brief.id}`, { key: management })
      await create('GET', results[0]!, undefined, full.key)
    }
    // Results of code are replayed for ten minutes.
    clock.advance(11 * 60_000)
  }

  const directory = createProxyDirectory({
    keys: service.keys,
    records: service.store.records,
    source: () => kernel.registry.ports.proxies,
  })
  const calls: (() => Promise<Outcome>)[] = []
  for (const { management, full, reader, page, lost, session, ended, proxy, reactor, name, ...more } of [
    one,
  ]) {
    const http = (method: string, path: string, key: string, body?: object, headers = {}) =>
      calls.push(async () => {
        const { status, text } = await call(method, path, { key, headers, ...(body ? { body } : {}) })
        return {
          ok: status < 300,
          shows: text.match(SECRETS) ?? [],
          leads: /"destination_url":"([^"]*)"/.exec(text)?.[1] ?? '',
        }
      })
    const reads: readonly (readonly [string, string])[] = [
      [full.key, 'open'],
      [full.key, 'gone'],
      [full.key, 'limited'],
      [reader.key, 'open'],
      [reader.key, 'closed'],
      [full.key, 'moved'],
      [session.session_key, 'moved'],
      [lost.key, 'open'],
      [session.session_key, 'open'],
      [session.session_key, 'closed'],
      [ended.session_key, 'open'],
    ]
    for (const [key, part] of reads) http('GET', `/tokens/${name}-${part}`, key)
    http('GET', '/tokens', reader.key)
    http('GET', `/tokens/${name}-parent/children`, session.session_key)
    // A second run would be rejected, so what is compared stays as it is.
    const over = { data: 'over', expires_at: '2020-01-01T00:00:00Z' }
    for (const [at, [path, body]] of more.repeated.entries())
      http('POST', path, full.key, path === '/tokens' ? over : body, keyed(at))
    for (const key of [page.key, two.full.key]) http('POST', '/tokens', key, over, keyed(0))
    http('GET', more.results[0]!, full.key)
    http('GET', more.elsewhere, full.key)
    for (const key of [reader.key, two.full.key]) http('GET', more.results[1]!, key)
    http('POST', '/detokenize', reader.key, { x: `{{ token: ${name}-open }}` })
    http('POST', '/tokens/search', reader.key, { query: `data:secret-${name}-1` })
    http('GET', `/proxies/${proxy.id}`, management)
    http('GET', '/applications', management)
    http('GET', `/reactors/${reactor.id}`, management)
    calls.push(async () => {
      const found = await (async () => directory.find(proxy.key))().catch(() => undefined)
      const caller = found && JSON.stringify([found.applicationId, found.tenantId, found.requireAuth])
      return { ok: found !== undefined, shows: [], leads: found ? `${found.destinationUrl} ${caller}` : '' }
    })
    // Where a value may not go.
    calls.push(async () => {
      const sending = async () =>
        kernel.vault.use([`${name}-limited`], {
          caller: await kernel.authenticator.authenticate(full.key),
          destination: { host: 'evil.example', port: 443, method: 'POST', path: '/' },
          ...{ traceId: 'trace', now: clock.now() },
        })
      const used = await sending().catch(() => undefined)
      return { ok: used !== undefined, shows: [], leads: '' }
    })
    for (const key of [full.key, reader.key, page.key, session.session_key])
      calls.push(async () => {
        const caller = await (async () => kernel.authenticator.authenticate(key))().catch(() => undefined)
        return { ok: caller !== undefined, shows: [], leads: caller ? JSON.stringify(caller) : '' }
      })
  }
  const look = (): Promise<readonly Outcome[]> => Promise.all(calls.map((each) => each()))
  return { service, change, look }
}
