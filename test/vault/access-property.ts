/** Reports of `access` and `compareAccess` for random grants, compared with the results of the calls themselves. */
import fc from 'fast-check'
import type { Test } from 'tap'
import { AppError } from '../../src/common/errors.ts'
import { createCodeScope } from '../../src/egress/code-scope.ts'
import type {
  AccessDifference,
  AccessRule,
  Grants,
  Json,
  TokenPermission,
  UseContext,
} from '../../src/sdk/index.ts'
import { ALL, CARD, MASKED_CARD, openTestVault } from './kit.ts'

type Level = AccessDifference['to']

/** Levels by permission; those of `none` are absent. */
type Levels = Readonly<Record<string, Level>>

const TO = { host: 'api.test', port: 443, method: 'POST', path: '/' }
const LOCKER = { name: 'Ada', pin: '1234' }

interface Kind {
  readonly input: object
  readonly masked?: Json
  readonly revealed: Json
  /** The value that a use sends, where it differs. */
  readonly used?: Json
}

const KINDS: readonly Kind[] = [
  { input: { data: 'plain' }, revealed: 'plain' },
  { input: { data: 'own', mask: 'X' }, masked: 'X', revealed: 'own' },
  { input: { type: 'card', data: CARD }, masked: MASKED_CARD, revealed: CARD },
  { input: { type: 'locker', data: LOCKER }, masked: 'Ada', revealed: { name: 'Ada' }, used: LOCKER },
  { input: { data: 'only', egress_only: true }, revealed: 'only' },
  {
    input: { type: 'card', data: CARD, egress_only: true, destinations: [{ host: TO.host }] },
    masked: MASKED_CARD,
    revealed: CARD,
  },
]
const CONTAINERS = ['/a/', '/a/b/', '/a/b/c/', '/d/']
const IDS = ['first', 'second-one']

const permissions = fc.subarray([...ALL], { minLength: 0 })
const transform = fc.constantFrom('redact', 'mask', 'reveal') as fc.Arbitrary<AccessRule['transform']>
const place = fc.record({
  container: fc.constantFrom('/', '/a/', '/A/B/', '/a/b/c/', '/d/', '/a', '/e/'),
})
const condition = fc.oneof(
  fc.record({
    attribute: fc.constant('container'),
    operator: fc.constantFrom('equals', 'starts_with', 'ends_with'),
    value: fc.constantFrom('/a/', '/A/b', '/a/b/c/', '/d', '', '/'),
  }),
  fc.record({
    attribute: fc.constant('id'),
    operator: fc.constantFrom('equals', 'starts_with'),
    value: fc.constantFrom('first', 'sec', 'second-one', 'x'),
  }),
)
const conditions = fc.record({ conditions: fc.array(condition, { maxLength: 2 }) })

const grantsWith = (where: fc.Arbitrary<object>) =>
  fc
    .record({
      permissions: fc.oneof(fc.constant([]), permissions),
      rules: fc.array(
        fc.tuple(where, transform, fc.subarray([...ALL], { minLength: 1 }), fc.integer({ min: 1, max: 9 })),
        { maxLength: 6 },
      ),
    })
    .map(
      ({ permissions, rules }): Grants => ({
        permissions,
        rules: rules.map(([where, transform, permissions, priority]) => ({
          description: 'd',
          priority,
          transform,
          permissions,
          ...where,
        })) as unknown as readonly AccessRule[],
      }),
    )

const levelOf = ({ masked, revealed, used = revealed }: Kind, data: Json | undefined): Level => {
  if (data === undefined || data === null) return 'redact'
  const text = JSON.stringify(data)
  if (text === JSON.stringify(masked)) return 'mask'
  if (text === JSON.stringify(revealed) || text === JSON.stringify(used)) return 'reveal'
  throw new Error(`neither the mask nor the value: ${text}`)
}

const DENIED = ['forbidden', 'destination_not_allowed', 'egress_only']

/** `runs` pairs of grants, each against the calls that read; some also against those that write. */
export const compareWithCalls = async (t: Test, runs: number): Promise<void> => {
  const testVault = await openTestVault(t)
  const { vault, as, reveal, create, tenant } = testVault
  const tokens: { readonly id: string; readonly kind: Kind; readonly container: string }[] = []
  for (const container of CONTAINERS)
    for (const [at, kind] of KINDS.entries()) {
      if (container === '/d/' && at > 2) continue
      const chosen = tokens.length < IDS.length ? { id: IDS[tokens.length] } : {}
      const { id } = await create({ ...kind.input, containers: [container], ...chosen })
      tokens.push({ id, kind, container })
    }

  const contextOf = (grants: Grants, more: Partial<UseContext> = {}): UseContext => {
    const context = as()
    return { ...context, caller: { ...context.caller, grants }, ...more }
  }

  const attempted = async (kind: Kind, call: () => Promise<Json | undefined>): Promise<Level> => {
    try {
      return levelOf(kind, await call())
    } catch (error) {
      if (error instanceof AppError && DENIED.includes(error.code)) return 'none'
      throw error
    }
  }

  const listed = async (context: UseContext, permission: TokenPermission) => {
    const page = { kind: 'cursor', size: 100 } as const
    try {
      const { data } = await vault.list({}, page, context, permission)
      return new Map(data.map((token) => [token.id, token]))
    } catch (error) {
      if (error instanceof AppError && error.code === 'forbidden')
        return new Map<string, { readonly data?: Json }>()
      throw error
    }
  }

  /** By token. `by`: whose code calls. */
  const realReads = async (grants: Grants, by?: 'transform' | 'reactor'): Promise<readonly Levels[]> => {
    const code = by && createCodeScope(by === 'transform' ? TO : undefined)
    const context = contextOf(grants, code ? { code } : { destination: TO })
    const lists = {
      'token:read': await listed(context, 'token:read'),
      'token:search': await listed(context, 'token:search'),
    }
    const levels: Levels[] = []
    for (const { id, kind } of tokens) {
      const use = async () =>
        by === undefined
          ? (await vault.use([id], context)).get(id)?.data
          : await vault.detokenize(`{{ ${id} }}`, context, 'token:use')
      const read = await attempted(kind, async () => (await vault.get(id, context)).data)
      const inList = (permission: keyof typeof lists): Level => {
        const token = lists[permission].get(id)
        return token === undefined ? 'none' : levelOf(kind, token.data)
      }
      if (by === undefined) t.equal(inList('token:read'), read, 'lists and reads agree')
      levels.push({
        'token:read': read,
        'token:search': inList('token:search'),
        'token:use': await attempted(kind, use),
      })
    }
    return levels
  }

  const realWrites = async (grants: Grants): Promise<readonly Levels[]> => {
    const context = contextOf(grants)
    const levels: Levels[] = []
    for (const { id, kind, container } of tokens) {
      const remove = (createdId: string, as: UseContext) => vault.delete(createdId, as)
      const created = await attempted(kind, async () => {
        const [token] = await vault.create([{ ...kind.input, containers: [container] } as never], context)
        await remove(token?.id as string, reveal())
        return token?.data
      })
      // A condition on the id is about this token, which is put back.
      const deleted = await attempted(kind, async () => {
        await remove(id, context)
        return undefined
      })
      if (deleted !== 'none') await create({ ...kind.input, id, containers: [container] })
      const update = async () => (await vault.update(id, {}, context)).data
      const updated = await attempted(kind, update)
      levels.push({ 'token:create': created, 'token:delete': deleted, 'token:update': updated })
    }
    return levels
  }

  const check = async (grants: Grants, by: 'key' | 'transform' | 'reactor', real: readonly Levels[]) => {
    for (const [at, { id }] of tokens.entries()) {
      const expected = Object.entries(real[at] as Levels).filter(([, level]) => level !== 'none')
      const reported = (await vault.access(id, contextOf(grants)))(grants, by).filter(
        ({ permission }) => permission in (real[at] as Levels),
      )
      const actual = Object.fromEntries(
        reported.map(({ permission, disclosure }) => [permission, disclosure]),
      )
      const wanted = Object.fromEntries(expected.filter(([permission]) => permission !== 'token:create'))
      if (JSON.stringify(sorted(actual)) !== JSON.stringify(sorted(wanted)))
        throw new Error(`${id} by ${by}: ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`)
      for (const { rule, permission } of reported)
        if ((rule === undefined) !== !grants.rules.some((other) => other === rule))
          throw new Error(`${permission}: a rule that decides nothing`)
    }
  }

  const sorted = (levels: object) => Object.entries(levels).sort(([a], [b]) => (a < b ? -1 : 1))

  /** Lines that the calls themselves would give. */
  const linesOf = (before: readonly Levels[], after: readonly Levels[]) => {
    const lines = new Map<string, number>()
    for (const [at, { container }] of tokens.entries())
      for (const [permission, from] of Object.entries(before[at] as Levels)) {
        const to = (after[at] as Levels)[permission] as Level
        const key = `${container} ${permission} ${from} ${to}`
        if (from !== to) lines.set(key, (lines.get(key) ?? 0) + 1)
      }
    return [...lines].map(([key, tokens]) => `${key} ${tokens}`).sort()
  }

  let run = 0
  const pair = fc.asyncProperty(
    grantsWith(place),
    grantsWith(place),
    grantsWith(fc.oneof(place, conditions)),
    async (from, to, session) => {
      run++
      const writes = run % 33 === 0
      const realOf = async (grants: Grants) => {
        const reads = await realReads(grants)
        const written = writes ? await realWrites(grants) : []
        const real = reads.map((levels, at) => ({ ...levels, ...written[at] }))
        await check(grants, 'key', real)
        return real
      }
      const [before, after] = [await realOf(from), await realOf(to)]
      await realOf(session)
      await check(to, 'reactor', await realReads(to, 'reactor'))
      const transforms = await realReads(to, 'transform')
      await check(
        to,
        'transform',
        transforms.map(({ 'token:use': _, ...levels }) => levels),
      )
      const { lines, more } = await vault.compareAccess(from, to, contextOf(from))
      const reported = lines
        .filter(({ permission }) => permission in (before[0] as Levels))
        .map((line) => `${line.container} ${line.permission} ${line.from} ${line.to} ${line.tokens}`)
        .sort()
      if (more || lines.some(({ exact }) => !exact)) throw new Error('a count is not exact')
      const expected = linesOf(before, after)
      if (JSON.stringify(reported) !== JSON.stringify(expected))
        throw new Error(`${JSON.stringify(reported)} instead of ${JSON.stringify(expected)}`)
    },
  )
  await fc.assert(pair, { numRuns: runs, endOnFailure: true })
  t.equal(run, runs)
  const [first] = tokens
  const opened = testVault.records.length
  await vault.access(first?.id as string, contextOf({ permissions: [], rules: [] }))
  t.equal(testVault.records.length, opened, `nothing is recorded in ${tenant}`)
}
