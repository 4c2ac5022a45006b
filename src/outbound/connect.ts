import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { createSecureContext } from 'node:tls'
import { buildConnector } from 'undici'
import { AppError } from '../common/errors.ts'
import { deniedRanges, type OwnListener } from '../control-plane/egress-guard.ts'
import { holds, parseCidr } from '../control-plane/ranges.ts'
import type { Resolve } from './resolve.ts'

export interface ConnectOptions {
  /** CIDR blocks outside the public internet that may be dialed. */
  readonly allow: readonly string[]
  /** Where this gateway listens itself; never dialed. */
  readonly own: OwnListener | undefined
  /** PEM of the authorities trusted for destinations. */
  readonly trust: string
  /** Milliseconds until a connection stands. */
  readonly timeoutMs: number
}

const bare = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')

/** Hands out addresses that were looked up before. */
const answering =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_host, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, [...addresses])
    else callback(null, first!.address, first!.family)
  }

/**
 * Connects to addresses that were checked, and to no others (DESIGN §7.5): a name is looked up once, what may not be
 * dialed is dropped from the answer, and the socket is given the rest. TLS ≥ 1.2, certificate and name verified.
 */
export const createConnect = (resolve: Resolve, options: ConnectOptions): buildConnector.connector => {
  const denied = deniedRanges(options.allow)
  const own = options.own?.addresses.map(parseCidr) ?? []
  const secureContext = createSecureContext({ ca: options.trust, minVersion: 'TLSv1.2' })

  const mayDial = (address: string, port: number): boolean =>
    !holds(denied, address) && !(port === options.own?.port && holds(own, address))

  const connectorFor = async (hostname: string, port: number): Promise<buildConnector.connector> => {
    const addresses = await resolve(bare(hostname))
    const allowed = addresses.filter(({ address }) => mayDial(address, port))
    if (allowed.length === 0)
      throw new AppError(
        'destination_forbidden',
        'The destination has no address that this gateway calls. Use a public one, or ask its operator to allow its network.',
      )
    return buildConnector({
      secureContext,
      lookup: answering(allowed),
      timeout: options.timeoutMs,
      allowH2: false,
      rejectUnauthorized: true,
    })
  }

  return (target, callback) => {
    const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80)
    connectorFor(target.hostname, port).then(
      (connect) => connect(target, callback),
      (thrown: unknown) => callback(AppError.from(thrown), null),
    )
  }
}
