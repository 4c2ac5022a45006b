import { once } from 'node:events'
import t from 'tap'
import { envoyKind } from '../../src/supervisor/envoy.ts'
import { silentLog } from '../kit/egress.ts'

t.test("an error of the pipe with Envoy's log is a log line, and ends nothing", async (t) => {
  const warned = Promise.withResolvers<unknown>()
  const log = { ...silentLog(), warn: (text: unknown) => warned.resolve(text) }
  const child = envoyKind({
    binary: process.execPath,
    configFile: 'envoy.json',
    adminSocket: 'envoy.sock',
    log,
    isEnding: () => false,
  }).spawn()
  const exited = once(child, 'exit')
  child.stderr?.destroy(new Error('read ECONNRESET'))
  t.match(await warned.promise, /log.*read ECONNRESET/)
  child.kill('SIGKILL')
  await exited
})
