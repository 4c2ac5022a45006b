/** The names in a new plugin. */
export interface Names {
  readonly name: string
  /** Of its token type. */
  readonly type: string
  readonly title: string
  readonly packageName: string
}

/** Texts by file name. */
export type Files = Readonly<Record<string, string>>

const json = (value: unknown) => `${JSON.stringify(value, undefined, 2)}\n`

const tokenType = ({ name, type, title }: Names) => ({
  name: type,
  title,
  data: {
    type: 'object',
    properties: {
      number: { type: 'string', pattern: '^[A-Z0-9]{6,16}$' },
      pin: { type: 'string', pattern: '^[0-9]{4,8}$' },
    },
    required: ['number'],
  },
  writeOnly: ['/pin'],
  container: `/${name}/high/`,
  mask: { number: '{{ data.number | reveal_last: 4 }}' },
  fingerprint: '{{ data.number }}',
  searchIndexes: ['{{ data.number }}'],
})

/** `source`: a JavaScript expression, the plugin's entry in the plugin list. */
const testOf = ({ type }: Names, source: string) => `import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestVault } from 'sidevault/testing'

const DATA = { number: 'AB123456', pin: '2468' }
const permissions = ['token:create', 'token:read', 'token:search', 'token:use']
const vault = await startTestVault({ plugins: ['*', ${source}] })
let key = ''

before(async () => {
  key = await vault.application(permissions)
})
after(() => vault.close())

const create = (data: unknown) => vault.call('POST', '/tokens', { key, body: { type: '${type}', data } })

test('it is stored, read masked, found, and sent unmasked', async () => {
  const { status, body: token } = await create(DATA)
  assert.equal(status, 201)
  const read = await vault.call('GET', \`/tokens/\${token.id}\`, { key })
  assert.deepEqual(read.body.data, { number: 'XXXX3456' })
  const results = await vault.call('POST', '/tokens/search', { key, body: { query: 'data:AB123456' } })
  assert.equal(results.body.data[0].id, token.id)
  assert.deepEqual(await vault.send({ sent: \`{{ \${token.id} }}\` }, key), { sent: DATA })
})

test('invalid data is rejected, and the error does not contain it', async () => {
  const { status, body } = await create({ number: 'ab-1' })
  assert.equal(status, 400)
  assert.ok(body.errors['data.number'])
  assert.doesNotMatch(JSON.stringify(body), /ab-1/)
})
`

const inJavaScript = (text: string) => text.replace('(data: unknown)', '(data)')

/** `package.json` of a folder. */
export const TYPE_MODULE = json({ private: true, type: 'module' })

/** A folder in TypeScript. */
export const folderFiles = (names: Names): Files => ({
  'index.ts': `import { definePlugin, Type } from 'sidevault/sdk'

/** The token type \`${names.type}\`. */
export const plugin = definePlugin({
  api: 1,
  name: '${names.name}',
  version: '0.1.0',
  setup: () => ({
    tokenTypes: [
      {
        name: '${names.type}',
        title: '${names.title}',
        data: Type.Object({
          number: Type.String({ pattern: '^[A-Z0-9]{6,16}$' }),
          pin: Type.Optional(Type.String({ pattern: '^[0-9]{4,8}$' })),
        }),
        writeOnly: ['/pin'],
        container: '/${names.name}/high/',
        mask: { number: '{{ data.number | reveal_last: 4 }}' },
        fingerprint: '{{ data.number }}',
        searchIndexes: ['{{ data.number }}'],
      },
    ],
  }),
})
`,
  'index.test.ts': testOf(names, 'import.meta.dirname'),
  'package.json': TYPE_MODULE,
})

/** A declarative JSON file with its test. */
export const jsonFiles = (names: Names): Files => {
  const file = `${names.name}.json`
  return {
    [file]: json({ api: 1, name: names.name, version: '0.1.0', tokenTypes: [tokenType(names)] }),
    [`${names.name}.test.mjs`]: inJavaScript(testOf(names, `new URL('./${file}', import.meta.url)`)),
  }
}

/** `package.json` of an npm package. */
export const packageOf = ({ packageName }: Names, content: string): string =>
  json({
    name: packageName,
    version: '0.1.0',
    description: `${content} for Sidevault`,
    type: 'module',
    exports: './index.js',
    files: ['index.js'],
    peerDependencies: { sidevault: '*' },
    peerDependenciesMeta: { sidevault: { optional: true } },
  })

/** An npm package in JavaScript. */
export const npmFiles = (names: Names): Files => ({
  'package.json': packageOf(names, `Token type ${names.type}`),
  'index.js': `import { definePlugin } from 'sidevault/sdk'

/** The token type \`${names.type}\`. */
export const plugin = definePlugin({
  api: 1,
  name: '${names.name}',
  version: '0.1.0',
  setup: () => ({
    tokenTypes: [
${JSON.stringify(tokenType(names), undefined, 2)
  .replaceAll(/"([a-zA-Z]+)":/g, '$1:')
  .replaceAll('"', "'")
  .replaceAll(/^/gm, '      ')},
    ],
  }),
})
`,
  'index.test.js': inJavaScript(testOf(names, 'import.meta.dirname')),
})
