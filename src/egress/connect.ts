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
const responding =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_host, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, [...addresses])
    else callback(null, first!.address, first!.family)
  }

/**
 * Connects to addresses that were checked, and to no others (docs/security-model.md, "Egress"): a name is looked up once, what may not be
 * dialed is dropped from the answer, and the socket is given the rest. TLS ≥ 1.2, certificate and name verified.
 */
export const createConnect = ({
  trust,
  timeoutMs,
}: ConnectOptions): ((addresses: Addresses) => buildConnector.connector) => {
  const secureContext = createSecureContext({ ca: trust, minVersion: 'TLSv1.2' })

  const connectorTo = (addresses: readonly LookupAddress[]): buildConnector.connector =>
    buildConnector({
      secureContext,
      lookup: responding(addresses),
      timeout: timeoutMs,
      allowH2: false,
      rejectUnauthorized: true,
    })

  return (addresses) => (target, callback) => {
    const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80)
    addresses(target.hostname, port).then(
      (allowed) => connectorTo(allowed)(target, callback),
      (thrown: unknown) => callback(AppError.from(thrown), null),
    )
  }
}
