/** Every filter against the clock: a unit takes up to 0.1 µs (src/expressions/limits.ts), whatever it is given. */
import t from 'tap'
import { compileFilters } from '../../../src/expressions/chain.ts'
import { FILTERS } from '../../../src/expressions/filters/index.ts'
import { casesOf } from './adversarial.ts'

const UNIT_MS = 0.0001
/** Milliseconds of a call that throws, or of a pause of the machine: the least of several runs counts. */
const OTHER_MS = 0.1
const RUNS = 9

for (const name of FILTERS.keys())
  t.test(`${name} takes the time that it counts`, async (t) => {
    for (const size of [4_096, 131_072])
      for (const { value, args } of casesOf(name, size)) {
        const operands = args.map((argument) => ({ kind: 'literal', value: argument as string }) as const)
        const chain = compileFilters([{ name, args: operands, named: new Map() }], FILTERS)
        let units = 0
        let least = Number.POSITIVE_INFINITY
        for (let at = 0; at < RUNS; at++) {
          units = 0
          const began = performance.now()
          try {
            chain.run(
              value,
              {},
              {
                use: (more) => {
                  if (more > 0) units += more
                },
              },
            )
          } catch {}
          least = Math.min(least, performance.now() - began)
        }
        const label = `${JSON.stringify(value).slice(0, 16)} ${JSON.stringify(args).slice(0, 40)}`
        // Twice: machines differ, and other programs run on them.
        t.ok(
          least <= 2 * units * UNIT_MS + OTHER_MS,
          `${label}: ${least.toFixed(3)} ms, ${Math.round(units)} units`,
        )
      }
  })
