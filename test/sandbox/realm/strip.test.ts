import { copyFileSync, readdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { strip } from '../../../src/sandbox/realm/strip.ts'

const ONE = 'const one: number = 1'
const TWO = 'const two: 2 = 2'

t.test('types are blanked once, and damaged cached output is recreated', async (t) => {
  const directory = t.testdir({})
  const retained = () => readdirSync(directory).map((name) => join(directory, name))
  t.equal(strip(ONE, directory), 'const one         = 1')
  const [one = ''] = retained()
  t.equal(strip(TWO, directory), 'const two    = 2')
  t.equal(retained().length, 2)
  const [two = ''] = retained().filter((file) => file !== one)

  copyFileSync(two, one)
  t.equal(strip(ONE, directory), 'const two    = 2', 'the cached text is read')
  truncateSync(one, 70)
  t.equal(strip(ONE, directory), 'const one         = 1')
  copyFileSync(one, two)
  t.equal(strip(TWO, directory), 'const one         = 1', 'the recreated text is cached')
})

t.test('without a cache types are blanked each time', async (t) => {
  t.equal(strip(ONE, join(t.testdir({}), 'nowhere')), 'const one         = 1')
  t.equal(strip(ONE, undefined), 'const one         = 1')
})
