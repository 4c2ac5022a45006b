import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAuthority } from '../kit/authority.ts'
import { listenFor } from '../kit/listen.ts'
import { root } from '../kit/sources.ts'

/** The exit code of the command, and what it said. */
const check = (env: Readonly<Record<string, string>>, ...args: string[]) =>
  new Promise<{ readonly code: number | null; readonly said: string }>((resolve) => {
    const command = [join(root, 'bin/healthcheck.js'), ...args]
    const child = execFile(process.execPath, command, { env }, (_error, _out, said) =>
      resolve({ code: child.exitCode, said }),
    )
  })

const listening = async (t: Test, server: Server): Promise<string> => `0.0.0.0:${await listenFor(t, server)}`

const responses: RequestListener = (request, response) => {
  response.statusCode = request.url === '/healthz' ? 200 : 503
  response.end()
}

t.test('the healthcheck command reports whether the service is healthy', async (t) => {
  const env = { SIDEVAULT_LISTEN: await listening(t, createServer(responses)) }
  t.strictSame(await check(env), { code: 0, said: '' })
  t.strictSame(await check(env, '/readyz'), { code: 1, said: '/readyz: status 503\n' })
})

t.test('the healthcheck uses TLS where the edge does', async (t) => {
  const { key, cert } = await (await createAuthority()).issue(['edge.example.com'])
  const env = { SIDEVAULT_LISTEN: await listening(t, createTlsServer({ key, cert }, responses)) }
  t.equal((await check({ ...env, SIDEVAULT_TLS_CERT: 'edge.pem' })).code, 0)
  t.equal((await check(env)).code, 1, 'and not otherwise')
})

t.test('a stopped service is unhealthy', async (t) => {
  const server = createServer()
  const address = await listening(t, server)
  server.close()
  t.match(await check({ SIDEVAULT_LISTEN: address }), { code: 1, said: /^\/healthz: / })
})

t.test('the healthcheck connects to the address of the edge', async (t) => {
  for (const [host, written] of [
    ['::1', '[::]'],
    ['::1', '[::1]'],
    ['127.0.0.1', '0.0.0.0'],
    ['127.0.0.1', 'localhost'],
    ['127.0.0.2', '127.0.0.2'],
  ] as const) {
    const server = createServer(responses)
    server.listen(0, host)
    const listens = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!listens) {
      t.comment(`this machine has no ${host}`)
      continue
    }
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    t.strictSame(await check({ SIDEVAULT_LISTEN: `${written}:${port}` }), { code: 0, said: '' }, written)
  }
})

t.test('the healthcheck connects to the listener of operators where there is one', async (t) => {
  const silent = createServer((_request, response) => response.writeHead(404).end())
  const env = { SIDEVAULT_LISTEN: await listening(t, silent) }
  t.equal((await check(env)).code, 1)
  const ops = await listening(t, createServer(responses))
  t.strictSame(await check({ ...env, SIDEVAULT_OPS_LISTEN: ops }), { code: 0, said: '' })
})

t.test('an empty variable of the certificate counts as unset', async (t) => {
  const env = { SIDEVAULT_LISTEN: await listening(t, createServer(responses)), SIDEVAULT_TLS_CERT: '' }
  t.strictSame(await check(env), { code: 0, said: '' })
})

t.test('the healthcheck reads the configuration file', async (t) => {
  const { key, cert } = await (await createAuthority()).issue(['edge.example.com'])
  const listen = await listening(t, createTlsServer({ key, cert }, responses))
  const dir = t.testdir({
    'good.yaml': `listen: ${listen}\ntls_cert: edge.pem\nbootstrap_key: !secret key_marker\n`,
    'bad.yaml': 'bootstrap_key: "key_marker',
  })
  t.strictSame(await check({ SIDEVAULT_CONFIG: join(dir, 'good.yaml') }), { code: 0, said: '' })
  t.strictSame(await check({ SIDEVAULT_CONFIG: join(dir, 'bad.yaml') }), {
    code: 1,
    said: '/healthz: the file of SIDEVAULT_CONFIG cannot be read\n',
  })
})
