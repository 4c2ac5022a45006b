import t from 'tap'
import type { Json } from '../../src/common/json.ts'
import { createEngine } from '../../src/expressions/engine.ts'
import { OWN_FILTERS } from '../../src/expressions/filters/index.ts'
import { toJson } from '../../src/expressions/values.ts'
import { storedWork } from '../../src/expressions/work.ts'

const engine = createEngine(OWN_FILTERS)

const data: Json = {
  number: '4242',
  list: ['a', 'b'],
  nothing: null,
  size: 'own size',
  inner: { first: 'own first', length: 5 },
}

t.test('the short way through members and own filters gives what liquidjs gives', async (t) => {
  const paths = [
    'data',
    'data.number',
    'data.list',
    'data.nothing',
    'data.nope',
    'data.nope.deeper',
    'data.size',
  ]
  const more = [
    'data.number.size',
    'data.number.length',
    'data.list.size',
    'data.list.first',
    'data.inner.first',
  ]
  const last = ['data.inner.length', 'data.list.length', 'data.constructor', 'nope', 'true', 'nil']
  for (const path of [...paths, ...more, ...last])
    for (const filter of ['', ' | json', ' | stringify'])
      t.strictSame(
        toJson(engine.chain(`${path}${filter}`, true)({ data }, storedWork())),
        // a standard filter without effect takes the long way
        toJson(
          engine.chain(`${path} | default: nil, allow_false: true${filter}`, true)({ data }, storedWork()),
        ),
        `${path}${filter}`,
      )
})

t.test('only a text that is nothing but one output has an inside', async (t) => {
  t.equal(engine.onlyOutput('{{ data.number | last4 }}'), 'data.number | last4')
  t.equal(engine.onlyOutput('{{- data -}}'), 'data')
  for (const text of ['', 'x', '{{ a }}{{ b }}', ' {{ a }}', '{% if a %}{% endif %}'])
    t.equal(engine.onlyOutput(text), undefined, text)
})
