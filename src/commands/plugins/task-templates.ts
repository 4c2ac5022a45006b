import type { Files, Names } from './templates.ts'

const CONSUMER = {
  module: ({ name }: Names) => `import { writeFile } from 'node:fs/promises'
import { definePlugin, Type } from 'sidevault/sdk'

/** Appends each audit record to a file, as a line of JSON. */
export const plugin = definePlugin({
  api: 1,
  name: '${name}',
  version: '0.1.0',
  config: Type.Object({ path: Type.String({ default: '${name}.jsonl' }) }),
  setup: ({ config }) => ({
    consumers: [
      {
        name: 'lines',
        from: 'now',
        handle: async (records, signal) => {
          const lines = records.map((record) => \`\${JSON.stringify(record)}\\n\`)
          await writeFile(config.path, lines.join(''), { flag: 'a', signal })
        },
      },
    ],
  }),
})
`,
  test: `test('each record is a line', async () => {
  await vault.application(['token:read'])
  await vault.runTasks()
  const [line, ...more] = readFileSync(path, 'utf8').trimEnd().split('\\n')
  assert.deepEqual(more, [])
  const { entity_type, operation } = JSON.parse(line)
  assert.deepEqual({ entity_type, operation }, { entity_type: 'application', operation: 'create' })
})
`,
}

const JOB = {
  module: ({ name }: Names) => `import { writeFile } from 'node:fs/promises'
import { definePlugin, Type } from 'sidevault/sdk'

/** Writes the usage of all tenants to a file, once a day. */
export const plugin = definePlugin({
  api: 1,
  name: '${name}',
  version: '0.1.0',
  config: Type.Object({ path: Type.String({ default: '${name}.json' }) }),
  setup: ({ config, tenants, usage }) => ({
    jobs: [
      {
        name: 'report',
        every: 24 * 60 * 60,
        run: async (signal) => {
          const report = []
          for await (const { id, name } of tenants.all()) {
            signal.throwIfAborted()
            report.push({ id, name, ...(await usage(id)) })
          }
          await writeFile(config.path, JSON.stringify(report), { signal })
        },
      },
    ],
  }),
})
`,
  test: `test('the report has each tenant', async () => {
  await vault.runTasks()
  assert.equal(JSON.parse(readFileSync(path, 'utf8')).length, 1)
})
`,
}

const testOf = (name: string, test: string) => `import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startTestVault } from 'sidevault/testing'

const path = join(mkdtempSync(join(tmpdir(), '${name}-')), 'written')
const vault = await startTestVault({
  plugins: ['*', import.meta.dirname],
  configs: { '${name}': { path } },
})
after(() => vault.close())

${test}`

/** A plugin with a consumer or a job, and its test. */
export const taskFiles = (kind: 'consumer' | 'job', names: Names, extension: 'ts' | 'js'): Files => {
  const { module, test } = kind === 'consumer' ? CONSUMER : JOB
  return {
    [`index.${extension}`]: module(names),
    [`index.test.${extension}`]: testOf(names.name, test),
  }
}
