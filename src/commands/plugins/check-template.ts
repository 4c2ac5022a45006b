import type { Names } from './templates.ts'

/** A folder in TypeScript with a check of proxied calls. */
export const checkFiles = ({ name }: Names): Readonly<Record<string, string>> => ({
  'index.ts': `import { definePlugin } from 'sidevault/sdk'

/** A check of proxied calls, which sees their metadata. */
export const plugin = definePlugin({
  api: 1,
  name: '${name}',
  version: '0.1.0',
  setup: () => ({
    checks: [
      {
        name: '${name}',
        on: 'request',
        fail: 'closed',
        async handle({ method, destination }) {
          if (method !== 'DELETE') return { labels: { host: destination.host } }
          return { deny: { code: 'no_deletes', detail: 'Nothing is deleted through this proxy.' } }
        },
      },
    ],
  }),
})
`,
  'index.test.ts': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CheckedCall } from 'sidevault/sdk'
import { plugin } from './index.ts'

const CALL: CheckedCall = {
  trace_id: 'test',
  tenant_id: 'tenant',
  dry_run: false,
  destination: { scheme: 'https', host: 'api.example.com', port: 443 },
  method: 'POST',
  streamed: false,
  tokens: [{ id: 'card', container: '/pci/high/' }],
}

const { checks: [check] = [] } = await plugin.setup({} as never)
const { signal } = new AbortController()

test('a call is labeled with its host', async () => {
  assert.deepEqual(await check?.handle(CALL, signal), { labels: { host: 'api.example.com' } })
})

test('a DELETE is denied', async () => {
  const verdict = await check?.handle({ ...CALL, method: 'DELETE' }, signal)
  assert.ok(verdict !== undefined && 'deny' in verdict)
  assert.equal(verdict.deny.code, 'no_deletes')
})
`,
  'package.json': `${JSON.stringify({ private: true, type: 'module' }, undefined, 2)}\n`,
})
