import type { LookupAddress } from 'node:dns'
import { isIPv6 } from 'node:net'
import { parseCidr } from '../common/cidr.ts'
import { AppError } from '../common/errors.ts'
import { withoutBrackets } from './address.ts'
import { holds } from './cidr.ts'
import { deniedRanges, type OwnListener } from './envoy-filter.ts'
import type { Resolve } from './resolve.ts'

interface AddressRules {
  /** CIDR blocks outside the public internet that may be dialed. */
  readonly allow: readonly string[]
  /** This gateway's own listeners. Never dialed. */
  readonly own: OwnListener | undefined
}

/** The addresses of a host that may be dialed at a port, at least one. An IPv6 host may be in brackets. */
export type Addresses = (
  hostname: string,
  port: number,
) => Promise<readonly [LookupAddress, ...LookupAddress[]]>

/**
 * Resolves a name once and drops denied addresses (docs/security-model.md, "Egress"). Rejects with
 * `destination_unreachable` if the name is not found, `destination_not_allowed` if all addresses are denied.
 */
export const createAddresses = (resolve: Resolve, { allow, own }: AddressRules): Addresses => {
  const denied = deniedRanges(allow)
  const ownAddresses = own?.addresses.map(parseCidr) ?? []
  const mayDial = (address: string, port: number): boolean =>
    !holds(denied, address) && !(own?.ports.includes(port) && holds(ownAddresses, address))

  return async (hostname, port) => {
    const [first, ...others] = (await resolve(withoutBrackets(hostname))).filter(({ address }) =>
      mayDial(address, port),
    )
    if (first === undefined)
      throw new AppError(
        'destination_not_allowed',
        'The destination has no address that this gateway may call. Use a public one, or ask the operator to allow its network.',
      )
    return [first, ...others]
  }
}

/** The address to dial, with its port, in Envoy's format. IPv4 is preferred. */
export const dialed = async (addresses: Addresses, hostname: string, port: number): Promise<string> => {
  const all = await addresses(hostname, port)
  const { address } = all.find(({ family }) => family === 4) ?? all[0]
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`
}
