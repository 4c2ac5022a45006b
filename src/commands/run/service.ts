/** Calls of `sidevault run` to the service on this machine. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isObject } from '../../common/json.ts'
import type { Config, ListenAddress } from '../../config.ts'
import { localHost } from '../../supervisor/base-url.ts'
import { type Role, socketsIn } from '../../supervisor/messages.ts'
import { StartError } from '../../supervisor/start-error.ts'
import { callService, resultOf, servedSockets } from '../running-service.ts'
import type { ProxyAddress } from './environment.ts'

/** Roles with a forward proxy, and roles that create keys. */
const PROXYING: readonly Role[] = ['all', 'gateway']
const ADMINISTERING: readonly Role[] = ['all', 'admin']

const TIMEOUT_MS = 10_000

/** The first DNS name of the edge's certificate, which clients verify. */
const nameIn = (path: string): string | undefined =>
  /DNS:([^*,\s]+)/.exec(new X509Certificate(readFileSync(path)).subjectAltName ?? '')?.[1]

const off = () =>
  new StartError('The forward proxy is off. Set SIDEVAULT_FORWARD_LISTEN, e.g. 127.0.0.1:8090, and restart.')

/** Where the forward proxy listens, and the authorities of its certificates. */
export const forwardProxy = async (
  config: Config,
): Promise<{ readonly address: ProxyAddress; readonly caPem: string }> => {
  const [control] = await servedSockets(config.dataDir, PROXYING, 'control')
  const listener = await callService(control, 'GET', '/forward-proxy', { timeoutMs: TIMEOUT_MS })
  if (listener.status !== 200) throw off()
  const { host, port } = JSON.parse(listener.body) as ListenAddress
  const { api } = socketsIn(dirname(control), 1)
  const ca = await callService(api, 'GET', '/ca.pem', { timeoutMs: TIMEOUT_MS })
  if (ca.status !== 200)
    throw new StartError(`/ca.pem responded with status ${ca.status}. See the service's log.`)
  const tls = config.tls !== undefined
  const name = config.tls === undefined ? undefined : nameIn(config.tls.certificate)
  return { address: { tls, host: name ?? localHost(host), port }, caPem: ca.body }
}

interface RunKey {
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
    const options = { timeoutMs: TIMEOUT_MS, ...(body ? { body } : {}) }
    return resultOf(await callService(operator, method, path, options))
  }
  const created = await call('POST', '/run-keys', { application_id: applicationId })
  const { tenant_id, id, key, ends_in_ms } = isObject(created) ? created : {}
  const path = `/run-keys/${tenant_id}/${id}`
  return {
    key: String(key),
    endsInMs: Number(ends_in_ms),
    renew: async () => void (await call('PUT', path)),
    remove: async () => void (await call('DELETE', path)),
  }
}
