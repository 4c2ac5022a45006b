import { execFile } from 'node:child_process'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
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
