import t from 'tap'
import type { Authenticator } from '../../../src/kernel/types.ts'
import type { Caller } from '../../../src/sdk/index.ts'
import { createFarSide, exchangesOf } from '../../kit/egress.ts'

t.test('a console call counts for the API key of its session, which is looked up once', async (t) => {
  const caller: Caller = {
    tenantId: 't',
    actorId: 'a',
    actorType: 'application',
    applicationType: 'private',
    keyId: 'k',
    grants: { permissions: ['token:use'], rules: [] },
  }
  const counted: object[] = []
  let lookups = 0
  const authenticate = () => {
    lookups++
    return caller
  }
  const start = exchangesOf(createFarSide(), {
    authenticator: { authenticate } as unknown as Authenticator,
    admit: (client: object) => void counted.push(JSON.parse(JSON.stringify(client))),
  })
  const head = new Map([
    [':method', ['GET']],
    [':path', ['/console/api/proxy/x']],
    [':authority', ['vault.test']],
    [':scheme', ['https']],
    ['sec-fetch-site', ['same-origin']],
    ['x-sidevault-console', ['1']],
    ['svc-proxy-url', ['https://dest.test']],
    ['x-sidevault-client-address', ['192.0.2.1']],
  ])
  for (const name of ['con_1', 'con_2']) {
    const reply = await start().onRequestHeaders(
      new Map([...head, ['cookie', [`sidevault_console=${name}`]]]),
      true,
    )
    t.match(reply, { kind: 'continue', upstream: 'console_https' })
  }
  t.same(counted, [{ address: '192.0.2.1' }, { keyId: 'k' }, { address: '192.0.2.1' }, { keyId: 'k' }])
  t.equal(lookups, 2)
})
