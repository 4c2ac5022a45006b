import fc from 'fast-check'
import t from 'tap'
import { createCodeScope } from '../../src/egress/code-scope.ts'
import type { AccessRule, Json, TokenPatch, TokenPermission, UseContext } from '../../src/sdk/index.ts'
import { CARD, openTestVault, rule } from './kit.ts'

const HOSTS = ['a.test', 'b.a.test', '127.0.0.1']
const PATHS = ['/v1', '/v1/x', '/v2', '/v1//x']

/** Requests that distinguish lists. */
const PROBES = HOSTS.flatMap((host) =>
  [443, 8443].flatMap((port) =>
    ['GET', 'POST'].flatMap((method) => PATHS.map((path) => ({ host, port, method, path }))),
  ),
)

const entry = fc.record(
  {
    host: fc.constantFrom('a.test', 'A.TEST.', '*.a.test', '*.test', 'c.test', '127.1'),
    ports: fc.constantFrom(null, [443], [8443], [443, 8443]),
    methods: fc.constantFrom(null, ['GET'], ['GET', 'POST']),
    path: fc.constantFrom(null, '/**', '/v1/**', '/v1/*', '/v1', '/%761/x'),
    surfaces: fc.constantFrom(null, ['body'], ['body', 'header:authorization']),
  },
  { requiredKeys: ['host'] },
)
const limits = fc.record(
  {
    destinations: fc.oneof(fc.constant(null), fc.array(entry, { minLength: 1, maxLength: 3 })),
    egress_only: fc.constantFrom(true, false, null),
  },
  { requiredKeys: [] },
)
const patches = fc.record(
  {
    containers: fc.constantFrom(['/a/'], ['/b/'], ['/c/']),
    mask: fc.constantFrom('{{ data.number }}', '{{ data.number | reveal_last: 4 }}', null),
    metadata: fc.constantFrom({ a: 'b' }, null),
    deduplicate_token: fc.boolean(),
  },
  { requiredKeys: [] },
)
const steps = fc.array(
  fc.tuple(limits, patches).map(([a, b]) => ({ ...a, ...b }) as unknown as TokenPatch),
  { minLength: 1, maxLength: 6 },
)

const using: TokenPermission[] = ['token:use']

t.test('no sequence of updates without a revealing grant widens where a value can go', async (t) => {
  const { vault, create, as, reveal } = await openTestVault(t)

  const sends = async (id: string, context: UseContext): Promise<boolean> => {
    try {
      const used = await vault.use([id], context)
      return JSON.stringify(used.get(id)?.data).includes(CARD.number)
    } catch {
      return false
    }
  }
  /**
   * Values that leave by uses of a caller that may use everything, by reads of one that sees everything and of `own`,
   * and by code.
   */
  const reach = async (id: string, own: UseContext): Promise<ReadonlySet<string>> => {
    const reached = new Set<string>()
    for (const destination of PROBES)
      for (const surface of ['body', 'header:authorization'] as const) {
        const context = { ...as(using), destination, surfacesOf: () => [surface] }
        if (await sends(id, context)) reached.add(`${surface} ${JSON.stringify(destination)}`)
      }
    const readers: Record<string, UseContext> = {
      own,
      reader: reveal(),
      reactor: { ...reveal(), code: createCodeScope() },
      transform: { ...reveal(), code: createCodeScope(PROBES[0]) },
    }
    for (const [name, context] of Object.entries(readers)) {
      const read = await vault.get(id, context).catch(() => undefined)
      if (JSON.stringify(read?.data as Json | undefined)?.includes(CARD.number)) reached.add(name)
    }
    return reached
  }

  // Grants that show no data: masks, and uses that are limited themselves.
  const own = [{ host: 'a.test', ports: [443] }]
  const limited = (
    container: string,
    priority: number,
    destinations?: AccessRule['destinations'],
  ): AccessRule => ({
    ...rule(container, 'reveal', using, priority),
    ...(destinations ? { destinations } : {}),
  })
  const base = as(['token:read', 'token:update', 'token:search', 'token:delete'])
  const callers: readonly UseContext[] = [
    base,
    as(['token:update', 'token:read'], [limited('/', 1, own)]),
    as(['token:update', 'token:read'], [rule('/', 'redact', ['token:use'])]),
    as(['token:update', 'token:read'], [limited('/a/', 1, own), rule('/b/', 'reveal', ['token:read'], 2)]),
    {
      ...base,
      caller: {
        ...base.caller,
        grants: { permissions: ['token:update', 'token:use'], rules: [], destinations: [own] },
      },
    },
  ]
  await fc.assert(
    fc.asyncProperty(limits, steps, fc.nat(callers.length - 1), async (start, patches, who) => {
      const caller = callers[who] as UseContext
      const { id } = await create({ type: 'card', data: CARD, containers: ['/a/'], ...start })
      const before = await reach(id, caller)
      for (const patch of patches) await vault.update(id, patch, caller).catch(() => {})
      const after = await reach(id, caller)
      await vault.delete(id, as())
      return [...after].every((way) => before.has(way))
    }),
    { numRuns: 50 },
  )
})
