import t from 'tap'
import { createCodeScope } from '../../src/egress/code-scope.ts'

const TO = { host: 'a.test', port: 443, method: 'POST', path: '/' }

t.test('a scope allows what each of its lists allows', (t) => {
  const scope = createCodeScope(TO)
  t.equal(scope.destination, TO)
  t.notOk(scope.isLimited)
  scope.check({ ...TO, host: 'b.test' })
  scope.limit([
    { host: 'a.test', ports: [443] },
    { host: 'b.test', ports: [443] },
  ])
  t.ok(scope.isLimited)
  scope.check({ ...TO, host: 'b.test' })
  scope.limit([{ host: 'a.test', ports: [443] }])
  scope.check(TO)
  t.throws(() => scope.check({ ...TO, host: 'b.test' }), { code: 'destination_not_allowed' })
  t.end()
})

t.test('a scope with too many different lists allows nothing', (t) => {
  const scope = createCodeScope(TO)
  for (let at = 0; at < 2_000; at++) scope.limit([{ host: 'a.test', ports: [443] }])
  scope.check(TO)
  for (let at = 1; at <= 2_000; at++) scope.limit([{ host: 'a.test', ports: [443, at] }])
  t.throws(() => scope.check(TO), { code: 'destination_not_allowed' })
  t.end()
})
