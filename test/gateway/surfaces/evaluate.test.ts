import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import { BODY_LIMITS } from '../../../src/gateway/body/limits.ts'
import { detokenize } from '../../../src/gateway/detokenize.ts'
import { headerRules } from '../../../src/gateway/headers.ts'
import type { RequestHead } from '../../../src/gateway/surfaces/plan.ts'
import type { Caller, Surface, UseContext } from '../../../src/sdk/index.ts'
import { createFarSide, TOKENS } from '../../kit/egress.ts'

const caller = {
  tenantId: 'tenant',
  grants: { permissions: ['token:use'], rules: [] },
} as unknown as Caller

interface Sent {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly surfaces?: readonly Surface[]
}

/** One request; `fail`: what the vault rejects with. */
const evaluated = async (
  { path = '/', headers = {}, body = '', surfaces = ['body', 'path', 'header:x-a'] }: Sent,
  fail?: AppError,
) => {
  const { deps } = createFarSide()
  const uses: { readonly ids: readonly string[]; readonly context: UseContext }[] = []
  let held = 0
  const vault = {
    known: deps.vault.known,
    use: async (ids: readonly string[], context: UseContext) => {
      uses.push({ ids, context })
      held++
      context.hold?.({ release: () => void held-- })
      if (fail) throw fail
      return new Map(ids.map((id) => [id, TOKENS[id] as NonNullable<(typeof TOKENS)[string]>]))
    },
  }
  const head: RequestHead = {
    head: new Map(Object.entries(headers).map(([name, value]) => [name, [value]])),
    stripped: [],
    prefixes: headerRules(['svc']),
    proxy: undefined,
    streamed: false,
    path,
    surfaces,
    hasBraces: true,
  }
  const outcome = await Promise.resolve(
    detokenize(
      { bytes: Buffer.from(body), contentType: 'text/plain', contentEncoding: undefined },
      {
        vault,
        expressions: deps.expressions,
        limits: BODY_LIMITS,
        timed: <T>(_stage: string, work: () => T) => work() as Promise<Awaited<T>>,
      },
      () => caller,
      { traceId: 'trace', now: 0 },
      head,
    ),
  ).then(
    (found) => ({ found, error: undefined }),
    (thrown: unknown) => ({ found: undefined, error: AppError.from(thrown) }),
  )
  return { ...outcome, uses, held: () => held }
}

t.test('all surfaces use one read, each token with its surfaces, and keep values to the end', async (t) => {
  const { found, uses, held } = await evaluated({
    path: '/{{name}}/{{card|json:"$.cvc"}}',
    headers: { 'x-a': '{{ card | json: "$.cvc" }}' },
    body: 'cvc {{ card | json: "$.cvc" }}',
  })
  t.equal(uses.length, 1)
  t.same(uses[0]?.ids, ['card', 'name'])
  t.same(uses[0]?.context.surfacesOf?.('card'), ['body', 'path', 'header:x-a'])
  t.same(uses[0]?.context.surfacesOf?.('name'), ['path'])
  t.equal(found?.body?.toString(), 'cvc 123')
  t.equal(found?.tokens, 2)
  t.equal(held(), 1, 'headers are evaluated later')
  const edits = await found?.head?.apply({ set: new Map([['x-b', 'b']]), remove: ['x-c'] }, Buffer.alloc(0))
  t.same(edits?.remove, ['x-c'])
  t.same(
    edits?.set,
    new Map<string, string | string[]>([
      ['x-b', 'b'],
      ['x-a', ['123']],
      [':path', '/Ada%20%22the%20first%22%20Lovelace/123'],
    ]),
  )
  found?.head?.release()
  t.equal(held(), 0)
})

t.test('a closed surface is rejected before a token is read, and a failure releases values', async (t) => {
  const closed = await evaluated({ headers: { 'x-b': '{{ card }}', 'x-a': '{{ name }}' } })
  t.equal(closed.error?.code, 'expression_on_closed_surface')
  t.equal(closed.uses.length, 0)
  const bad = await evaluated({ path: '/{{long}}' })
  t.equal(bad.error?.code, 'uri_too_long')
  t.equal(bad.held(), 0)
})

t.test('an error about tokens reports each place, in the head and in the body', async (t) => {
  const fail = new AppError('invalid_expression', 'An expression names no token.', { tokens: ['nobody'] })
  const { error, held } = await evaluated(
    { path: '/{{name}}', headers: { 'x-a': '{{ nobody }}' }, body: '\n{{ nobody }}' },
    fail,
  )
  t.same(error?.errors, { 'header:x-a': ['token not found'], 'line 2': ['token not found'] })
  t.equal(held(), 0)
})

t.test('no token is read for a caller who may use none', async (t) => {
  const { grants } = caller
  Object.assign(caller, { grants: { permissions: [], rules: [] } })
  t.teardown(() => Object.assign(caller, { grants }))
  const { error, uses } = await evaluated({ headers: { 'x-a': '{{ name }}' } })
  t.equal(error?.code, 'forbidden')
  t.equal(uses.length, 0)
  t.ok((await evaluated({ headers: { 'x-b': '{{#if}}' } })).found, 'braces off the list need no grant')
})
