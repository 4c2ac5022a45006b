/** Envoys of other platforms beside Sidevault, from the files that the guide shows (docs/guides/mesh.md). */
import { readFileSync, writeFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { parse } from 'yaml'
import { directoryFor, type Owner } from './directory.ts'
import { type RunningEnvoy, runEnvoy } from './envoy.ts'
import { freePort } from './sidevault.ts'
import { root } from './sources.ts'

/** Name of Sidevault in these files. */
export const SIDEVAULT = 'sidevault.vault.svc'

const ADDRESS = /address: sidevault\.vault\.svc, port_value: \d+/
const LISTENER = /address: 127\.0\.0\.1, port_value: \d+/
const AUTHORITY = '/etc/sidevault-edge/ca.crt'

const replaced = (text: string, part: string | RegExp, by: string) => {
  if (text.search(part) < 0) throw new Error(`the file has no ${part}`)
  return text.replace(part, by)
}

/**
 * Runs an Envoy of a file of examples/mesh/ with the ports of this test, and nothing else changed. `sidevault`: the
 * port that stands for the one at `SIDEVAULT`; `authority`: PEM of the authority of its certificate.
 */
export const startMeshEnvoy = async (
  t: Owner,
  file: string,
  { sidevault, authority, env }: { sidevault: number; authority: string; env?: Record<string, string> },
): Promise<RunningEnvoy> => {
  const directory = directoryFor(t)
  writeFileSync(join(directory, 'ca.crt'), authority)
  const port = await freePort()
  let text = readFileSync(join(root, 'examples/mesh', file), 'utf8')
  text = replaced(text, ADDRESS, `address: 127.0.0.1, port_value: ${sidevault}`)
  text = replaced(text, LISTENER, `address: 127.0.0.1, port_value: ${port}`)
  text = replaced(text, AUTHORITY, join(directory, 'ca.crt'))
  return startForeignEnvoy(t, parse(text), { directory, port, ...(env && { env }) })
}

/** Runs an Envoy with this bootstrap until the test ends. */
export const startForeignEnvoy = async (
  t: Owner,
  bootstrap: object,
  { directory, port, env }: { directory: string; port: number; env?: Record<string, string> },
): Promise<RunningEnvoy> => {
  const admin = { address: { pipe: { path: 'envoy.sock' } } }
  const envoy = await runEnvoy(directory, { ...bootstrap, admin }, port, env)
  t.teardown(() => envoy.stop())
  return envoy
}

/** Whether this is a response with its whole body. */
const isComplete = (text: string): boolean => {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const head = text.slice(0, end).toLowerCase()
  const body = text.slice(end + 4)
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
  if (length !== undefined) return body.length >= Number(length)
  return head.includes('\r\ntransfer-encoding: chunked') && body.endsWith('0\r\n\r\n')
}

/** Sends bytes to a port, and resolves with what comes back: a response, or all until the connection is closed. */
export const sendBytes = async (
  port: number,
  bytes: string,
  end: 'response' | 'close' = 'response',
): Promise<string> => {
  const socket = connectTcp(port, '127.0.0.1')
  socket.on('error', () => {})
  let text = ''
  const ended = Promise.withResolvers<void>()
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    if (end === 'response' && isComplete(text)) ended.resolve()
  })
  socket.on('close', () => ended.resolve())
  socket.write(bytes, 'latin1')
  await ended.promise
  socket.destroy()
  return text
}
