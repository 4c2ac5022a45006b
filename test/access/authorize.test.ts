import t from 'tap'
import { authorize } from '../../src/access/authorize.ts'
import type { Caller, Grants } from '../../src/sdk/index.ts'

const callerOf = (grants: Partial<Grants>): Caller => ({
  tenantId: 't',
  actorId: 'a',
  actorType: 'application',
  grants: { permissions: [], rules: [], ...grants },
})

const rule = (permission: string) => ({
  description: 'd',
  priority: 1,
  container: '/',
  transform: 'mask' as const,
  permissions: [permission],
})

const anonymous = callerOf({})

for (const [permission, caller, allowed] of [
  ['none', anonymous, true],
  ['any key', anonymous, true],
  ['token:read', anonymous, false],
  ['token:read', callerOf({ permissions: ['token:read'] }), true],
  ['token:read', callerOf({ rules: [rule('token:create'), rule('token:read')] }), true],
  ['token:read', callerOf({ permissions: ['token:create'], rules: [rule('token:use')] }), false],
  ['proxy:read', callerOf({ permissions: ['proxy:read'] }), true],
  ['proxy:read', callerOf({ rules: [rule('proxy:read')] }), false],
  ['proxy:read', callerOf({ permissions: ['proxy:*', 'proxy'] }), false],
] as const)
  t.test(
    `"${permission}" with ${JSON.stringify(caller.grants)} is ${allowed ? 'allowed' : 'forbidden'}`,
    async (t) => {
      if (allowed) t.doesNotThrow(() => authorize(caller, permission))
      else
        t.throws(() => authorize(caller, permission), {
          code: 'forbidden',
          message: new RegExp(`"${permission}"`),
        })
    },
  )
