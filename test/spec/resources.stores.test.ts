import t, { type Test } from 'tap'
import { isObject } from '../../src/common/json.ts'
import { methodOf, pathOf, pathParams } from '../../src/kernel/check/operation.ts'
import { asSchema } from '../../src/kernel/json-schema.ts'
import type { Operation } from '../../src/sdk/index.ts'
import { requestOf } from '../kit/callers.ts'
import { sampleOf } from '../kit/samples.ts'
import { startApi } from './api.ts'

/**
 * What the operations of all resources have in common, by their declarations: entities are created, read, listed,
 * changed and deleted, are then gone for every operation, and all of it is in the logs.
 */
const api = await startApi(t, { configs: { webhooks: { max: 100 } } })
const { operations, permissions } = api.service.kernel.registry
const verbs = ['create', 'read', 'update', 'delete', 'search', 'use']
const tokens = await api.application(
  'private',
  verbs.map((verb) => `token:${verb}`),
)
const { id: owner } = await api.application('private', ['token:read'])
const { id: actor } = (await api.call('GET', '/applications/key', { key: api.management })).body

type Input = Readonly<Record<string, unknown>>

const code = 'module.exports = () => ({ raw: 1 })'
/** Inputs of a create, where the least that its schema allows is not valid, and of the ids in its path. */
const CREATED: Readonly<Record<string, Input>> = {
  ApplicationKeys: { application_id: owner },
  Applications: { name: 'A', type: 'private', permissions: ['token:read'] },
  Proxies: { name: 'P', destination_url: 'https://api.example.com' },
  ReactorFormulas: { name: 'F', type: 'private', code },
  Reactors: { name: 'R', code },
  Tokens: { data: 'x' },
  Webhooks: { name: 'W', url: 'https://hooks.example.com', events: ['token.created'] },
}

const resourceOf = ({ rpc }: Operation) => rpc.split('.', 1)[0]!
const operationOf = (resource: string, verb: string) =>
  operations.find(({ rpc }) => rpc === `${resource}.${verb}`)
const required = (resource: string, verb: string): Operation => {
  const operation = operationOf(resource, verb)
  if (operation === undefined) throw new Error(`${resource} has no ${verb}`)
  return operation
}
const membersOf = ({ input }: Operation) => asSchema(input).properties ?? {}

const isPrivate = ({ permission }: Operation) =>
  permissions.find(({ type }) => type === permission)?.application_types.includes('private') ?? false

const call = (operation: Operation, input: Input) => {
  const { method, path, body } = requestOf(operation, input)
  const key = isPrivate(operation) ? tokens.key : api.management
  return api.call(method, path, { key, ...(body === undefined ? {} : { body }) })
}

/** A valid input of an operation on an entity of a resource. */
const inputOf = (operation: Operation): Input => {
  const sample = sampleOf(operation.input as object) as Input
  const known = Object.entries(CREATED[resourceOf(operation)] ?? {})
  return {
    ...sample,
    ...Object.fromEntries(known.filter(([name]) => name in membersOf(operation))),
    ...(operation.rpc.endsWith('.Create') ? CREATED[resourceOf(operation)] : {}),
  }
}

/** A resource whose entities have an id that its create returns. */
const isResource = (resource: string) => ['Get', 'Delete'].every((verb) => operationOf(resource, verb))
const resources = operations
  .filter(({ rpc }) => rpc.endsWith('.Create'))
  .map(resourceOf)
  .filter(isResource)

t.test('every resource that can be created, read and deleted is checked', async (t) => {
  t.strictSame(resources.toSorted(), [
    'ApplicationKeys',
    'Applications',
    'Invitations',
    'Proxies',
    'ReactorFormulas',
    'Reactors',
    'Tokens',
    'Webhooks',
  ])
})

const isList = ({ output }: Operation) => isObject(asSchema(output).properties?.pagination)
const lists = operations.filter(isList)
const idsOf = ({ body }: { body: { data: { id: string }[] } }) => body.data.map(({ id }) => id)

/** Reads a list to its end, two entities a page. */
const walk = async (t: Test, list: Operation, input: Input) => {
  const walked: string[] = []
  let at: Input = 'start' in membersOf(list) ? {} : { page: 1 }
  for (;;) {
    const page = await call(list, { ...input, size: 2, ...at })
    t.equal(page.status, 200)
    walked.push(...idsOf(page))
    const { next, page_number, total_pages } = page.body.pagination
    if (next !== undefined) {
      t.ok(next.length <= 500)
      at = { start: next }
    } else if (page_number < total_pages) at = { page: page_number + 1 }
    else return walked
  }
}

/** Codes of missing entities, one for each resource. */
const notFound = new Set<string>()

for (const resource of resources) {
  const create = required(resource, 'Create')
  const get = required(resource, 'Get')
  const remove = required(resource, 'Delete')
  const list = operationOf(resource, 'List')
  const changes = ['Update', 'Patch'].flatMap((verb) => operationOf(resource, verb) ?? [])
  const created = async () => {
    const response = await call(create, inputOf(create))
    if (response.status !== 201) throw new Error(response.text)
    return response
  }
  const at = (id: string): Input => ({ ...inputOf(get), id })
  const read = async (id: string) => (await call(get, at(id))).body

  t.test(`${resource}: a create returns what a read returns, and where`, async (t) => {
    const { headers, body } = await created()
    const { status, body: shown } = await call(get, at(body.id))
    t.equal(status, 200)
    const once = Object.entries(body).filter(([name]) => !(name in shown))
    t.strictSame(
      once
        .map(([name]) => name)
        .filter((name) => !['application_id', ...(create.transient ?? [])].includes(name)),
      [],
      'but for what is shown once',
    )
    t.strictSame({ ...shown, ...Object.fromEntries(once) }, body)
    t.match(body, { created_by: isPrivate(create) ? tokens.id : actor, created_at: api.time() })
    t.notOk('modified_at' in body || 'modified_by' in body, '"Unset optional members are left out."')
    const path = requestOf(get, at(body.id)).path
    t.ok(
      /^https?:\/\//.test(headers.location ?? '') && headers.location?.endsWith(path),
      `${headers.location}`,
    )
  })

  if (list && isList(list))
    t.test(`${resource}: lists are newest first, by page and by id`, async (t) => {
      const ids: string[] = []
      for (let n = 0; n < 5; n++) ids.unshift((await created()).body.id)
      const all = await call(list, { size: 100 })
      t.strictSame(idsOf(all).slice(0, 5), ids)
      t.strictSame(all.body.data[0], await read(ids[0]!), 'as a read shows it')
      t.strictSame(await walk(t, list, {}), idsOf(all))
      t.match((await call(list, {})).body.pagination, { page_number: 1, page_size: 20 }, 'the default')
      const total_items = all.body.data.length
      t.strictSame(all.body.pagination, { total_items, page_number: 1, page_size: 100, total_pages: 1 })
      if ('id' in membersOf(list)) {
        const two = await call(list, { id: [ids[4], ids[1]] })
        t.strictSame(idsOf(two), [ids[1], ids[4]])
      }
    })

  for (const change of changes)
    t.test(`${change.rpc} changes what is sent, and notes who did it`, async (t) => {
      const { body: before } = await created()
      api.clock.advance(1_000)
      const sent = 'name' in membersOf(change) ? { name: 'Changed' } : { metadata: { changed: 'yes' } }
      const whole = methodOf(change) === 'PUT' ? inputOf(change) : {}
      const { status, body, text } = await call(change, { ...whole, ...at(before.id), ...sent })
      t.equal(status, change.status ?? 200, text)
      const after = await read(before.id)
      if (status === 200) t.strictSame(body, after)
      else t.equal(text, '')
      const { modified_at, modified_by, ...rest } = after
      t.equal(modified_at, api.time())
      t.equal(modified_by, isPrivate(change) ? tokens.id : actor)
      const once = Object.keys(before).filter((name) => !(name in after))
      const retained = Object.entries(before).filter(([name]) => !once.includes(name))
      t.strictSame(rest, { ...Object.fromEntries(retained), ...sent })
    })

  t.test(`${resource}: what is deleted is gone for every operation, and on record`, async (t) => {
    const { id } = (await created()).body
    for (const change of changes) {
      const whole = methodOf(change) === 'PUT' ? inputOf(change) : {}
      t.ok((await call(change, { ...whole, ...at(id) })).status < 300, change.rpc)
    }
    const { status, text } = await call(remove, at(id))
    t.equal(status, 204)
    t.equal(text, '')
    const path = pathOf(get)
    const codes = new Set<string>()
    for (const operation of operations.filter((each) => pathOf(each).startsWith(path))) {
      const others = pathParams(pathOf(operation)).filter((name) => !(name in at(id)))
      const input = {
        ...inputOf(operation),
        ...Object.fromEntries(others.map((name) => [name, id])),
        ...at(id),
      }
      const gone = await call(operation, input)
      t.equal(gone.status, 404, operation.rpc)
      if (pathOf(operation) === path) codes.add(gone.body.code)
      else t.match(gone.body.code, /_not_found$/, operation.rpc)
    }
    t.equal(codes.size, 1, [...codes].join())
    t.notOk(notFound.has([...codes][0]!), 'a code of its kind')
    notFound.add([...codes][0]!)
    const entity = create.audit === 'none' ? undefined : create.audit.entity
    const query = `entity_id=${id}${entity === undefined ? '' : `&entity_type=${entity}`}`
    const { body } = await api.call('GET', `/logs?${query}`, { key: api.management })
    const operationsOf = body.data.map(({ operation }: { operation: string }) => operation)
    t.strictSame(
      operationsOf.filter((operation: string) => operation !== 'read'),
      ['delete', ...changes.map(() => 'update'), 'create'],
    )
  })
}

for (const list of lists) {
  const names = Object.keys(membersOf(list))
  const input = Object.fromEntries(pathParams(pathOf(list)).map((name) => [name, owner]))

  t.test(`${list.rpc}: bounds of pages`, async (t) => {
    const base = { ...inputOf(list), ...input }
    const most = (membersOf(list).size as { maximum?: number } | undefined)?.maximum ?? 100
    const outside: [string, unknown][] = [
      ['size', 0],
      ['size', most + 1],
      ['page', 0],
      ['page', -1],
      ['page', 1.5],
      ['page', 'x'],
      ['start', 'nonsense'],
    ]
    for (const [name, value] of outside)
      if (names.includes(name)) {
        const { status, text } = await call(list, { ...base, [name]: value })
        t.ok(status === 400, `${name}=${value}: ${text}`)
      }
  })
}

t.test('"A page past the end is 200 with empty data"', async (t) => {
  for (const list of lists.filter(
    (each) => 'page' in membersOf(each) && pathParams(pathOf(each)).length === 0,
  ))
    for (const page of [9_999, 99_999_999_999_999_999_999n]) {
      const { path } = requestOf(list, { page })
      const key = isPrivate(list) ? tokens.key : api.management
      if (methodOf(list) !== 'GET') continue
      const far = await api.call('GET', path, { key })
      t.equal(far.status, 200, `${list.rpc} ${page}`)
      t.strictSame(far.body.data, [])
      t.equal(far.body.pagination.page_number, Math.min(Number(page), Number.MAX_SAFE_INTEGER))
    }
})

t.test('"name (string, wildcard search)", as long as a name may be', async (t) => {
  const named = lists.filter((list) => 'name' in membersOf(list))
  t.ok(named.length >= 4)
  for (const list of named) {
    const create = required(resourceOf(list), 'Create')
    for (const name of ['Alpha one', 'alpha two', 'Beta 100%', 'beta_x'])
      t.equal((await call(create, { ...inputOf(create), name })).status, 201)
    const names = async (name: string) =>
      (await call(list, { name })).body.data.map((entity: { name: string }) => entity.name)
    t.strictSame(await names('ALPHA'), ['alpha two', 'Alpha one'], list.rpc)
    t.strictSame(await names('alpha*o'), ['alpha two'])
    t.strictSame(await names('*one'), ['Alpha one'])
    t.strictSame(await names('beta?x'), ['beta_x'])
    t.strictSame(await names('100%'), ['Beta 100%'])
    t.strictSame(await names('none'), [])
    t.equal((await call(list, { name: 'a'.repeat(200) })).status, 200)
    t.equal((await call(list, { name: 'a'.repeat(201) })).status, 400)
  }
})
