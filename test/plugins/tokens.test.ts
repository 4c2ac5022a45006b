import t from 'tap'
import type { Call, Operation, PluginContext, Vault } from '#sdk'
import { listOperations } from '../../plugins/tokens/lists.ts'
import { recordOperations } from '../../plugins/tokens/records.ts'

const call = { caller: { tenantId: 'tenant' }, traceId: 'trace', now: 7, hold: () => {} } as unknown as Call
const context = {
  caller: call.caller,
  traceId: 'trace',
  now: 7,
  hold: call.hold,
  used: undefined,
  decisions: undefined,
  code: undefined,
  maxDisclosure: undefined,
}

/** Calls of a vault by an operation, and the result of the operation. */
const asked = async (rpc: string, input: object) => {
  const calls: unknown[][] = []
  const record =
    (response: unknown) =>
    async (...args: unknown[]) => {
      calls.push(args)
      return response
    }
  const page = { data: [{ id: 'x' }], total: 45, next: 'cursor' }
  const vault = { list: record(page), update: record({}), create: record([{ id: 'made' }]) }
  const kernel = { vault: vault as unknown as Vault } as PluginContext
  const operations: Operation[] = [...listOperations(kernel), ...recordOperations(kernel)]
  const operation = operations.find((candidate) => candidate.rpc === rpc)
  const output = await operation?.run(input, call)
  return { args: calls[0], output }
}

t.test('a list without filters requests the first twenty, with the permission to read', async (t) => {
  const { args, output } = await asked('Tokens.List', {})
  t.strictSame(args, [{}, { kind: 'offset', page: 1, size: 20 }, context, 'token:read'])
  t.strictSame(output, {
    pagination: { total_items: 45, page_number: 1, page_size: 20, total_pages: 3 },
    data: [{ id: 'x' }],
  })
})

t.test('empty filters are ignored, others are passed on', async (t) => {
  const empty = await asked('Tokens.List', { id: [], type: [], metadata: {} })
  t.strictSame(empty.args?.[0], {})
  const filter = { id: ['a'], type: ['card'], metadata: { color: 'red' }, page: 2, size: 5 }
  const { args } = await asked('Tokens.List', filter)
  t.strictSame(args?.slice(0, 2), [
    { ids: ['a'], types: ['card'], metadata: { color: 'red' } },
    { kind: 'offset', page: 2, size: 5 },
  ])
})

t.test('a cursor list passes its cursor on and returns the next one', async (t) => {
  const { args, output } = await asked('Tokens.ListByCursor', {
    start: 'here',
    container: ['/pci/'],
    fingerprint: ['f'],
  })
  t.strictSame(args, [
    { containers: ['/pci/'], fingerprints: ['f'] },
    { kind: 'cursor', start: 'here', size: 20 },
    context,
    'token:read',
  ])
  t.match(output, { pagination: { page_size: 20, next: 'cursor' } })
})

t.test('searches require the permission to search, and accept null for an absent member', async (t) => {
  const { args } = await asked('Tokens.Search', { query: 'type:card', page: null, size: null })
  t.strictSame(args, [{ query: 'type:card' }, { kind: 'offset', page: 1, size: 20 }, context, 'token:search'])
  const cursor = await asked('Tokens.SearchByCursor', { query: null, start: null, size: 3 })
  t.strictSame(cursor.args, [{}, { kind: 'cursor', size: 3 }, context, 'token:search'])
})

t.test('a patch is passed on without the id of the path', async (t) => {
  const { args } = await asked('Tokens.Update', { id: 'x', data: null, metadata: { a: null } })
  t.strictSame(args, ['x', { data: null, metadata: { a: null } }, context])
})
