import type { Test } from 'tap'
import { createProxyDirectory } from '../../src/kernel/proxies.ts'
import { startTestService } from '../kit/service.ts'

const rule = (transform: string, permissions: readonly string[], container = '/') => ({
  description: 'rule',
  priority: 1,
  container,
  transform,
  permissions,
})

/** What a call showed: secrets by their text, where a proxy leads, and what its caller may do. */
export interface Outcome {
  readonly ok: boolean
  readonly shows: readonly string[]
  readonly leads: string
}

const SECRETS = /secret-[a-z]+-\d/g

/**
 * A vault with a record of every kind, in two tenants, and what became of it: `change` takes rights away, moves, deletes.
 * `look` makes the same calls each time.
 */
export const preparedVault = async (t: Test) => {
  const service = await startTestService(t)
  const { call, kernel } = service
  const made = async (method: string, path: string, body: object, key = service.managementKey) => {
    const { status, text, json } = await call(method, path, { key, body })
    if (status >= 300) throw new Error(`${method} ${path}: ${text}`)
    return json
  }
  const tenant = async (management: string, name: string) => {
    const all = ['token:create', 'token:read', 'token:update', 'token:delete', 'token:use', 'token:search']
    const app = (type: string, grants: object) =>
      made('POST', '/applications', { name: `${name} ${type}`, type, ...grants }, management)
    const full = await app('private', { rules: [rule('reveal', all)] })
    const reader = await app('private', { rules: [rule('reveal', ['token:read', 'token:use'], '/open/')] })
    const page = await app('public', { permissions: ['token:create'] })
    const lost = await app('private', { rules: [rule('reveal', all)] })
    const token = (id: string, data: string, containers: readonly string[], more: object = {}) =>
      made('POST', '/tokens', { id, data: `secret-${data}`, containers, ...more }, full.key)
    await token(`${name}-open`, `${name}-1`, ['/open/'], {
      metadata: { a: name },
      search_indexes: ['{{ data }}'],
      deduplicate_token: true,
    })
    await token(`${name}-closed`, `${name}-2`, ['/closed/'], { metadata: { a: 'b' } })
    await token(`${name}-gone`, `${name}-3`, ['/open/'])
    await token(`${name}-moved`, `${name}-4`, ['/open/'])
    const session = await made('POST', '/sessions', {}, page.key)
    await made(
      'POST',
      '/sessions/authorize',
      { nonce: session.nonce, rules: [rule('reveal', ['token:read'], '/open/')] },
      full.key,
    )
    const ended = await made('POST', '/sessions', {}, page.key)
    await made(
      'POST',
      '/sessions/authorize',
      { nonce: ended.nonce, rules: [rule('reveal', ['token:read'], '/open/')] },
      full.key,
    )
    const proxy = await made(
      'POST',
      '/proxies',
      { name: `${name} proxy`, destination_url: `https://old-${name}.example/`, application_id: full.id },
      management,
    )
    const code = 'module.exports = async () => ({})'
    const formula = await made('POST', '/reactor-formulas', { name, type: 'private', code }, management)
    const reactor = await made('POST', '/reactors', { name, formula: { id: formula.id } }, management)
    await made('POST', '/tenants/self/invitations', { email: `${name}@example.com` }, management)
    return { management, full, reader, page, lost, session, ended, proxy, reactor, name }
  }
  const one = await tenant(service.managementKey, 'one')
  const two = await tenant((await service.newTenant('Two')).key, 'two')

  const change = async (): Promise<void> => {
    for (const { management, full, reader, lost, ended, proxy, name } of [one, two]) {
      await made(
        'PUT',
        `/applications/${reader.id}`,
        { name: 'reader', type: 'private', rules: [rule('redact', ['token:read'], '/open/')] },
        management,
      )
      await call('DELETE', `/applications/${lost.id}`, { key: management })
      await call('DELETE', `/sessions/${ended.id}`, { key: management })
      await made(
        'PUT',
        `/proxies/${proxy.id}`,
        { name: 'proxy', destination_url: `https://honest.example/${name}`, application_id: full.id },
        management,
      )
      await made('PUT', '/tenants/self', { name, settings: { deduplicate_tokens: 'true' } }, management)
      await call('DELETE', `/tokens/${name}-gone`, { key: full.key })
      const moved = { containers: ['/closed/'], data: `secret-${name}-5` }
      await made('PATCH', `/tokens/${name}-moved`, moved, full.key)
    }
  }

  const directory = createProxyDirectory({
    keys: service.keys,
    records: service.store.records,
    source: () => kernel.registry.ports.proxies,
  })
  const calls: (() => Promise<Outcome>)[] = []
  for (const { management, full, reader, page, lost, session, ended, proxy, reactor, name } of [one]) {
    const http = (method: string, path: string, key: string, body?: object) =>
      calls.push(async () => {
        const { status, text } = await call(method, path, { key, ...(body ? { body } : {}) })
        return {
          ok: status < 300,
          shows: text.match(SECRETS) ?? [],
          leads: /"destination_url":"([^"]*)"/.exec(text)?.[1] ?? '',
        }
      })
    const reads: readonly (readonly [string, string])[] = [
      [full.key, 'open'],
      [full.key, 'gone'],
      [reader.key, 'open'],
      [reader.key, 'closed'],
      [reader.key, 'moved'],
      [full.key, 'moved'],
      [session.session_key, 'moved'],
      [page.key, 'open'],
      [lost.key, 'open'],
      [session.session_key, 'open'],
      [session.session_key, 'closed'],
      [ended.session_key, 'open'],
    ]
    for (const [key, part] of reads) http('GET', `/tokens/${name}-${part}`, key)
    http('GET', '/tokens', reader.key)
    http('POST', '/detokenize', reader.key, { x: `{{ token: ${name}-open }}` })
    http('POST', '/tokens/search', reader.key, { query: `data:secret-${name}-1` })
    http('GET', `/proxies/${proxy.id}`, management)
    http('GET', '/applications', management)
    http('GET', `/reactors/${reactor.id}`, management)
    calls.push(async () => {
      const found = await directory.find(proxy.key).catch(() => undefined)
      const caller = found && JSON.stringify([found.applicationId, found.tenantId, found.requireAuth])
      return { ok: found !== undefined, shows: [], leads: found ? `${found.destinationUrl} ${caller}` : '' }
    })
    for (const key of [full.key, reader.key, page.key, session.session_key])
      calls.push(async () => {
        const caller = await kernel.authenticator.authenticate(key).catch(() => undefined)
        return { ok: caller !== undefined, shows: [], leads: caller ? JSON.stringify(caller) : '' }
      })
  }
  const look = async (): Promise<readonly Outcome[]> => {
    const outcomes: Outcome[] = []
    for (const one of calls) outcomes.push(await one())
    return outcomes
  }
  return { service, change, look }
}
