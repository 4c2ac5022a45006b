/** A machine vanishes during a transaction: it sends nothing more, not even the end of its connections. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { USUAL } from '../../../src/store/postgres/pool.ts'
import { type PostgresServer, postgresMissing } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { aLog } from '../kit.ts'
import { aServer, aStore } from './kit.ts'

/** A network path to the server until data of a client contains `last`: from there on it forwards nothing. */
const silentFrom = async (t: Test, server: PostgresServer, last: string) => {
  const silent = Promise.withResolvers<void>()
  const sockets: Socket[] = []
  let gone = false
  const proxy = createServer((client) => {
    const there = connect(`${server.socketDirectory}/.s.PGSQL.5432`)
    client.on('data', (data) => {
      if (data.includes(last)) {
        gone = true
        silent.resolve()
      }
      if (!gone) there.write(data)
    })
    there.on('data', (data) => gone || client.write(data))
    for (const socket of [client, there]) socket.on('error', () => {})
    there.on('close', () => client.destroy())
    sockets.push(client, there)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const close = () => {
    proxy.close()
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(close)
  return { port: (proxy.address() as AddressInfo).port, silent: silent.promise, close }
}

t.test(
  'the locks of a machine that vanished are released for others',
  { skip: postgresMissing({ own: true }) },
  async (t) => {
    const server = await aServer(t, { own: true })
    const address = await newVaultDatabase(server)
    const other = await aStore(t, address)
    const { port, silent, close } = await silentFrom(t, server, 'insert into "logs"')
    const through = new URL(address)
    Object.assign(through, { hostname: '127.0.0.1', port: String(port), search: '?sslmode=disable' })
    const postgres = { ...USUAL, connections: 2, idleMs: 300 }
    const vanishing = await aStore(t, through.href, { mode: 'join', postgres })
    const lost = vanishing.logs.ingest([aLog(1, { journal: 'one' })]).catch(() => undefined)
    await silent
    t.equal(await other.logs.ingest([aLog(1, { journal: 'other' })]), undefined)
    t.match(await other.logs.position('other'), { seq: 1 })
    close()
    await lost
  },
)
