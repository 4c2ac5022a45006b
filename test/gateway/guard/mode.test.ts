import t from 'tap'
import { strictest } from '../../../src/gateway/guard/mode.ts'
import { headerRules } from '../../../src/gateway/headers.ts'
import type { Identified } from '../../../src/gateway/request.ts'
import type { RequestContext } from '../../../src/gateway/request-context.ts'
import { guard, guardTunneled } from '../../../src/gateway/steps/guard.ts'
import type { GuardMode } from '../../../src/sdk/index.ts'

type Unset = undefined
type Modes = readonly [
  tenant?: GuardMode | Unset,
  application?: GuardMode | Unset,
  proxy?: GuardMode | Unset,
  call?: string,
]

const requestOf = ([, application, proxy, call]: Modes, anonymous = false) =>
  ({
    head: new Map(call === undefined ? [] : [['svc-proxy-guard', [call]]]),
    caller: {
      tenantId: 'tenant',
      actorType: anonymous ? 'anonymous' : 'application',
      ...(anonymous ? {} : { responseGuard: application }),
    },
    proxy: { tenantId: 'tenant', applicationId: 'application', responseGuard: proxy },
  }) as unknown as Identified

const contextOf = ([tenant, application]: Modes, hasEgressOnly = false) =>
  ({
    gateway: {
      deps: {
        tenantGuards: { of: () => ({ mode: tenant, hasEgressOnly }) },
        authenticator: { identify: async () => ({ responseGuard: application }) },
      },
      prefixes: headerRules(['SVC', 'BT']),
    },
    prefix: 'svc',
  }) as unknown as RequestContext

t.test('the strictest of tenant, application, proxy and call holds', async (t) => {
  const table: readonly (readonly [Modes, mode: GuardMode, from: string])[] = [
    [[], 'off', 'default'],
    [['off'], 'off', 'tenant'],
    [['report', 'report', 'report', 'report'], 'report', 'tenant'],
    [['report', 'replace', 'replace', 'replace'], 'replace', 'application'],
    [['off', 'replace', 'block', 'replace'], 'block', 'proxy'],
    [['report', 'off', 'replace', 'block'], 'block', 'call'],
    [['block', undefined, undefined, 'off'], 'block', 'tenant'],
    [[undefined, undefined, undefined, ' Replace '], 'replace', 'call'],
    [[undefined, undefined, undefined, ''], 'off', 'default'],
  ]
  for (const [modes, mode, from] of table) {
    const { guard: decided } = await guard(requestOf(modes), contextOf(modes))
    t.strictSame(decided, { mode, from, isAsked: mode !== 'off' }, modes.join(', '))
  }
  t.strictSame(strictest({ tenant: 'off', application: undefined, proxy: undefined, call: 'off' }), {
    mode: 'off',
    from: 'tenant',
  })
})

t.test('the response is asked for when the tenant has values that no caller may read', async (t) => {
  t.match(await guard(requestOf([]), contextOf([], true)), {
    guard: { mode: 'off', from: 'default', isAsked: true },
  })
})

t.test('an unknown word is 400 and names the known ones', async (t) => {
  const modes: Modes = [undefined, undefined, undefined, 'strict']
  t.throws(() => guard(requestOf(modes), contextOf(modes)), {
    code: 'malformed',
    message: 'The header "svc-proxy-guard" is none of off, report, replace, block.',
  })
})

t.test('a caller without a key has the mode of the application of the proxy', async (t) => {
  const modes: Modes = ['report', 'block']
  t.match(await guard(requestOf(modes, true), contextOf(modes)), {
    guard: { mode: 'block', from: 'application' },
  })
})

t.test('inside a tunnel the call has no say', async (t) => {
  const modes: Modes = [undefined, undefined, 'report', 'nonsense']
  t.match(await guardTunneled(requestOf(modes), contextOf(modes)), {
    guard: { mode: 'report', from: 'proxy' },
  })
})
