import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { parse } from 'yaml'
import { configSchema } from '../../src/config/json-schema.ts'
import { printConfig } from '../../src/config/print.ts'
import { settingNames } from '../../src/config/schema.ts'
import { loadConfig } from '../../src/config.ts'
import { root } from '../kit/sources.ts'

const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(configSchema())

const errorsOf = (content: unknown) => {
  validate(content)
  return validate.errors?.map(({ instancePath, keyword }) => `${instancePath} ${keyword}`) ?? []
}

t.test('the schema describes every setting', async (t) => {
  const { properties } = configSchema() as { properties: Record<string, { description?: string }> }
  t.same(Object.keys(properties), ['$schema', ...settingNames])
  for (const name of settingNames) t.ok(properties[name]?.description, name)
  t.match(properties, { root_key: { writeOnly: true }, listen: { writeOnly: undefined } })
})

t.test("the reference's example and a printed configuration are valid", async (t) => {
  const reference = readFileSync(join(root, 'docs/reference/configuration.md'), 'utf8')
  const example = parse(/```yaml\n([\s\S]*?)```/.exec(reference)?.[1] ?? '')
  t.ok(Object.keys(example).length > 2)
  t.same(errorsOf(example), [])
  t.same(errorsOf(parse(printConfig(loadConfig({ SIDEVAULT_SANDBOX_REQUIRE: 'uid' })))), [])
})

/** Contents of a file, and whether they are valid. */
const CASES: readonly [valid: boolean, content: object][] = [
  [true, {}],
  [true, { $schema: 'http://127.0.0.1:8080/docs/config.schema.json', workers: 2 }],
  [true, { egress_ports: [443, '8443'] }],
  [true, { egress_ports: 443 }],
  [true, { header_prefixes: 'SVC,BT' }],
  [true, { sandbox_require: ['uid', 'network'] }],
  [true, { rate_limit_per_key: 70, audit_retention_days: 'forever' }],
  [true, { plugin_config: { mail: { password: 'p' } } }],
  [false, { lissten: '127.0.0.1:8080' }],
  [false, { workers: '2' }],
  [false, { workers: 65 }],
  [false, { sandbox_require: ['netns'] }],
  [false, { sandbox_require: 1 }],
  [false, { root_key: 'text' }],
  [false, { bootstrap_key: 123 }],
  [false, { log_level: 'loud' }],
  [false, { console: 'yes' }],
  [false, { rate_limit_per_key: 'all' }],
]

for (const [valid, content] of CASES)
  t.test(
    `${JSON.stringify(content)} is ${valid ? '' : 'not '}valid, for the schema and the service`,
    async (t) => {
      const cwd = t.testdir()
      writeFileSync(join(cwd, 'file.json'), JSON.stringify(content))
      t.equal(errorsOf(content).length === 0, valid)
      const load = () => loadConfig({}, { cwd, file: 'file.json' })
      if (valid) load()
      else t.throws(load, { name: 'ConfigError' })
    },
  )
