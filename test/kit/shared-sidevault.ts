import { join } from 'node:path'
import { unixHttp } from '../../src/common/unix-http.ts'
import { socketsIn } from '../../src/supervisor/messages.ts'
import { atProcessEnd } from './process-end.ts'
import { applicationBy, freePort, type Sidevault, startSidevault } from './sidevault.ts'

/** A program that other test files use too: it is not theirs to stop, and its output holds that of all. */
export type SharedSidevault = Omit<Sidevault, 'process' | 'stop' | 'kill'>

export const forwardPort = await freePort()

const apiPort = await freePort()

/** The management API of that program, without Envoy. */
export const API_URL = `http://127.0.0.1:${apiPort}`

/** Settings of a program with a forward proxy on `forwardPort`, and the management API at `API_URL` too. */
export const FORWARD_PROXY = {
  SIDEVAULT_FORWARD_LISTEN: `127.0.0.1:${forwardPort}`,
  SIDEVAULT_API_LISTEN: `127.0.0.1:${apiPort}`,
}

const running = new Map<string, Promise<Sidevault>>()

const started = (env: Readonly<Record<string, string>>): Promise<Sidevault> => {
  const settings = JSON.stringify(env)
  const known = running.get(settings)
  if (known !== undefined) return known
  const starting = startSidevault({ env })
  running.set(settings, starting)
  atProcessEnd(async () => void (await (await starting).stop()))
  return starting
}

/** A tenant of its own in a program that all test files of this process with these settings share. */
export const sharedSidevault = async (
  env: Readonly<Record<string, string>> = {},
): Promise<SharedSidevault> => {
  const { url, port, dataDir, pid, stdout, stderr, call } = await started(env)
  const socket = join(dataDir, socketsIn('run', 1).operator)
  const created = await unixHttp(socket, 'POST', '/tenants', { body: { name: 'Of a test file' } })
  const { key } = JSON.parse(created.body) as { key: string }
  return {
    url,
    port,
    dataDir,
    pid,
    stdout,
    stderr,
    call,
    managementKey: key,
    application: applicationBy(call, key),
  }
}
