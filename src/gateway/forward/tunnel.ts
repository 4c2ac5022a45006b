/** The identity of a tunnel on its way through Envoy: proven once by CONNECT, then part of each request inside. */
import { ATTRIBUTES } from '../../ext-proc/contract.ts'

/** Attributes of a stream's first message, from a listener of the forward proxy. */
export interface Origin {
  /** Values by the names of `ATTRIBUTES`. */
  readonly attributes: ReadonlyMap<string, string>
  /** Envoy does not send the body: a WebSocket's frames. */
  readonly isBodyUnread: boolean
}

/** What CONNECT was opened with. */
export interface Tunnel {
  /** API key of the caller, who is looked up again for each request. */
  readonly key: string
  /** Normalized. */
  readonly host: string
  readonly port: number
  /** Address of the client; undefined where addresses are not limited. */
  readonly address: string | undefined
}

const NO_ADDRESS = '-'

/** A tunnel as filter state. No member holds a blank. */
export const encodeTunnel = ({ key, host, port, address = NO_ADDRESS }: Tunnel): string =>
  `${host} ${port} ${address} ${key}`

/** Throws an Error for a request that came through no tunnel. */
export const tunnelOf = ({ attributes }: Origin): Tunnel => {
  const text = attributes.get(ATTRIBUTES.tunnel) ?? ''
  const [host, port, address, key, ...more] = text.split(' ')
  if (!host || !port || !address || !key || more.length > 0)
    throw new Error('a request inside a tunnel has no identity')
  return { host, port: Number(port), address: address === NO_ADDRESS ? undefined : address, key }
}

/** The host and port of a tunnel in the form of `Destination.authority`. */
export const authorityOf = ({ host, port }: Tunnel): string => (port === 443 ? host : `${host}:${port}`)

/** A host and port as sent, in the form of `Destination.authority`. */
export const normalizedAuthority = (authority: string): string =>
  authority
    .toLowerCase()
    .replace(/^([^:]+|\[[^\]]+\]):443$/, '$1')
    .replace(/\.(?=$|:)/, '')
