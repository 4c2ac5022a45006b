import t from 'tap'
import { CARD, plan, resolve, rewritten, show, VALUES } from './kit.ts'

const CASES: readonly (readonly [type: string | undefined, body: string, sent: string])[] = [
  ['text/plain', 'pan: {{pan}}.', 'pan: 4242424242424242.'],
  ['text/plain', '{{card}}', JSON.stringify(CARD)],
  ['text/plain', '<{{none}}{{yes}}>', '<true>'],
  ['text/plain', '{{evil}}', String(VALUES.evil)],
  ['text/plain', 'ü {{it é}} €', 'ü odd id €'],
  ['text/plain', '{% if x %}{{ten}}{% endif %}', '{% if x %}10{% endif %}'],
  ['text/plain', 'a  {{- ten -}}  b {{- ten }} c', 'a10b10 c'],
  ['text/plain', '  {{- ten -}} {{- ten -}}  ', '1010'],
  ['application/xml', '<n a="{{ten}}">{{ pan | last4 }}</n>', '<n a="10">4242</n>'],
  ['text/xml; charset=utf-8', '<n>{{text}}</n>', `<n>${VALUES.text}</n>`],
  ['application/soap+xml', '<n>{{ten}}</n>', '<n>10</n>'],
  ['text/csv', 'a,b\r\n{{pan}},{{ten}}\r\n', 'a,b\r\n4242424242424242,10\r\n'],
  ['application/x-ndjson', '{"a":"{{pan}}"}\n{"a":"{{ten}}"}\n', '{"a":"4242424242424242"}\n{"a":"10"}\n'],
  ['application/graphql', '{ pay(card: "{{pan}}") { id } }', '{ pay(card: "4242424242424242") { id } }'],
  [undefined, 'pan={{pan}}', 'pan=4242424242424242'],
  ['', '{{ten}}', '10'],
]

for (const [type, body, sent] of CASES)
  t.test(`${type ?? 'no type'}: ${show(body)} is sent as ${show(sent)}`, async (t) => {
    t.equal((await rewritten(body, type)).toString(), sent)
  })

t.test('bytes that are no text survive around expressions', async (t) => {
  const around = (inner: string) =>
    Buffer.concat([Buffer.from([0xff, 0xa0]), Buffer.from(inner), Buffer.from([0x85, 0xfe])])
  t.strictSame(await rewritten(around('{{-ten-}}'), 'text/plain'), around('10'))
})

t.test('latin1 text takes values that latin1 holds, and refuses others', async (t) => {
  const type = 'text/plain; charset=ISO-8859-1'
  const body = Buffer.from('ü {{it é}} {{v}}', 'latin1')
  const result = await plan(body, type)
  t.strictSame(result.kind === 'rewrite' && [...result.ids], ['it é', 'v'])
  const apply = (value: string) =>
    result.kind === 'rewrite' ? result.apply(() => ({ data: value, token: null })) : undefined
  t.strictSame(await apply('é'), Buffer.from('ü é é', 'latin1'))
  await t.rejects(async () => apply('€'), { code: 'bad_expression' })
})

t.test('other charsets that agree with ASCII take ASCII values only; the rest pass', async (t) => {
  t.equal(
    (await rewritten('x {{pan}}', 'text/plain; charset="windows-1251"')).toString(),
    'x 4242424242424242',
  )
  const result = await plan('{{text}}', 'text/plain;charset=windows-1251')
  await t.rejects(async () => result.kind === 'rewrite' && result.apply(resolve), { code: 'bad_expression' })
  t.equal((await plan('{{pan}}', 'text/plain; charset=utf-16')).kind, 'pass')
  t.equal((await plan('{{pan}}', 'text/plain; charset=constructor')).kind, 'pass')
})

t.test('faulty expressions are refused', async (t) => {
  for (const body of ['{{', '{{}}', 'x {{ pan', '{{ pan | nope }}', '{"a":{{pan}', '{{ a/b }}'])
    await t.rejects(plan(body, 'text/plain'), { code: 'bad_expression' }, body)
})
