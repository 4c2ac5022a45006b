import t from 'tap'
import { createExpressions } from '../../src/expressions/expressions.ts'
import type { Expressions } from '../../src/expressions/types.ts'
import { BODY_LIMITS } from '../../src/gateway/body/rewrite.ts'
import { detokenize } from '../../src/gateway/detokenize.ts'
import { headerRules } from '../../src/gateway/headers.ts'
import type { Caller } from '../../src/sdk/index.ts'

const language = createExpressions()

/** What one body comes to, and how many of its texts were read. */
const sent = async (body: string, permissions: readonly string[], contentType = 'application/json') => {
  let read = 0
  const counting = (of: Expressions): Expressions => ({
    ...of,
    within: (work) => counting(of.within(work)),
    parse: (text, work) => {
      read++
      return of.parse(text, work)
    },
  })
  const vault = { known: async () => new Set<string>(), use: async () => new Map() }
  const caller = { grants: { permissions, rules: [] } } as unknown as Caller
  const bytes = Buffer.from(body)
  const detokenized = async () =>
    detokenize(
      { bytes, contentType, contentEncoding: undefined },
      {
        vault,
        expressions: counting(language),
        limits: BODY_LIMITS,
        timed: <T>(_stage: string, work: () => T) => work() as Promise<Awaited<T>>,
      },
      () => caller,
      { traceId: 'test', now: 0 },
      {
        head: new Map(),
        stripped: [],
        prefixes: headerRules(['svc']),
        proxy: undefined,
        streamed: false,
        path: '/',
        surfaces: ['body'],
        hasBraces: false,
      },
    )
  const outcome = await detokenized().then(
    (found) => ({ body: found.body?.toString() }),
    (error: { readonly code?: string }) => ({ code: error.code }),
  )
  return { ...outcome, read }
}

const distinct = (count: number) =>
  JSON.stringify(Array.from({ length: count }, (_, at) => `{{ 'x' | append: '${at}${'y'.repeat(900)}' }}`))

t.test('expressions of a caller who may use no token are not read', async (t) => {
  t.match(await sent(distinct(50), []), { code: 'forbidden', read: 0 })
  t.match(await sent('a=%7B%7B+x+%7D%7D', [], 'application/x-www-form-urlencoded'), {
    code: 'forbidden',
    read: 0,
  })
  t.match(await sent(distinct(50), ['token:use']), { read: 50 })
})

t.test('a body without expressions passes for every caller', async (t) => {
  t.strictSame(await sent('{"{{ x }}":1}', []), { body: undefined, read: 0 })
  t.strictSame(await sent('{{ x }}', [], 'application/octet-stream'), { body: undefined, read: 0 })
})
