import t from 'tap'
import type { Json } from '../../src/common/json.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import type { Resolve } from '../../src/expressions/types.ts'
import { bodyWork, createWork } from '../../src/expressions/work.ts'

const expressions = createExpressions()
const code = 'bad_expression'
const long = 'zyxw'.repeat(225_000)

t.test('work is refused once it is used up', async (t) => {
  const work = createWork(100)
  work.use(60)
  work.use(40)
  t.throws(() => work.use(1), { code })
})

t.test('loops of a stored expression are counted, empty ones too', async (t) => {
  const loop = (turns: number) =>
    `{% for a in (1..${turns}) %}{% for b in (1..${turns}) %}{% endfor %}{% endfor %}`
  t.equal(expressions.parseStored(loop(100)).render({ data: 'x' }), '')
  t.throws(() => expressions.parseStored(loop(500)).render({ data: 'x' }), { code })
})

t.test('all expressions of a mask share their work', async (t) => {
  const mask = (expression: string, members: number): Json =>
    Object.fromEntries(Array.from({ length: members }, (_, i) => [`m${i}`, expression]))
  const loop = '{% for a in (1..30) %}{% for b in (1..1000) %}{% endfor %}{% endfor %}'
  const reveal = '{{ data | reveal_last: 4 }}'
  for (const expression of [loop, reveal, '{{ data }}', '{{ data | upcase }}']) {
    t.doesNotThrow(() => expressions.evaluateMask(mask(expression, 1), { data: long }), expression)
    t.throws(() => expressions.evaluateMask(mask(expression, 50), { data: long }), { code }, expression)
  }
  t.doesNotThrow(() => expressions.evaluateMask(mask(reveal, 250), { data: '4242424242424242' }))
})

t.test('sorting counts for what it costs', async (t) => {
  const sort = expressions.parseStored('{{ data | split: "" | sort_natural | join: "" }}')
  t.equal(sort.render({ data: 'cab' }), 'abc')
  t.throws(() => sort.render({ data: long }), { code })
})

t.test('all texts of a body share their work', async (t) => {
  const resolve: Resolve = () => ({ data: long, token: null })
  const template = expressions.parse('{{ big | reveal_last: 4 | last4 }}')
  t.equal(template.render(resolve), 'zyxw')
  const work = bodyWork()
  t.throws(
    () => {
      for (let i = 0; i < 100; i++) template.render(resolve, work)
    },
    { code },
  )
})
