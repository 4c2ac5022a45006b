import t from 'tap'
import type { Json } from '../../src/common/json.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import { LIMITS } from '../../src/expressions/limits.ts'
import type { Resolve } from '../../src/expressions/types.ts'
import { bodyWork, storedWork } from '../../src/expressions/work.ts'

const expressions = createExpressions()
const code = 'invalid_expression'

/** The budget of a call that has used all but `units`. */
const withLeft = (units: number) => {
  const work = bodyWork(() => 0)
  work.use(LIMITS.bodyWork - units)
  return work
}

t.test('work is rejected once the budget is used up', async (t) => {
  const work = withLeft(100)
  work.use(60)
  work.use(40)
  t.throws(() => work.use(1), { code })
})

t.test('work of one expression counts for the call', async (t) => {
  const total = withLeft(100)
  storedWork(total).use(60)
  t.throws(() => storedWork(total).use(60), { code })
  t.throws(() => storedWork(bodyWork()).use(LIMITS.expressionWork + 1), { code })
})

t.test('work ends at its deadline, checked while units are used', async (t) => {
  let now = 0
  const work = bodyWork(() => now)
  work.use(LIMITS.between)
  now = LIMITS.milliseconds + 1
  work.use(LIMITS.between - 1)
  t.throws(() => work.use(1), { code })
})

t.test('all expressions of a mask share their work', async (t) => {
  const mask = (expression: string, members: number): Json =>
    Object.fromEntries(Array.from({ length: members }, (_, i) => [`m${i}`, expression]))
  const long = 'zyxw'.repeat(5_000)
  for (const filter of ['| reveal_last: 4', '', '| upcase', '| replace: "z", "yy"', '| url_encode']) {
    const expression = `{{ data ${filter} }}`
    t.doesNotThrow(() => expressions.evaluateMask(mask(expression, 1), { data: long }), expression)
    t.throws(() => expressions.evaluateMask(mask(expression, 400), { data: long }), { code }, expression)
  }
  t.doesNotThrow(() =>
    expressions.evaluateMask(mask('{{ data | reveal_last: 4 }}', 250), { data: '4242424242424242' }),
  )
})

t.test('all texts of a call share their budget, parsing included', async (t) => {
  const work = withLeft(1_000)
  t.throws(
    () => {
      for (let i = 0; i < 100; i++) expressions.parse(`{{ id | append: '${i}' }}`, work)
    },
    { code },
  )
  const evaluated = (units: number) => {
    const used = withLeft(units)
    for (let i = 0; i < 30; i++) expressions.within(used).parse('{{ id | append: "x" | last4 }}')
  }
  t.doesNotThrow(() => evaluated(2_000), 'what was read once in a call is not read again')
})

t.test('a text is evaluated within the budget of one expression, however many it has', async (t) => {
  const resolve: Resolve = () => ({ data: 'x'.repeat(1_000), token: null })
  const text = (count: number) => expressions.parse('{{ big | reveal_last: 4 }}'.repeat(count))
  t.equal(text(10).render(resolve).length, 10_000)
  t.throws(() => text(100).render(resolve, bodyWork()), { code })
})
