import t from 'tap'
import { linesOf, outcomeOf } from '../../../src/sandbox/child/reported-outcome.ts'
import { asFromChild } from '../../../src/sandbox/protocol.ts'

const line = { level: 'log', text: 'a' } as const

t.test('an outcome of the realm is reported', async (t) => {
  const head = (more: object) => JSON.stringify({ console: [line], ...more })
  t.same(outcomeOf(head({ kind: 'returned' }), true), {
    ending: { kind: 'returned', empty: true },
    console: [line],
  })
  const threw = { kind: 'threw', name: 'BadRequestError', message: 'no', frames: ['code:1:1'], status: 400 }
  t.same(outcomeOf(head(threw), true).ending, threw)
  const { status: _, ...statusless } = threw
  t.same(outcomeOf(head({ ...threw, status: 1000 }), true).ending, statusless)
  t.same(outcomeOf(head({ kind: 'limit', limit: 'result' }), true).ending, { kind: 'limit', limit: 'result' })
})

t.test('a forged outcome becomes a message that matches the protocol', async (t) => {
  for (const head of [
    'no json',
    'null',
    '[1]',
    '{"kind":"returned","console":7}',
    '{"kind":"returned","console":[null,1,{"level":"no","text":""},{"level":"log","text":1}]}',
    '{"kind":"limit","limit":"overload"}',
    '{"kind":"threw","name":1,"message":{},"frames":"a","status":"x","headers":1}',
    '{"kind":"threw","frames":[1],"status":200.5}',
    '{"kind":"threw","status":200,"headers":{"a":{}}}',
  ]) {
    const message = { kind: 'ended', id: 1, cpuMs: 1, preparingMs: 0, ...outcomeOf(head, false) }
    t.ok(asFromChild(JSON.parse(JSON.stringify(message))), head)
  }
  t.same(linesOf([line, { level: 'log' }]), [line])
})
