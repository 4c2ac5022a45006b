/** Webhooks of a program whose admin process is killed. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startReceivers } from '../kit/post-receiver.ts'
import { startSidevault } from '../kit/sidevault.ts'
import { descendants, until } from '../supervisor/processes.ts'

const { startReceiver, outbound } = await startReceivers(t)

t.test('every token that was created is delivered, also when the process is killed', async (t) => {
  const receiver = await startReceiver(t, [0, 500, 500])
  const ca = join(t.testdir(), 'ca.pem')
  writeFileSync(ca, outbound.trust)
  const sidevault = await startSidevault({
    env: {
      SIDEVAULT_EGRESS_ALLOW: outbound.allow.join(),
      SIDEVAULT_EGRESS_PORTS: outbound.ports,
      SIDEVAULT_EGRESS_DNS: `127.0.0.1:${outbound.resolvers[0].port}`,
      SIDEVAULT_EGRESS_CA: ca,
    },
  })
  t.teardown(() => sidevault.stop())
  const { call, managementKey } = sidevault
  const key = await sidevault.application({ permissions: ['token:create'] })
  const body = { name: 'W', url: receiver.url, events: ['token.created'] }
  t.equal((await call('POST', '/webhooks', { key: managementKey, body })).status, 201)
  const created: string[] = []
  const create = async () => {
    const { status, json } = await call('POST', '/tokens', { key, body: { data: 'secret' } })
    if (status === 201) created.push(json.id)
    return status
  }
  const admin = () =>
    descendants(sidevault.pid).find(({ command }) => command.includes('sidevault: admin'))?.pid ?? 0
  for (let count = 0; count < 20; count++) await create()
  await receiver.arrived(1)
  const before = admin()
  process.kill(before, 'SIGKILL')
  await until('the next process', () => ![0, before].includes(admin()))
  await until('it creates tokens', async () => (await create()) === 201)
  const events = () => receiver.posts.map(({ text }) => JSON.parse(text).event)
  const delivered = () => new Set(events().map(({ data }) => data.token.id))
  await until('all are delivered', () => delivered().size === created.length)
  t.strictSame([...delivered()].sort(), created.sort())
  const ids = events().map(({ id, data }) => `${id} ${data.token.id}`)
  t.equal(new Set(ids).size, created.length, 'a repetition has the same id')
})
