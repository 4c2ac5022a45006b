/**
 * Hosts in the canonical form of the WHATWG URL parser. Envoy gets this form, never the caller's, because the two parse
 * some hosts differently (`0177.0.0.1` is 127.0.0.1 here and 177.0.0.1 in Envoy).
 */
import { isIP } from 'node:net'
import type { Cidr } from '../common/cidr.ts'
import { AppError } from '../common/errors.ts'
import { holds } from './cidr.ts'

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
const NAME_LENGTH = 253

export interface AddressPolicy {
  /** Blocks outside the public internet that the operator allows. */
  readonly allow: readonly Cidr[]
}

const forbidden = (detail: string) => new AppError('destination_not_allowed', detail)

/** An IPv6 address without the brackets that it has in URLs; any other host unchanged. */
export const withoutBrackets = (host: string): string =>
  host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host

/** Whether a lower-case name without a final dot is one of DNS. */
export const isDnsName = (name: string): boolean =>
  name.length <= NAME_LENGTH && name.split('.').every((label) => LABEL.test(label))

const isLoopbackName = (name: string) => name === 'localhost' || name.endsWith('.localhost')

/**
 * The host for Envoy: a lower-case DNS name without a final dot, or an address literal (IPv6 in brackets) in an allowed
 * block. Throws `invalid_destination` if it is not a name, `destination_not_allowed` if it is not allowed. Envoy checks
 * the addresses that a name resolves to (egress/envoy-filter.ts).
 */
export const checkHost = (hostname: string, { allow }: AddressPolicy): string => {
  const bare = withoutBrackets(hostname)
  if (isIP(bare) !== 0) {
    if (!holds(allow, bare))
      throw forbidden(
        'The destination is an IP address. Use a DNS name, or ask the operator to allow its network.',
      )
    return hostname
  }
  const name = bare.endsWith('.') ? bare.slice(0, -1) : bare
  if (!isDnsName(name))
    throw new AppError('invalid_destination', "The destination's host is not a DNS name. Check the URL.")
  if (isLoopbackName(name) && !holds(allow, '127.0.0.1') && !holds(allow, '::1'))
    throw forbidden(
      'The destination is this machine. Use a public DNS name, or ask the operator to allow it.',
    )
  if (!name.includes('.') && !isLoopbackName(name) && allow.length === 0)
    throw forbidden('The destination is a name without a domain. Use its full DNS name.')
  return name
}
