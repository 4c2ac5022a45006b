import type { Files, Names } from './templates.ts'

const moduleOf = ({ name, type, title }: Names) => {
  const service = title.replaceAll(/ (\w)/g, (_, letter: string) => letter.toUpperCase())
  return `import { defineOperation, definePlugin, Type } from 'sidevault/sdk'

const Entity = Type.Object({ id: Type.String({ maxLength: 100, field: 1 }) })

/** Its audit record is an event: webhooks can subscribe to \`${type}.created\`. */
const create = defineOperation({
  rpc: '${service}.Create',
  http: 'POST /${name}',
  summary: 'Report that it happened',
  permission: '${name}:create',
  audit: { entity: '${type}', verb: 'create' },
  input: Entity,
  output: Entity,
  run: async ({ id }) => ({ id }),
})

export const plugin = definePlugin({
  api: 1,
  name: '${name}',
  version: '0.1.0',
  setup: () => ({
    operations: [create],
    permissions: [{ type: '${name}:create', description: 'Report it', application_types: ['private'] }],
  }),
})
`
}

const testOf = ({ name, type }: Names) => `import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestVault } from 'sidevault/testing'

const vault = await startTestVault({ plugins: ['*', import.meta.dirname] })
after(() => vault.close())

test('a webhook that subscribes to it gets a delivery', async () => {
  const body = { name: 'test', url: 'https://receiver.invalid/', events: ['${type}.created'] }
  const webhook = await vault.call('POST', '/webhooks', { body })
  assert.equal(webhook.status, 201)
  const key = await vault.application(['${name}:create'])
  const created = await vault.call('POST', '/${name}', { key, body: { id: 'first' } })
  assert.deepEqual(created.body, { id: 'first' })
  await vault.runTasks()
  const deliveries = await vault.call('GET', \`/webhooks/\${webhook.body.id}/deliveries\`)
  assert.equal(deliveries.body.data.length, 1)
  assert.equal(deliveries.body.data[0].event_type, '${type}.created')
})
`

/** A plugin whose operation records an entity, which webhooks can subscribe to, and its test. */
export const webhookTypeFiles = (names: Names, extension: 'ts' | 'js'): Files => ({
  [`index.${extension}`]: moduleOf(names),
  [`index.test.${extension}`]: testOf(names),
})
