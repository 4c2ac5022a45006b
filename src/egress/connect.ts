import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { createSecureContext } from 'node:tls'
import { buildConnector } from 'undici'
import { AppError } from '../common/errors.ts'
import type { Addresses } from './addresses.ts'

interface ConnectOptions {
  /** PEM of the authorities trusted for destinations. */
  readonly trust: string
  /** Timeout of a connection, ms. */
  readonly timeoutMs: number
}

/** A lookup function that returns these addresses. */
const lookupOf =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_host, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, [...addresses])
    else callback(null, first!.address, first!.family)
  }

/**
 * Connects only to checked addresses (docs/security-model.md, "Egress"): a name is resolved once, denied addresses are
 * dropped, and the socket uses the others. TLS ≥ 1.2, certificate and name verified.
 */
export const createConnect = ({
  trust,
  timeoutMs,
}: ConnectOptions): ((addresses: Addresses) => buildConnector.connector) => {
  const secureContext = createSecureContext({ ca: trust, minVersion: 'TLSv1.2' })

  const connectorTo = (addresses: readonly LookupAddress[]): buildConnector.connector =>
    buildConnector({
      secureContext,
      lookup: lookupOf(addresses),
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
