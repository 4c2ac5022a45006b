import t from 'tap'
import { headerRules } from '../../src/gateway/headers.ts'
import { identify } from '../../src/gateway/identify.ts'
import type { Authenticator } from '../../src/kernel/types.ts'
import type { Caller } from '../../src/sdk/index.ts'

t.test(
  'a call of the console counts for the API key that it goes out with, whatever its session is',
  async (t) => {
    const caller: Caller = {
      tenantId: 't',
      actorId: 'a',
      actorType: 'application',
      applicationType: 'private',
      keyId: 'k',
      grants: { permissions: ['token:use'], rules: [] },
    }
    const counted: object[] = []
    const deps = {
      authenticator: { authenticate: () => caller } as unknown as Authenticator,
      proxies: { find: () => undefined },
      admit: (client: object) => void counted.push(JSON.parse(JSON.stringify(client))),
    }
    const head = new Map([['x-sidevault-client-address', ['192.0.2.1']]])
    const call = { head, proxyKey: undefined, dryRun: false }
    for (const secret of ['con_1', 'con_2']) {
      const session = { secret, isUse: true }
      const identity = await identify(deps, headerRules(['SVC']), { ...call, session }, () => {})
      t.equal(identity.caller, caller)
    }
    t.same(counted, [{ address: '192.0.2.1' }, { keyId: 'k' }, { address: '192.0.2.1' }, { keyId: 'k' }])
  },
)
