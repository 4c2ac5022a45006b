import { chownSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../../src/config.ts'
import { createAuthority } from '../../kit/authority.ts'
import { directoryFor } from '../../kit/directory.ts'
import { postgresMissing, queryPostgres } from '../../kit/postgres.ts'
import { findPostgres } from '../../kit/postgres-binaries.ts'
import { freePort } from '../../kit/sidevault.ts'
import { until } from '../../supervisor/processes.ts'
import { aToken, NOW } from '../kit.ts'
import { aServer, aStore } from './kit.ts'

t.test('PostgreSQL over TLS', { skip: postgresMissing({ own: true }) }, async (t) => {
  const directory = directoryFor(t)
  const binaries = findPostgres()
  const { uid, gid } = typeof binaries === 'string' ? {} : binaries.runner
  /** A file as the server wants its key: readable by its owner only. */
  const file = (name: string, text: string): string => {
    const path = join(directory, name)
    writeFileSync(path, text, { mode: 0o600 })
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
    return path
  }
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid)
  const authority = await createAuthority()
  const certificate = await authority.issue(['localhost'])
  const ca = file('ca.pem', authority.pem)
  const otherCa = file('other.pem', (await createAuthority('Another authority')).pem)
  const port = await freePort()
  const server = await aServer(t, {
    own: true,
    settings: {
      listen_addresses: '127.0.0.1',
      port: String(port),
      ssl: 'on',
      ssl_cert_file: file('server.pem', certificate.cert),
      ssl_key_file: file('server.key', certificate.key),
    },
  })
  const bySocket = await server.database()
  /** As the configuration has it. */
  const address = (host: string, parameters: Readonly<Record<string, string>>): string => {
    const url = new URL(bySocket)
    url.hostname = host
    url.port = String(port)
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return loadConfig({ SIDEVAULT_STORE: url.href }).postgres?.reveal() ?? ''
  }
  const verified = { sslmode: 'verify-full', sslrootcert: ca }

  await t.test(
    'a server with a certificate of the authority is used, with TLS on every connection',
    async (t) => {
      const store = await aStore(t, address('localhost', verified))
      await store.tokens.create([aToken({ id: 'sent' })], NOW)
      t.equal((await store.tokens.read('tenant-a', ['sent'], NOW)).length, 1)
      const plain = await queryPostgres(
        server.admin,
        "select 1 from pg_stat_activity join pg_stat_ssl using (pid) where application_name = 'sidevault' and not ssl",
      )
      t.strictSame(plain, [])
    },
  )

  for (const [what, host, parameters, message] of [
    [
      'of an authority that is not trusted',
      'localhost',
      { sslmode: 'verify-full' },
      /sslrootcert=<PEM file>/,
    ],
    ['of another authority', 'localhost', { ...verified, sslrootcert: otherCa }, /sslrootcert=<PEM file>/],
    ['under another name', '127.0.0.1', verified, /for another host name/],
  ] as const)
    await t.test(`a server ${what} is rejected at once, with a fix`, async (t) => {
      await t.rejects(aStore(t, address(host, parameters)), { code: 'gateway_timeout', message })
    })

  await t.test(
    'a certificate file removed or damaged while the store runs keeps its former content',
    async (t) => {
      const own = file('own.pem', authority.pem)
      const store = await aStore(t, address('localhost', { ...verified, sslrootcert: own }))
      const read = async () => store.tokens.read('tenant-a', ['any'], NOW)
      for (const damage of [() => rmSync(own), () => writeFileSync(own, 'half of a cert')]) {
        await read()
        damage()
        await queryPostgres(
          server.admin,
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sidevault'",
        )
        // More than there are connections: those that wait are given new ones.
        await Promise.allSettled(Array.from({ length: 50 }, read))
        await until('it is connected again', () =>
          read().then(
            () => true,
            () => false,
          ),
        )
      }
    },
  )

  await t.test('a missing certificate file is an issue of the settings', async (t) => {
    t.throws(() => address('localhost', { ...verified, sslrootcert: 'missing.pem' }), {
      message: /missing\.pem" cannot be read/,
    })
  })
})

t.test(
  'a server without TLS is rejected, never used in clear text',
  { skip: postgresMissing({ own: true }) },
  async (t) => {
    const port = await freePort()
    const server = await aServer(t, {
      own: true,
      settings: { listen_addresses: '127.0.0.1', port: String(port) },
    })
    const url = new URL(await server.database())
    url.hostname = 'localhost'
    url.port = String(port)
    url.searchParams.set('sslmode', 'verify-full')
    await t.rejects(aStore(t, url.href), { code: 'gateway_timeout', message: /does not support TLS/ })
  },
)
