import { join } from 'node:path'
import t from 'tap'
import { startWorld } from '../kit/egress.ts'
import { startReceiver } from '../kit/receiver.ts'
import { startRelay } from '../kit/relay.ts'
import { upload } from '../kit/upload.ts'

const world = await startWorld({ withGateway: false })
const relay = await startRelay(join(world.directory, 'gateway.sock'))
const receiver = await startReceiver(await world.authority.issue(['dest.test']), 'h1')
t.teardown(async () => {
  await receiver.close()
  await relay.close()
  await world.close()
})
t.beforeEach(() => {
  relay.heads.length = 0
  relay.unseen = 0
})

t.test('each override that a reply can hold is heeded', async (t) => {
  for (const override of ['guardedResponse', 'guardedHeaders'] as const) {
    relay.override = override
    const asked = {
      'without a body': () => world.post('/proxy', { method: 'GET', to: world.url('/large?bytes=200000') }),
      'with a body': () => world.post('/proxy', { to: world.url('/large?bytes=200000'), body: 'x' }),
      'a streamed body': () => upload(world.port, `https://dest.test:${receiver.port}/x`, ['a', 'b']),
      'an empty streamed body': () => upload(world.port, `https://dest.test:${receiver.port}/x`, []),
    }
    for (const [name, send] of Object.entries(asked)) {
      relay.heads.length = 0
      const { status, text } = await send()
      t.equal(status, 200, `${override}, ${name}`)
      if (name.includes('streamed')) t.match(text, /"bytes":/)
      else t.equal(text.length, 200_000, `${override}, ${name}`)
      t.equal(relay.heads.length, 1, `${override}, ${name}: the response came`)
    }
  }
  t.equal(relay.unseen, 0)
})
