import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { inputFrom, toWire } from '../../../src/admin/grpc/codec.ts'
import { createWire } from '../../../src/admin/grpc/wire.ts'
import { createWriter } from '../../../src/admin/grpc/write-message.ts'
import { loadOperations } from '../../../src/commands/operations.ts'
import { writeJson } from '../../../src/common/write-json.ts'
import { createMessages } from '../../../src/kernel/messages/create.ts'

const { messages } = createMessages(
  await loadOperations({ plugins: ['*'], pluginBases: [], pluginConfig: {} }),
)
const wireOf = createWire(messages.messages)
const responseOf = (rpc: string) => {
  const methods = messages.services.flatMap((service) => service.methods)
  return methods.find(({ operation }) => operation.rpc === rpc)!.response
}
const many = <T>(count: number, of: (at: number) => T) => Array.from({ length: count }, (_, at) => of(at))
const members = (count: number, of: (at: number) => unknown) =>
  Object.fromEntries(many(count, (at) => [`k${at}`, of(at)]))

const text = 'é"'.repeat(40_000)
/** Values larger than a piece, in every place, beside small ones. */
const VALUES: readonly unknown[] = [
  null,
  'x',
  text,
  [],
  {},
  many(20_000, (at) => at),
  [text, 1, text, [], text],
  { a: text, b: 1, ['__proto__']: text, 7: null, c: { d: [text, { e: text }] } },
  members(1_900, (at) => ({ at, text: 'x'.repeat(100) })),
  many(9, () => many(2_000, () => [true, null, {}])),
  [[[[text, [text, many(20_000, () => '')]]]]],
]
const token = (data: unknown) => ({
  id: 'a',
  tenant_id: 'b',
  type: 'token',
  data,
  metadata: { a: 'b' },
  containers: ['/a/'],
  privacy: { classification: 'c', impact_level: 'd', restriction_policy: 'e' },
  created_by: 'f',
  created_at: '2026-01-01T00:00:00Z',
})

const CASES: readonly (readonly [rpc: string, output: Record<string, unknown>])[] = [
  ...VALUES.map((result) => ['Tokens.Detokenize', { result }] as const),
  ...VALUES.map((data) => ['Tokens.Get', token(data)] as const),
  ['Tokens.List', { pagination: { page_size: 3, total_items: 3 }, data: VALUES.map(token) }],
  [
    'Reactors.Get',
    { id: 'a', tenant_id: 'b', name: text, configuration: { a: text, b: 1 }, callback_key: 'k' },
  ],
]

t.test('a response written in pieces equals a response written at once', async (t) => {
  for (const [rpc, output] of CASES) {
    const response = responseOf(rpc)
    const { decode, encode } = wireOf(response)
    const written = await createWriter(wireOf, response)(output)
    const read = (bytes: Buffer) => inputFrom(response, decode(bytes))
    // Not compared by tap, which takes a second for each.
    t.ok(isDeepStrictEqual(read(written), read(encode(toWire(response, output)))), `${rpc} as a message`)
    t.ok(String(await writeJson(output)) === JSON.stringify(output), `${rpc} as JSON`)
  }
})
