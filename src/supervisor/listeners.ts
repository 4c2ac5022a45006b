import type { Config, ListenAddress } from '../config.ts'
import type { Role } from './messages.ts'
import { claimPort } from './port.ts'

/** Where the processes of one supervisor listen, with the chosen ports. */
export interface Listeners {
  /** False: there is no Envoy, and the admin process itself listens at `listen`. */
  readonly edge: boolean
  readonly listen: ListenAddress
  /** Where the admin process itself listens. Undefined: only on its sockets. */
  readonly api: ListenAddress | undefined
  /** Where health, metrics and documentation are served. Undefined: with the management API. */
  readonly ops: ListenAddress | undefined
  /** Where the forward proxy listens. Undefined: there is none. */
  readonly forward: ListenAddress | undefined
  /** All ports of the service, those of other roles included. */
  readonly ports: readonly number[]
}

/** Checks that all addresses are free, and chooses a port for each 0. Throws StartError. */
export const claimListeners = async (config: Config, role: Role): Promise<Listeners> => {
  const api =
    role === 'gateway' || config.apiListen === undefined
      ? undefined
      : await claimPort(config.apiListen, 'api_listen')
  // The role admin with a listener of its own needs no Envoy.
  const edge = role !== 'admin' || api === undefined
  const listen = edge ? await claimPort(config.listen) : api
  const ops = config.opsListen && (await claimPort(config.opsListen, 'ops_listen'))
  // Only gateways decide about tunnels.
  const forward =
    role === 'admin' || config.forwardListen === undefined
      ? undefined
      : await claimPort(config.forwardListen, 'forward_listen')
  const apiPort = api?.port ?? config.apiListen?.port
  const forwardPort = forward?.port ?? config.forwardListen?.port
  const ports = [edge ? listen.port : undefined, apiPort, ops?.port, forwardPort].filter(
    (port) => port !== undefined,
  )
  return { edge, listen, api, ops, forward, ports }
}
