import t from 'tap'
import { createExpressions } from '../../../src/expressions/expressions.ts'
import { createPartReader } from '../../../src/gateway/body/parts.ts'
import { BODY_LIMITS } from '../../../src/gateway/body/rewrite.ts'
import { pipeBody, STREAM_LIMITS } from '../../../src/gateway/streaming/pipe-body.ts'
import type { BodyChunk } from '../../../src/gateway/types.ts'
import { TOKENS } from '../../kit/egress.ts'

/** Passes text on that comes in these portions; what went, piece by piece. */
type PipeBodyDeps = Parameters<typeof pipeBody>[0]

const passed = async (portions: Iterable<string>, more: Partial<PipeBodyDeps> = {}) => {
  const pieces: Buffer[] = []
  const left: BodyChunk[] = Array.from(portions, (text) => ({ bytes: Buffer.from(text), isLast: false }))
  left.push({ bytes: Buffer.alloc(0), isLast: true })
  await pipeBody({
    flow: {
      read: async () => left.shift(),
      write: async (response) => {
        if (response.kind === 'streamed') pieces.push(response.body)
      },
      end: async (bytes) => {
        pieces.push(bytes)
      },
    },
    reader: createPartReader('text/plain', undefined, createExpressions(), BODY_LIMITS),
    limits: STREAM_LIMITS,
    timeoutMs: 1_000,
    use: async (ids) => new Map(ids.map((id) => [id, TOKENS[id] as NonNullable<(typeof TOKENS)[string]>])),
    release: async () => {},
    ...more,
  })
  return pieces
}

const MIB = 1024 * 1024

t.test('one expression expands to a few megabytes at most, sent in small parts', async (t) => {
  const grown = (times: number) => `{{ long | replace: 'x', '${'y'.repeat(times)}' }}`
  const pieces = await passed([grown(40)])
  t.equal(Buffer.concat(pieces).toString(), 'y'.repeat(4_000_000))
  t.ok(pieces.every(({ length }) => length <= 65_536))
  const limits = { ...STREAM_LIMITS, printed: MIB }
  await t.rejects(passed([grown(11)], { limits }), { code: 'too_large' })
})

const costly = (at: number) => `{{ '${at}' | pad_left: 10000 | replace: ' ', '${'y'.repeat(100)}' | size }}\n`

t.test('the cost of expressions is summed for the body, in however many parts it arrives', async (t) => {
  const parts = (count: number) => Array.from({ length: count }, (_, at) => costly(at))
  const one = await passed([costly(0)])
  t.match(Buffer.concat(one).toString(), /^99\d{4}\n$/)
  await t.rejects(passed(parts(300)), { code: 'invalid_expression' })
})

t.test('a body of literal expressions yields to other calls', async (t) => {
  let turns = 0
  let running = true
  const other = () => {
    turns++
    if (running) setImmediate(other)
  }
  setImmediate(other)
  await passed([Array.from({ length: 200 }, (_, at) => costly(at)).join('')]).finally(() => {
    running = false
  })
  t.ok(turns > 2, `${turns} turns`)
})

t.test('a body that never ends is aborted in time, with only its start forwarded', async (t) => {
  const forever = function* () {
    for (;;) yield 'x'
  }
  const source = forever()
  const flow: PipeBodyDeps['flow'] = {
    read: async (ms) => {
      await new Promise((resolve) => setTimeout(resolve, Math.min(ms ?? 0, 5)))
      return { bytes: Buffer.from(String(source.next().value)), isLast: false }
    },
    write: async () => {},
    end: () => Promise.reject(new Error('it has no end')),
  }
  await t.rejects(passed([], { flow, limits: { ...STREAM_LIMITS, ms: 50 } }), { code: 'destination_timeout' })
})
