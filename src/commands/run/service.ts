/** What `sidevault run` asks of the service on this machine. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isObject } from '../../common/json.ts'
import { unixHttp } from '../../common/unix-http.ts'
import type { Config } from '../../config.ts'
import { type Role, socketsIn } from '../../supervisor/messages.ts'
import { StartError } from '../../supervisor/start-error.ts'
import { servedSockets } from '../running-service.ts'
import type { ProxyAddress } from './environment.ts'

/** Roles with a forward proxy, and roles that make keys. */
const PROXYING: readonly Role[] = ['all', 'gateway']
const ADMINISTERING: readonly Role[] = ['all', 'admin']

const TIMEOUT_MS = 10_000

const ask = async (socket: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) =>
  unixHttp(socket, method, path, { timeoutMs: TIMEOUT_MS, ...(body ? { body } : {}) }).catch(() => {
    throw new StartError('The service did not respond. Check its log, then retry.')
  })

/** The first DNS name of the edge's certificate, which clients verify. */
const nameIn = (path: string): string | undefined =>
  /DNS:([^*,\s]+)/.exec(new X509Certificate(readFileSync(path)).subjectAltName ?? '')?.[1]

const ANY: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

const off = () =>
  new StartError('The forward proxy is off. Set SIDEVAULT_FORWARD_LISTEN, e.g. 127.0.0.1:8090, and restart.')

/** Where the forward proxy listens, and the authorities of its certificates. */
export const forwardProxy = async (
  config: Config,
): Promise<{ readonly address: ProxyAddress; readonly caPem: string }> => {
  const [control] = await servedSockets(config.dataDir, PROXYING, 'control')
  const at = await ask(control, 'GET', '/forward-proxy')
  if (at.status !== 200) throw off()
  const { host, port } = JSON.parse(at.body) as { readonly host: string; readonly port: number }
  const ca = await ask(socketsIn(dirname(control), 1).api, 'GET', '/ca.pem')
  if (ca.status !== 200)
    throw new StartError(`/ca.pem responded with status ${ca.status}. See the service's log.`)
  const tls = config.tls !== undefined
  const name = config.tls === undefined ? undefined : nameIn(config.tls.certificate)
  return { address: { tls, host: name ?? ANY[host] ?? host, port }, caPem: ca.body }
}

export interface RunKey {
  readonly key: string
  /** ms until it ends, from its creation or its last renewal. */
  readonly endsInMs: number
  /** Rejects when it has ended. */
  renew(): Promise<void>
  remove(): Promise<void>
}

/** A new key of an application for one run. */
export const createRunKey = async (config: Config, applicationId: string): Promise<RunKey> => {
  const [operator] = await servedSockets(config.dataDir, ADMINISTERING, 'operator')
  const call = async (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => {
    const response = await ask(operator, method, path, body)
    const value: unknown = response.body === '' ? {} : JSON.parse(response.body)
    if (response.status < 400 && isObject(value)) return value
    throw new StartError(
      isObject(value) ? String(value.detail) : `The service responded with status ${response.status}.`,
    )
  }
  const made = await call('POST', '/run-keys', { application_id: applicationId })
  const path = `/run-keys/${made.tenant_id}/${made.id}`
  return {
    key: String(made.key),
    endsInMs: Number(made.ends_in_ms),
    renew: async () => void (await call('PUT', path)),
    remove: async () => void (await call('DELETE', path)),
  }
}
