import type { Files, Names } from './templates.ts'

/** `types`: the plugin is in TypeScript. */
const moduleOf = (
  name: string,
  types: boolean,
) => `import { ${types ? 'type Check, ' : ''}definePlugin } from 'sidevault/sdk'

/** Sees the metadata of each call through the proxy. */
${types ? 'export const check: Check' : 'export const check'} = {
  name: '${name}',
  on: 'request',
  fail: 'closed',
  async handle({ method, destination }) {
    if (method !== 'DELETE') return { labels: { host: destination.host } }
    return { deny: { code: 'no_deletes', detail: 'Nothing is deleted through this proxy.' } }
  },
}

export const plugin = definePlugin({
  api: 1,
  name: '${name}',
  version: '0.1.0',
  setup: () => ({ checks: [check] }),
})
`

const testOf = (extension: string, types: boolean) => `import assert from 'node:assert/strict'
import { test } from 'node:test'
${types ? "import type { CheckedCall } from 'sidevault/sdk'\n" : ''}import { check } from './index.${extension}'

const CALL${types ? ': CheckedCall' : ''} = {
  trace_id: 'test',
  tenant_id: 'tenant',
  dry_run: false,
  destination: { scheme: 'https', host: 'api.example.com', port: 443 },
  method: 'POST',
  streamed: false,
  tokens: [{ id: 'card', container: '/pci/high/' }],
}
const { signal } = new AbortController()

test('a call is labeled with its host', async () => {
  assert.deepEqual(await check.handle(CALL, signal), { labels: { host: 'api.example.com' } })
})

test('a DELETE is denied', async () => {
  assert.deepEqual(await check.handle({ ...CALL, method: 'DELETE' }, signal), {
    deny: { code: 'no_deletes', detail: 'Nothing is deleted through this proxy.' },
  })
})
`

/** A plugin with a check of proxied calls, and its test. */
export const checkFiles = ({ name }: Names, extension: 'ts' | 'js'): Files => ({
  [`index.${extension}`]: moduleOf(name, extension === 'ts'),
  [`index.test.${extension}`]: testOf(extension, extension === 'ts'),
})
