import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import t from 'tap'
import type { TokenInput } from '../../src/sdk/index.ts'
import { startTestService } from '../kit/service.ts'
import { failure, openTestVault } from '../vault/kit.ts'

const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']))

/** Each limit of a member: the last value within it, and the first one beyond. */
const LIMITS: readonly (readonly [name: keyof TokenInput, within: unknown, beyond: unknown])[] = [
  ['id', 'abc', 'ab'],
  ['id', 'i'.repeat(400), 'i'.repeat(401)],
  ['id', '\u{1f600}'.repeat(400), '\u{1f600}'.repeat(401)],
  ...[...'#/\\+?[]|&=%<>{}^\n\ud800'].map((c, i) => ['id', `a b${i}`, `a${c}b`] as const),
  ['id', 'a  b', ' ab'],
  ['id', 'a - b', 'ab '],
  ['id', '{{ data | alias_preserve_length }}', 1],
  ['type', 'token', 't'.repeat(51)],
  ['mask', 'm'.repeat(400), 'm'.repeat(401)],
  ['mask', { a: '{{ data }}' }, ['{{ data }}']],
  ['metadata', entries(50), entries(51)],
  ['metadata', { ['k'.repeat(200)]: 'v' }, { ['k'.repeat(201)]: 'v' }],
  ['metadata', { 'a.b-c_1': 'v' }, { 'a b': 'v' }],
  ['metadata', { a: 'v'.repeat(500) }, { a: 'v'.repeat(501) }],
  ['metadata', { a: '\u0001' }, { a: '\0' }],
  ['search_indexes', Array(10).fill('{{ data }}'), Array(11).fill('{{ data }}')],
  ['search_indexes', ['x'.repeat(400)], ['x'.repeat(401)]],
  ['fingerprint_expression', 'f'.repeat(400), 'f'.repeat(401)],
  ['fingerprint_expression', 'f', ''],
  ['containers', ['/a/'], ['/a/', '/b/']],
  ['containers', [`/${'c'.repeat(398)}/`], [`/${'c'.repeat(399)}/`]],
  ['containers', ['/A-Z_0/9/'], ['/a b/']],
  ['containers', ['/a/'], ['/']],
  ['expires_at', '2030-01-31T12:00:00Z', 'x'.repeat(51)],
  ['deduplicate_token', true, 'true'],
]

t.test('the printed schemas of token writes reject exactly what the vault rejects', async (t) => {
  const service = await startTestService(t)
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  formats.default(ajv)
  ajv.addSchema((await service.call('GET', '/openapi.json', { key: '' })).json, 'api')
  const printed = (path: string, method: string) =>
    ajv.compile({ $ref: `api#/paths/${path}/${method}/requestBody/content/application~1json/schema` })
  const create = printed('~1tokens', 'post')
  const child = printed('~1tokens~1{parent_id}~1children', 'post')
  const patch = printed('~1tokens~1{id}', 'patch')
  const vault = await openTestVault(t)
  for (const [name, within, beyond] of LIMITS) {
    const at = `${name}: ${JSON.stringify(beyond).slice(0, 60)}`
    for (const validate of [create, child]) {
      t.ok(validate({ data: 'some data', [name]: within }), `${at}: the last within`)
      t.notOk(validate({ data: 'some data', [name]: beyond }), at)
    }
    await vault.create({ data: 'some data', [name]: within })
    const error = await failure(vault.create({ data: 'some data', [name]: beyond }))
    t.equal(error.code, 'invalid', at)
    t.match(Object.keys(error.errors ?? {}), [new RegExp(`^${name}\\b`)], at)
    // A patch may remove entries besides those that it adds; type and id are no members of it.
    if (name === 'id' || name === 'type' || Object.keys(beyond as object).length === 51) continue
    t.ok(patch({ [name]: within }), `${at}: the last within, of a patch`)
    t.notOk(patch({ [name]: beyond }), `${at} of a patch`)
  }
  t.notOk(create({}), 'data is required')
})
