import t from 'tap'
import {
  formatTraceparent,
  isTracestate,
  newSpanId,
  parseTraceparent,
} from '../../src/common/trace-context.ts'
import { traceIdFor } from '../../src/common/trace-id.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

t.test(
  'a traceparent is read by the rules of W3C, and later versions as far as they are known',
  async (t) => {
    const context = { traceId: TRACE, spanId: SPAN, isSampled: true }
    for (const value of [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-03`, `cc-${TRACE}-${SPAN}-01-more`])
      t.same(parseTraceparent(value), context, value)
    t.same(parseTraceparent(`00-${TRACE}-${SPAN}-00`), { ...context, isSampled: false })
    for (const invalid of [
      '',
      `00-${TRACE}-${SPAN}`,
      `00-${TRACE}-${SPAN}-01-more`,
      `ff-${TRACE}-${SPAN}-01`,
      `cc-${TRACE}-${SPAN}-01more`,
      `00-${'0'.repeat(32)}-${SPAN}-01`,
      `00-${TRACE}-${'0'.repeat(16)}-01`,
      `00-${TRACE.toUpperCase()}-${SPAN}-01`,
      `00-${TRACE}-${SPAN}-0g`,
      `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
      `cc-${TRACE}-${SPAN}-01-${'x'.repeat(200)}`,
      `00-4242424242424242-${SPAN}-01`,
    ])
      t.equal(parseTraceparent(invalid), undefined, invalid)
  },
)

t.test('a written traceparent holds ids and the sampled flag, and reads as the same', async (t) => {
  for (const isSampled of [true, false]) {
    const context = { traceId: traceIdFor(undefined), spanId: newSpanId(), isSampled }
    t.match(formatTraceparent(context), /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/)
    t.same(parseTraceparent(formatTraceparent(context)), context)
  }
})

t.test('a tracestate is valid by the grammar of its members', async (t) => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `k${at}=v`).join(',')
  for (const valid of ['rojo=00f067aa0ba902b7,congo=t61rcWkgMzE', 'a@vendor=x, b=y', 'a=b,,c=d', many(32)])
    t.ok(isTracestate(valid), valid)
  for (const invalid of ['4242 4242', 'a', 'a=', '=b', 'A=b', 'a=b=c', `a=${'x'.repeat(512)}`, many(33)])
    t.notOk(isTracestate(invalid), invalid)
})

t.test('the trace id of a call is the own header, else that of traceparent, else a new one', async (t) => {
  const parent = parseTraceparent(`00-${TRACE}-${SPAN}-01`)
  t.equal(traceIdFor('mine', parent), 'mine')
  t.equal(traceIdFor('x'.repeat(201), parent), TRACE)
  t.equal(traceIdFor(undefined, parent), TRACE)
  t.match(traceIdFor(undefined), /^[0-9a-f]{32}$/)
})
