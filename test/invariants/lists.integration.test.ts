import t from 'tap'
import { isObject } from '../../src/common/json.ts'
import { methodOf, pathOf, pathParams } from '../../src/kernel/check/operation.ts'
import { allows, asSchema } from '../../src/kernel/json-schema.ts'
import type { Operation } from '../../src/sdk/index.ts'
import { startCallers } from '../kit/callers.ts'
import { sampleOf } from '../kit/samples.ts'
import { startTestService } from '../kit/service.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'
import { type TracedStore, tracedStore } from '../store/sqlite/kit.ts'
import { plansOf, scansOf } from '../store/sqlite/plans.ts'

const opened: TracedStore[] = []
const service = await startTestService(t, {
  openStore: (location) => {
    const traced = tracedStore(location)
    opened.push(traced)
    return traced.store
  },
})
const { db, applied } = opened[0] as TracedStore
const { http } = await startCallers(t, service)
const all = await service.application({ permissions: ALL_TOKEN_PERMISSIONS })
const some = await service.application({
  rules: [
    {
      description: 'd',
      priority: 1,
      container: '/a/',
      transform: 'reveal',
      permissions: ['token:read', 'token:search'],
    },
  ],
})

const { id: token } = (
  await service.call('POST', '/tokens', { key: all, body: { data: 'parent', containers: ['/a/'] } })
).json
for (const container of ['/a/b/', '/a/c/', '/d/'])
  for (const type of ['token', 'card_number'])
    await service.call('POST', `/tokens/${token}/children`, {
      key: all,
      body: { type, data: '4242424242424242', containers: [container], metadata: { color: 'red' } },
    })
const { id: proxy } = (
  await service.call('POST', '/proxies', { body: { name: 'p', destination_url: 'https://api.example.com' } })
).json

const { id: webhook } = (
  await service.call('POST', '/webhooks', {
    body: { name: 'w', url: 'https://hooks.example.com', events: ['token.created'] },
  })
).json

/** Values of filter members; others have the least that their schema allows. */
const VALUES: Readonly<Record<string, unknown>> = {
  id: [token],
  type: ['token', 'card_number'],
  container: ['/a/'],
  fingerprint: ['x'],
  metadata: { color: 'red' },
  start_date: '2020-01-01T00:00:00Z',
  end_date: '2040-01-01T00:00:00Z',
  entity_id: token,
  entity_type: 'token',
  name: '*a?',
  status: '404',
  page: 3,
}

const QUERIES = [
  'type:token',
  'data:4242 AND container:/a/*',
  'metadata.color:red OR data:x',
  'fingerprint:x',
  `id:${token}`,
  'created_at:[2020-01-01 TO *] AND NOT type:card',
  'modified_by:x',
]

/** Inputs of a list: without a filter, with each alone, and with all of them. */
const inputsOf = (operation: Operation): readonly Record<string, unknown>[] => {
  const { properties = {} } = asSchema(operation.input)
  const inPath = pathParams(pathOf(operation))
  const [, resource = ''] = pathOf(operation).split('/')
  const id = { proxies: proxy, webhooks: webhook }[resource] ?? token
  const base = Object.fromEntries(inPath.map((name) => [name, id]))
  const filters = Object.entries(properties)
    .filter(([name]) => !inPath.includes(name) && name !== 'start' && name !== 'query')
    .map(
      ([name, schema]) =>
        [
          name,
          name === 'type' && !allows(schema, 'array') ? 'token' : (VALUES[name] ?? sampleOf(schema)),
        ] as const,
    )
  const searches = 'query' in properties ? QUERIES.map((query) => ({ ...base, query })) : []
  return [
    base,
    ...filters.map(([name, value]) => ({ ...base, [name]: value })),
    { ...base, ...Object.fromEntries(filters) },
    ...searches,
  ]
}

const isList = ({ output }: Operation) => isObject(asSchema(output).properties?.pagination)
const lists = service.kernel.registry.operations.filter(isList)

t.test('every list operation of the registry is checked', async (t) => {
  t.ok(lists.length >= 12, lists.map(({ rpc }) => rpc).join(', '))
})

for (const operation of lists)
  t.test(`${operation.rpc} scans no table with any filter and any caller`, async (t) => {
    const keys = operation.permission.startsWith('token:') ? [all, some] : [service.managementKey]
    for (const key of keys)
      for (const input of inputsOf(operation)) {
        const seen = async (more: object) => {
          applied()
          const response = await http(operation, { ...input, ...more }, key)
          const statements = applied()
          t.equal(
            response?.status,
            200,
            `${methodOf(operation)} ${JSON.stringify({ ...input, ...more })}: ${response?.detail.slice(0, 200)}`,
          )
          const plans = plansOf(db, statements)
          // Calls are in memory; statements name their applications and proxies only.
          if (operation.rpc !== 'Requests.List') t.ok(plans.length > 0, 'statements were seen')
          t.strictSame(scansOf(plans), [], JSON.stringify(input))
          applied()
          return response
        }
        const first = await seen({ size: 1 })
        const { pagination } = JSON.parse(first?.detail ?? '{}') as { pagination?: { next?: string } }
        if (pagination?.next !== undefined && !('page' in input))
          await seen({ size: 1, start: pagination.next })
      }
  })
