import t from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import type { Surface, UseContext } from '../../../src/sdk/index.ts'
import { createFarSide, exchangesOf, TOKENS } from '../../kit/egress.ts'

interface Sent {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly surfaces?: readonly Surface[]
  /** A request transform of the proxy. */
  readonly code?: string
  /** Error of the vault. */
  readonly fail?: AppError
}

/** One request through a stored proxy with these surfaces. */
const evaluated = async ({
  path = '/',
  headers = {},
  body = '',
  surfaces = ['body', 'path', 'header:x-a'],
  code,
  fail,
}: Sent) => {
  const far = createFarSide()
  const uses: { readonly ids: readonly string[]; readonly context: UseContext }[] = []
  let held = 0
  let heldInCode: number | undefined
  const vault = {
    ...far.deps.vault,
    use: async (ids: readonly string[], context: UseContext) => {
      uses.push({ ids, context })
      held++
      context.hold?.({ release: () => void held-- })
      if (fail) throw fail
      return new Map(ids.map((id) => [id, TOKENS[id] as NonNullable<(typeof TOKENS)[string]>]))
    },
  }
  far.proxies.set('proxy', {
    id: 'proxy',
    tenantId: 'tenant',
    destinationUrl: 'https://dest.test',
    requireAuth: true,
    configuration: {},
    evaluate: surfaces,
    ...(code === undefined ? {} : { requestTransform: code }),
  })
  const exchange = exchangesOf(
    far,
    {
      vault,
      code: {
        run: (run) => {
          heldInCode = held
          return far.deps.code.run(run)
        },
      },
    },
    { bodyLimit: 1_000_000 },
  )()
  const head = {
    ':method': 'POST',
    ':path': `/proxy${path}`,
    ':authority': 'vault.test',
    ':scheme': 'https',
    'svc-api-key': 'key_private',
    'svc-proxy-key': 'proxy',
    'content-type': code === undefined ? 'text/plain' : 'application/json',
    ...headers,
  }
  await exchange.onRequestHeaders(new Map(Object.entries(head).map(([name, line]) => [name, [line]])), false)
  const reply = await exchange.onRequestBody(Buffer.from(body))
  const heldAtReply = held
  exchange.cancel()
  const error =
    reply.kind === 'immediateResponse'
      ? (JSON.parse(reply.reply.body.toString()).proxy_error as Record<string, unknown>)
      : undefined
  return {
    continued: reply.kind === 'continue' ? reply : undefined,
    error,
    uses,
    heldInCode,
    heldAtReply,
    held,
  }
}

t.test('all surfaces use one read, each token with its surfaces', async (t) => {
  const { continued, uses, heldAtReply } = await evaluated({
    path: '/{{name}}/{{card|json:"$.cvc"}}',
    headers: { 'x-a': '{{ card | json: "$.cvc" }}' },
    body: 'cvc {{ card | json: "$.cvc" }}',
  })
  t.equal(uses.length, 1)
  t.same(uses[0]?.ids, ['card', 'name'])
  t.same(uses[0]?.context.surfacesOf?.('card'), ['body', 'path', 'header:x-a'])
  t.same(uses[0]?.context.surfacesOf?.('name'), ['path'])
  t.equal(continued?.body?.toString(), 'cvc 123')
  t.same(continued?.edits.set.get('x-a'), ['123'])
  t.equal(continued?.edits.set.get(':path'), '/Ada%20%22the%20first%22%20Lovelace/123')
  t.equal(heldAtReply, 0)
})

t.test('values are held until headers are evaluated, behind the transform, and no longer', async (t) => {
  const code = 'module.exports = ({ args: { body, headers } }) => ({ body, headers })'
  const inHeader = await evaluated({ headers: { 'x-a': '{{ name }}' }, body: '{}', code })
  t.match(inHeader, { heldInCode: 1, heldAtReply: 0, continued: {} })
  const inBody = await evaluated({ body: '{"a":"{{ name }}"}', code })
  t.match(inBody, { heldInCode: 0, heldAtReply: 0, continued: {} })
})

t.test('a closed surface is rejected before a token is read, and a failure releases values', async (t) => {
  const closed = await evaluated({ headers: { 'x-b': '{{ card }}', 'x-a': '{{ name }}' } })
  t.equal(closed.error?.code, 'expression_on_closed_surface')
  t.equal(closed.uses.length, 0)
  const bad = await evaluated({ path: '/{{long}}' })
  t.equal(bad.error?.code, 'uri_too_long')
  t.equal(bad.uses.length, 1)
  t.equal(bad.held, 0)
})

t.test('an error about tokens reports each place, in the head and in the body', async (t) => {
  const fail = new AppError('invalid_expression', 'An expression names no token.', { tokens: ['gone'] })
  const { error, held } = await evaluated({
    path: '/{{name}}',
    headers: { 'x-a': '{{ gone }}' },
    body: '\n{{ gone }}',
    fail,
  })
  t.same(error?.errors, { 'header:x-a': ['token not found'], 'line 2': ['token not found'] })
  t.equal(held, 0)
})
