import t from 'tap'
import { startForwardWorld } from '../kit/forward-world.ts'

const NUMBER = '4242424242424242'
const FORMS = [NUMBER, Buffer.from(NUMBER).toString('base64').replace(/=+$/, '').slice(0, -1)]

const world = await startForwardWorld({
  gateway: { limits: { searchMs: 60_000 } },
  deps: { tenantGuards: { of: () => ({ mode: 'replace', hasEgressOnly: false }) } },
  bindings: { connect: () => 'open', request: () => ({ surfaces: ['body'] as const }) },
})
t.teardown(() => world.close())

const JSON_TYPE = { 'content-type': 'application/json' }
const TEXT = `{"card":"{{ card | json: '$.number' }}","more":"`

for (const protocol of ['request', 'request2'] as const)
  t.test(`a destination that repeats what it got, over ${protocol}`, async (t) => {
    for (const [name, body] of Object.entries({
      'with a length': `${TEXT}"}`,
      'in pieces': [TEXT, '"}'],
      'an upload': [TEXT, ...Array.from({ length: 9 }, () => 'x'.repeat(1024 ** 2)), '"}'],
    })) {
      const got = await world[protocol]({ body, headers: JSON_TYPE })
      t.equal(got.status, 200, name)
      for (const form of FORMS) t.notOk(got.text.includes(form), name)
      t.match(got.text, '[token card]', name)
      t.match(got.headers['svc-proxy-guard'], name === 'an upload' ? 'scanning' : 'replaced=1', name)
      t.match(world.destination.last().body?.toString(), NUMBER, `${name}: the destination has it`)
    }
    const head = await world[protocol]({ method: 'HEAD', headers: { 'svc-proxy-guard': 'x' } })
    t.equal(head.status, 200)
    t.equal(head.headers['svc-proxy-guard'], 'clean')
  })
