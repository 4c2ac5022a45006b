import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { freePort } from '../kit/sidevault.ts'
import { start } from './start.ts'

const script = fileURLToPath(new URL('../../bin/sidevault.js', import.meta.url))
const MANAGEMENT_KEY = 'key_6vZtXqW9sLr2YpN4mHd8cKf1RbJg7TuE'
const DRAIN_SECONDS = 4

/** Opens a request whose body never ends. */
const openRequest = async (port: number): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  const head = ['POST /tokens HTTP/1.1', 'Host: a.test', `SVC-API-KEY: ${MANAGEMENT_KEY}`]
  const body = ['Content-Type: application/json', 'Content-Length: 100', 'Expect: 100-continue', '', '{']
  socket.write([...head, ...body].join('\r\n'))
  // It has arrived.
  await once(socket, 'data')
  return socket
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

t.test('the edge and the direct listener drain at once, within the reloaded drain time', async (t) => {
  const directory = directoryFor(t)
  const file = join(directory, 'sidevault.json')
  const configure = (drain_seconds: number) => writeFileSync(file, JSON.stringify({ drain_seconds }))
  configure(600)
  const apiPort = await freePort()
  const env = {
    SIDEVAULT_CONFIG: file,
    SIDEVAULT_BOOTSTRAP_KEY: MANAGEMENT_KEY,
    SIDEVAULT_API_LISTEN: `127.0.0.1:${apiPort}`,
  }
  const dataDir = join(directory, 'data')
  const service = await start(dataDir, { env })
  t.teardown(() => service.child.kill('SIGKILL'))
  configure(DRAIN_SECONDS)
  const { PATH } = process.env
  await new Promise<void>((resolve, reject) =>
    execFile(
      process.execPath,
      [script, 'reload'],
      { env: { ...env, PATH, SIDEVAULT_DATA_DIR: dataDir } },
      (error) => (error ? reject(error) : resolve()),
    ),
  )
  const [edge, direct] = await Promise.all([openRequest(service.port), openRequest(apiPort)])
  const stopped = service.stop()
  while (await accepts(apiPort)) await setTimeout(20)
  t.notOk(edge.closed, 'the direct listener does not wait for the edge')
  t.notOk(direct.closed, 'and lets its requests finish')
  t.equal(await stopped, 0)
})
