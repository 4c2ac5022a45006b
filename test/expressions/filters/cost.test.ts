/** Every filter, those of plugins too, counts no less than it reads and creates. */
import t from 'tap'
import { compileFilters } from '../../../src/expressions/chain.ts'
import { allFilters } from '../../../src/expressions/filters/all.ts'
import { LIMITS } from '../../../src/expressions/limits.ts'
import { Bytes } from '../../../src/expressions/values.ts'
import { type Case, casesOf } from './adversarial.ts'

const filters = allFilters({ doubled: (value) => [value, value] })

const SIZE = 8_192
/** The least that a character counts for: what the engine copies in no more than a few nanoseconds. */
const LEAST = 1 / 16

const run = (name: string, { value, args }: Case) => {
  const operands = args.map((argument) => ({ kind: 'literal', value: argument as string }) as const)
  const chain = compileFilters([{ name, args: operands, named: new Map() }], filters)
  let units = 0
  const use = (more: number) => {
    if (more > 0) units += more
  }
  try {
    return { result: chain.run(value, {}, { use }), isRejected: false, units }
  } catch {
    return { result: null, isRejected: true, units }
  }
}

/** Characters and elements, counted by other means than the language's own. */
const sizeOf = (value: unknown): number => {
  if (typeof value === 'string') return value.length
  if (value instanceof Bytes) return value.buffer.length
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, item) => sum + sizeOf(item), 1)
}

/** Filters that do nothing with a list or an object but look at an element, reject it, or count it themselves. */
const SHALLOW: ReadonlySet<string> = new Set(
  `first last size default slice card_exp to_number to_boolean to_string pad_left pad_right date json
  plus minus times divided_by modulo round floor ceil abs at_least at_most`.split(/\s+/),
)

for (const [name, { rate, isShallow = false }] of filters)
  t.test(`${name} counts what it reads and creates`, async (t) => {
    t.ok(rate >= LEAST, `at least ${LEAST} units for each character`)
    t.equal(isShallow, SHALLOW.has(name))
    for (const sample of casesOf(name, SIZE)) {
      const { result, isRejected, units } = run(name, sample)
      const label = `${JSON.stringify(sample.value).slice(0, 20)} ${JSON.stringify(sample.args).slice(0, 40)}`
      t.ok(units >= LIMITS.call, label)
      const isCounted =
        !isShallow || typeof sample.value !== 'object' || (name === 'json' && sample.args.length === 0)
      if (isRejected || !isCounted) continue
      const read = sizeOf(sample.value)
      const created = Math.max(0, sizeOf(result) - read)
      t.ok(
        units >= (read + created) * LEAST,
        `${label}: ${units} units for ${read} read and ${created} created`,
      )
    }
  })

t.test('a filter that searches counts the length of its term, limited to 256 characters', async (t) => {
  const value = 'a'.repeat(SIZE)
  for (const name of ['split', 'replace', 'replace_first', 'remove', 'remove_first', 'card_bin']) {
    const units = (length: number) => run(name, { value, args: [`${'a'.repeat(length - 1)}b`, 'x'] }).units
    t.ok(units(256) - units(1) >= (SIZE * 255) / 256, name)
    t.ok(run(name, { value, args: ['a'.repeat(257), 'x'] }).isRejected, name)
  }
  for (const name of ['reveal', 'card_mask']) {
    const args = name === 'reveal' ? [0, 0, 'X', 'a'.repeat(257)] : ['true', 'true', 'X', 'a'.repeat(257)]
    t.ok(run(name, { value, args }).isRejected, name)
  }
})

t.test('a JSONPath that visits all nodes counts each for each of its steps', async (t) => {
  const value = Array.from({ length: 1_000 }, (_, at) => ({ at }))
  const units = (path: string) => run('json', { value, args: [path] }).units
  t.ok(units('$..at') >= 2_000)
  t.ok(units(`$..[?@${'.a'.repeat(100)}]`) >= 30 * units('$..at'))
  t.ok(units('$..[?@ == @]') >= 10 * units('$..at'))
  t.ok(units('$[1].at') < 1_000)
})

t.test('a slice of a list counts its elements', async (t) => {
  const value = Array.from({ length: 1_000 }, () => 0)
  t.ok(run('slice', { value, args: [0, 1_000] }).units >= 1_000 * LEAST)
})
