import t from 'tap'
import { CallTrace } from '../../src/gateway/call-trace.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const TRACE = new CallTrace(new Map([['traceparent', [TRACEPARENT]]]), 'svc-trace-id', 'proxy')

t.test(
  'a released request gets a traceparent, unless code or the caller removed or replaced it',
  async (t) => {
    const release = (
      set: Readonly<Record<string, string>>,
      remove: readonly string[] = [],
      stripped = remove,
    ) => TRACE.release({ set: new Map(Object.entries(set)), remove }, 'dest.test', stripped)
    const { set, remove } = release({ accept: 'a' }, ['te'])
    t.same([...set.keys()], ['accept', 'traceparent'])
    t.match(set.get('traceparent'), new RegExp(`^00-${TRACE.id}-${TRACE.spanId}-01$`))
    t.same(remove, ['te'])
    t.same(release({}, ['traceparent'], []).set, new Map(), 'a transform has removed it')
    t.same(release({ traceparent: 'own' }).set, new Map([['traceparent', 'own']]), 'a transform has set it')
    t.same(release({}, [], ['traceparent']).set, new Map(), 'the header Connection names it')
  },
)

t.test('headers that are not valid are named, so that they are not forwarded', async (t) => {
  const invalid = (head: Readonly<Record<string, readonly string[]>>) =>
    new CallTrace(new Map(Object.entries(head)), undefined, 'proxy').invalid
  t.same(invalid({}), [])
  t.same(invalid({ traceparent: [TRACEPARENT], tracestate: ['a=b', 'c=d'] }), [])
  t.same(invalid({ traceparent: [TRACEPARENT], tracestate: ['a=b', 'c'] }), ['tracestate'])
  t.same(invalid({ traceparent: [TRACEPARENT, TRACEPARENT] }), ['traceparent'])
  t.same(invalid({ traceparent: ['forged'], tracestate: ['a=b'] }), ['traceparent', 'tracestate'])
  t.same(invalid({ tracestate: ['a=b'] }), ['tracestate'])
})
