import t from 'tap'
import { confirmationText } from '../../../src/console/kit/dialog.ts'
import { type Field, fieldChanges } from '../../../src/console/kit/form.ts'
import { html } from '../../../src/console/kit/html.ts'
import { restorePatch } from '../../../src/console/screens/proxies/types.ts'
import { sampleArguments, valuesIn } from '../../../src/console/screens/reactors/values.ts'

const form = (members: Readonly<Record<string, string>>): FormData => {
  const data = new FormData()
  for (const [name, value] of Object.entries(members)) data.append(name, value)
  return data
}

const fields: readonly Field[] = [
  { name: 'name', label: '' },
  { name: 'destination_url', label: '', kind: 'url' },
  { name: 'require_auth', label: '', kind: 'checkbox' },
  { name: 'intercept', label: '', kind: 'checkbox' },
  { name: 'application', label: '', control: () => html`` },
  { name: 'evaluate', label: '', kind: 'list' },
  { name: 'response_guard', label: '', choices: [['replace', 'replace']] },
]
const proxy = {
  id: 'p',
  name: 'Payments',
  destination_url: 'https://a.test',
  require_auth: true,
  intercept: false,
  application: { id: 'a', name: 'Shop' },
  evaluate: ['body'],
}
const changes = (stored: object, data: FormData) => fieldChanges(fields, { ...stored }, data)
const same = {
  name: 'Payments',
  destination_url: 'https://a.test',
  require_auth: 'on',
  evaluate: 'body',
  application: 'a',
}

t.test('settings send only what was changed', (t) => {
  t.equal(changes(proxy, form(same)), undefined)
  t.strictSame(changes(proxy, form({ ...same, evaluate: ' body,,\nheader:x ', application: ' ' })), {
    evaluate: ['body', 'header:x'],
    application: null,
  })
  const { require_auth: _, ...anonymous } = same
  t.strictSame(changes(proxy, form(anonymous)), { require_auth: false })
  t.strictSame(changes(proxy, form({ ...same, evaluate: ' ' })), { evaluate: [] })
  const guarded = { ...same, response_guard: 'replace' }
  t.strictSame(changes(proxy, form(guarded)), { response_guard: 'replace' })
  t.equal(changes({ ...proxy, response_guard: 'replace' }, form(guarded)), undefined)
  t.strictSame(changes({ ...proxy, response_guard: 'block' }, form({ ...same, response_guard: '' })), {
    response_guard: null,
  })
  t.end()
})

t.test('restoring a version restores all that the current one has set', (t) => {
  const code = (text: string) => ({ code: text })
  t.strictSame(restorePatch({ request_transform: code('a') }), {
    request_transform: code('a'),
    response_transform: null,
  })
  t.strictSame(restorePatch({ response_transform: code('a') }), {
    request_transform: null,
    response_transform: { code: 'a', otherwise: 'fail' },
  })
  t.end()
})

t.test('values of a reactor have the types of its formula', (t) => {
  const elements = [
    { name: 'a', type: 'string' },
    { name: 'n', type: 'number' },
    { name: 'b', type: 'boolean' },
    { name: '__proto__', type: 'string' },
  ] as const
  const values = valuesIn(
    form({ 'value:a': 'x', 'value:n': '1.50', 'value:b': 'false', 'value:__proto__': 'y' }),
    elements,
    { other: [1], n: '1.5' },
  )
  t.strictSame(Object.entries(values).sort(), [
    ['__proto__', 'y'],
    ['a', 'x'],
    ['b', false],
    ['n', 1.5],
    ['other', [1]],
  ])
  t.strictSame(valuesIn(form({ 'value:a': '', 'value:n': 'many', 'value:b': '' }), elements, { a: 'x' }), {
    n: 'many',
  })
  t.strictSame(
    valuesIn(form({ 'value:n': '9999999999999999' }), elements.slice(1, 2), {}),
    { n: '9999999999999999' },
    'the API rejects a number that would be rounded',
  )
  t.strictSame(
    valuesIn(form({ 'value:a': '', 'value:n': '7', 'value:b': 'true' }), elements, {
      a: '',
      n: '7',
      b: 'true',
    }),
    { a: '', n: '7', b: 'true' },
    'untouched values stay as they are stored',
  )
  t.end()
})

t.test('initial arguments hold what a call must pass', (t) => {
  t.strictSame(
    sampleArguments([
      { name: 'amount', type: 'number', optional: false },
      { name: 'customer.name', type: 'string', optional: false },
      { name: 'customer.vip', type: 'boolean', optional: false },
      { name: 'note', type: 'string', optional: true },
    ]),
    { amount: 0, customer: { name: '', vip: false } },
  )
  const hostile = sampleArguments([{ name: 'constructor.prototype.x', type: 'string', optional: false }])
  t.strictSame(JSON.stringify(hostile), '{"constructor":{"prototype":{"x":""}}}')
  t.equal(({} as { x?: string }).x, undefined)
  t.end()
})

t.test('confirmation requires the name where it can be typed, else the start of the id', (t) => {
  const id = '0123456789'
  t.equal(confirmationText({ id, name: 'Payments EU' }), 'Payments EU')
  for (const name of [' a', 'a  b', 'a\u202eb', 'ä', 'x'.repeat(61)])
    t.equal(confirmationText({ id, name }), '01234567')
  t.end()
})
