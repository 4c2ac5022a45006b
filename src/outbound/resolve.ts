import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { isIP, isIPv6 } from 'node:net'
import { AppError } from '../common/errors.ts'

/** Every address of a name; of an address, itself. Fails with `destination_unreachable`. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

const TIMEOUT = 3_000
const TRIES = 2

const unreachable = (cause?: unknown) =>
  new AppError('destination_unreachable', "The destination's name was not found. Check the URL.", { cause })

const unknownName = (thrown: unknown): boolean =>
  thrown instanceof Error && 'code' in thrown && /^(ENOTFOUND|ENODATA|ENODOMAIN)$/.test(String(thrown.code))

/** By the name servers given, else as this machine resolves names. */
export const createResolve = (
  servers: readonly { readonly address: string; readonly port: number }[],
): Resolve => {
  const resolver = new Resolver({ timeout: TIMEOUT, tries: TRIES })
  if (servers.length > 0)
    resolver.setServers(
      servers.map(({ address, port }) => (isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`)),
    )

  const ask = async (host: string): Promise<readonly LookupAddress[]> => {
    if (servers.length === 0) return lookup(host, { all: true })
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = [
      ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
      ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
    ]
    if (addresses.length === 0 && four.status === 'rejected') throw four.reason
    return addresses
  }

  return async (host) => {
    const family = isIP(host)
    if (family !== 0) return [{ address: host, family }]
    try {
      const addresses = await ask(host)
      if (addresses.length > 0) return addresses
    } catch (thrown) {
      throw unknownName(thrown) ? unreachable() : unreachable(thrown)
    }
    throw unreachable()
  }
}
