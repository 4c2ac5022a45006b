/** Prints the CPU milliseconds of the longest turn of the event loop under each of the heaviest calls. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Json } from '../../src/sdk/index.ts'
import { ALL, openTestVault, rule } from './kit.ts'

const MIB = 1024 * 1024

const cpu = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** CPU milliseconds of the longest turn of the event loop while `work` runs. */
const longestTurn = async (work: () => Promise<unknown>): Promise<number> => {
  let longest = 0
  let isDone = false
  let before = cpu()
  const turn = () => {
    const now = cpu()
    longest = Math.max(longest, now - before)
    before = cpu()
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  await work().finally(() => {
    isDone = true
  })
  turn()
  return longest
}

const directory = mkdtempSync(join(tmpdir(), 'sidevault-turns-'))
const ends: (() => unknown)[] = [() => rmSync(directory, { recursive: true })]
const { vault, create, as, reveal } = await openTestVault(
  { testdir: () => directory, after: (end) => ends.unshift(end) },
  { threads: true },
)
const text = 'x'.repeat(MIB - 2)
const large: string[] = []
for (let i = 0; i < 30; i++) large.push((await create({ data: text, metadata: { of: 'large' } })).id)
const numbers = Array.from({ length: 260_000 }, (_, i) => i % 1_000)
const { id: array } = await create({ data: numbers })
const { id: nested } = await create({ data: Array.from({ length: 24_999 }, () => [[]]) })
const small = (await vault.tokenize(
  Array.from({ length: 10_000 }, (_, i) => ({ type: 'token', data: i, mask: '{{ data }}' })),
  reveal(),
)) as unknown as readonly { readonly id: string }[]
const ids = small.map(({ id }) => id)
const texts = (ids: readonly string[], filter = '') => ids.map((id) => `{{ ${id}${filter} }}`)
const masked = as([], [rule('/', 'mask', ALL)])
const page = { kind: 'offset', page: 1, size: 30 } as const
const strings = Array.from({ length: 10_000 }, (_, i) => `value ${i}`)
const calls: Record<string, () => Promise<unknown>> = {
  'create of 1 MiB': () => create({ data: text }),
  'get of 1 MiB': () => vault.get(large[0] as string, reveal()),
  'get of 260,000 numbers': () => vault.get(array, reveal()),
  'get of 50,000 arrays': () => vault.get(nested, reveal()),
  'update of 1 MiB': () => vault.update(large[0] as string, { metadata: { a: 'b' } }, reveal()),
  'tokenize of 10,000 strings': () => vault.tokenize(strings, reveal()),
  'create of 10,000': () =>
    vault.create(
      strings.map((data) => ({ data })),
      reveal(),
    ),
  'use of 10,000': () => vault.use(ids, reveal()),
  'detokenize of 10,000': () => vault.detokenize(texts(ids), reveal()),
  'detokenize of 10,000 by masks': () => vault.detokenize(texts(ids), masked),
  'detokenize of 15 MiB': () => vault.detokenize(texts(large.slice(0, 15)), reveal()),
  'detokenize of 8 MiB to little': () => vault.detokenize(texts(large.slice(0, 8), ' | size'), reveal()),
  'detokenize of an array, ten times': () =>
    vault.detokenize(Array.from({ length: 10 }, () => `{{ ${array} }}`) as Json, reveal()),
  'foresee of 10,000': () => vault.preview(ids, masked),
  'list that starts a process': () => vault.list({ metadata: { of: 'none' } }, page, reveal()),
  'list of 30 MiB': () => vault.list({ metadata: { of: 'large' } }, page, reveal()),
}
const longest: Record<string, number> = {}
for (const [name, call] of Object.entries(calls)) longest[name] = await longestTurn(call)
process.stdout.write(JSON.stringify(longest))
for (const end of ends) await end()
