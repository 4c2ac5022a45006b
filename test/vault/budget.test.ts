import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { UseContext, Work } from '../../src/sdk/index.ts'
import { ALL, openTestVault, rule } from './kit.ts'

const TOKENS = 60

const limited = (units: number): Work => {
  let left = units
  return {
    use: (wanted) => {
      if (wanted > 0) left -= wanted
      if (left < 0) throw new Error('no units are left')
    },
  }
}

/**
 * Turns of the event loop from now to the end of `work`, while every look at the clock is a slice later than the one
 * before: long work that looks at the clock before each item pauses before each item.
 */
let at = performance.now()
const turnsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const { now } = performance
  performance.now = () => {
    at += 20
    return at
  }
  let isDone = false
  let turns = 0
  try {
    const done = work().finally(() => {
      isDone = true
    })
    for (; !isDone; turns++) await turn()
    await done
    return turns
  } finally {
    performance.now = now
  }
}

t.test('every call of many tokens yields between any two of them', async (t) => {
  const { vault, as, reveal } = await openTestVault(t)
  const body = Array.from({ length: TOKENS }, (_, i) => ({ type: 'token', data: i, mask: '{{ data }}' }))
  const tokens = (await vault.tokenize(body, reveal())) as unknown as readonly { readonly id: string }[]
  const ids = tokens.map(({ id }) => id)
  const texts = ids.map((id) => `{{ ${id} }}`)
  const page = { kind: 'offset', page: 1, size: TOKENS } as const
  const calls: Record<string, () => Promise<unknown>> = {
    create: () => vault.create(body, reveal()),
    tokenize: () => vault.tokenize(body, reveal()),
    detokenize: () => vault.detokenize(texts, reveal()),
    'detokenize by masks': () => vault.detokenize(texts, as(['token:read'])),
    use: () => vault.use(ids, reveal()),
    preview: () => vault.preview(ids, reveal()),
    list: () => vault.list({}, page, reveal()),
  }
  for (const [name, call] of Object.entries(calls)) {
    const turns = await turnsOf(call)
    t.ok(turns > TOKENS / 2, `${name} ${turns}`)
  }
})

t.test('the masks of all tokens of a call have one budget', async (t) => {
  const { vault, as, reveal } = await openTestVault(t)
  const inputs = Array.from({ length: 5 }, () => ({ data: 'x'.repeat(100), mask: '{{ data | last4 }}' }))
  const tokens = await vault.create(inputs, reveal())
  const ids = tokens.map(({ id }) => id)
  const texts = ids.map((id) => `{{ ${id} }}`)
  const page = { kind: 'offset', page: 1, size: 100 } as const
  const masked = as([], [rule('/', 'mask', ALL)])
  const calls: Record<string, (context: UseContext) => Promise<unknown>> = {
    use: (context) => vault.use(ids, context),
    detokenize: (context) => vault.detokenize(texts, context),
    preview: (context) => vault.preview(ids, context),
    list: (context) => vault.list({}, page, context),
    create: (context) => vault.create(inputs, context),
    tokenize: (context) => vault.tokenize(inputs, context),
  }
  for (const [name, call] of Object.entries(calls)) {
    let units = 0
    const counting = {
      use: (more: number) => {
        units += more
      },
    }
    await call({ ...masked, work: counting })
    t.ok(units > 0, name)
    await call({ ...masked, work: limited(units) })
    // Stored tokens are returned: only the half before counts.
    const short = ['create', 'tokenize'].includes(name) ? units / 2 - 1 : units - 1
    await t.rejects(call({ ...masked, work: limited(short) }), name)
  }
})
