import t from 'tap'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import type { Expressions } from '../../../src/expressions/types.ts'
import { createFarSide, exchangesOf, KEYS } from '../../kit/egress.ts'

/** The reply to one body of a caller with this key, and the number of its texts that were read. */
const sent = async (body: string, key: string | undefined, contentType = 'application/json') => {
  let read = 0
  const counting = (expressions: Expressions): Expressions => ({
    ...expressions,
    within: (work) => counting(expressions.within(work)),
    parse: (text, work) => {
      read++
      return expressions.parse(text, work)
    },
  })
  const far = createFarSide()
  far.proxies.set('open', {
    id: 'open',
    tenantId: 'tenant',
    destinationUrl: 'https://dest.test',
    requireAuth: false,
    configuration: {},
  })
  const exchange = exchangesOf(
    far,
    { expressions: counting(createExpressions()) },
    { bodyLimit: 100_000, stepMs: 60_000 },
  )()
  const caller = key === undefined ? ['svc-proxy-key', 'open'] : ['svc-api-key', key]
  const destination = key === undefined ? [] : [['svc-proxy-url', 'https://dest.test']]
  const headers = [
    [':method', 'POST'],
    [':path', '/proxy'],
    [':authority', 'vault.test'],
    [':scheme', 'https'],
    ['content-type', contentType],
    caller,
    ...destination,
  ]
  await exchange.onRequestHeaders(new Map(headers.map(([name = '', value = '']) => [name, [value]])), false)
  const reply = await exchange.onRequestBody(Buffer.from(body))
  if (reply.kind === 'continue') return { body: reply.body?.toString(), read }
  if (reply.kind !== 'immediateResponse') throw new Error(reply.kind)
  return { code: JSON.parse(reply.reply.body.toString()).proxy_error.code, read }
}

const distinct = (count: number) =>
  JSON.stringify(Array.from({ length: count }, (_, at) => `{{ 'x' | append: '${at}${'y'.repeat(100)}' }}`))

t.test('expressions of a caller who may use no token are not read', async (t) => {
  t.match(await sent(distinct(50), undefined), { code: 'forbidden', read: 0 })
  t.match(await sent('a=%7B%7B+x+%7D%7D', undefined, 'application/x-www-form-urlencoded'), {
    code: 'forbidden',
    read: 0,
  })
  t.match(await sent(distinct(50), KEYS.private), { read: 50 })
})

t.test('a body without expressions passes for every caller', async (t) => {
  t.strictSame(await sent('{"{{ x }}":1}', undefined), { body: undefined, read: 0 })
  t.strictSame(await sent('{{ x }}', undefined, 'application/octet-stream'), { body: undefined, read: 0 })
})
