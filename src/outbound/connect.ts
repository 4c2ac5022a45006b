import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { createSecureContext } from 'node:tls'
import { buildConnector } from 'undici'
import { AppError } from '../common/errors.ts'
import type { Addresses } from './addresses.ts'

export interface ConnectOptions {
  /** PEM of the authorities trusted for destinations. */
  readonly trust: string
  /** Milliseconds until a connection stands. */
  readonly timeoutMs: number
}

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
export const createConnect = (
  addresses: Addresses,
  { trust, timeoutMs }: ConnectOptions,
): buildConnector.connector => {
  const secureContext = createSecureContext({ ca: trust, minVersion: 'TLSv1.2' })

  const connectorFor = async (hostname: string, port: number): Promise<buildConnector.connector> => {
    const allowed = await addresses(hostname, port)
    return buildConnector({
      secureContext,
      lookup: answering(allowed),
      timeout: timeoutMs,
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
