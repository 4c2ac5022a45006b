import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { acquireLock } from '../../../src/store/postgres/advisory-lock.ts'
import { postgresMissing, queryPostgres } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { silent } from '../kit.ts'
import { aServer } from './kit.ts'

t.test(
  'a lock that was granted in a lost response is not taken for that of another process',
  { skip: postgresMissing({ own: true }) },
  async (t) => {
    const server = await aServer(t, { own: true })
    const address = new URL(await newVaultDatabase(server))
    /** Attempts to lock: the second gets no response, and its backend lives until the third has one. */
    const attempts: { readonly client: Socket; readonly backend: Socket }[] = []
    let responses = 0
    const proxy = createServer((client) => {
      const backend = connect(`${server.socketDirectory}/.s.PGSQL.5432`)
      let attempt = 0
      client.on('data', (data) => {
        if (data.includes('pg_try_advisory_lock')) attempt = attempts.push({ client, backend })
        backend.write(data)
      })
      backend.on('data', (data) => {
        if (attempt === 2) return void client.destroy()
        client.write(data)
        if (attempt === 3 && ++responses === 2) attempts[1]?.backend.destroy()
        if (attempt > 3) proxy.emit('retried')
      })
      client.on('close', () => attempt === 2 || backend.destroy())
      backend.on('close', () => client.destroy())
      for (const socket of [client, backend]) socket.on('error', () => {})
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    t.teardown(() => proxy.close())
    const { port } = proxy.address() as AddressInfo
    Object.assign(address, { hostname: '127.0.0.1', port: String(port), search: '?sslmode=disable' })

    let isLocked = false
    const onLocked = () => {
      isLocked = true
      proxy.emit('retried')
    }
    const lock = await acquireLock({ log: silent }, 'name', { address: address.href, onLocked })
    const retried = once(proxy, 'retried')
    // The first backend has released the lock when its socket closes; the second attempt is granted it.
    await queryPostgres(
      server.admin,
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sidevault'",
    )
    await retried
    t.notOk(isLocked)
    await lock?.release()
  },
)
