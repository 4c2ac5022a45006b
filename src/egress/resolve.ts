import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP, isIPv6 } from 'node:net'
import { AppError, codeOf } from '../common/errors.ts'
import { addressesIn, withFamily } from './hosts-file.ts'

/** All addresses of a name, or the address itself. Rejects with `destination_unreachable`, also after four seconds. */
export type Resolve = (host: string, signal?: AbortSignal) => Promise<readonly LookupAddress[]>

const TIMEOUT_MS = 4_000
const HOSTS_FILE = '/etc/hosts'

const unreachable = (cause?: unknown) =>
  new AppError('destination_unreachable', "The destination's name was not found. Check the URL.", { cause })

const unknownName = (thrown: unknown): boolean => /^(ENOTFOUND|ENODATA|ENODOMAIN)$/.test(codeOf(thrown))

/**
 * Resolves with the given name servers, otherwise with the hosts file and the name servers of this machine. Not with
 * `getaddrinfo`, which shares four threads among all callers and cannot be cancelled. As in Envoy, search domains are
 * ignored.
 */
export const createResolve = (
  servers: readonly { readonly address: string; readonly port: number }[],
): Resolve => {
  const ask = async (host: string, signal: AbortSignal): Promise<readonly LookupAddress[]> => {
    if (servers.length === 0) {
      const known = addressesIn(await readFile(HOSTS_FILE, 'utf8').catch(() => ''), host)
      if (known.length > 0) return known
    }
    // `cancel` cancels all queries of a resolver, so each name has its own.
    const resolver = new Resolver({ timeout: TIMEOUT_MS / 2, tries: 2 })
    if (servers.length > 0)
      resolver.setServers(
        servers.map(({ address, port }) => (isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`)),
      )
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    const asked = Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    if (signal.aborted) cancel()
    const [four, six] = await asked
    signal.removeEventListener('abort', cancel)
    const addresses = [four, six].flatMap((reply) => (reply.status === 'fulfilled' ? reply.value : []))
    if (addresses.length === 0 && four.status === 'rejected') throw four.reason
    return withFamily(addresses)
  }

  return async (host, signal) => {
    const family = isIP(host)
    if (family !== 0) return [{ address: host, family }]
    const deadline = AbortSignal.timeout(TIMEOUT_MS)
    try {
      const addresses = await ask(host, signal === undefined ? deadline : AbortSignal.any([signal, deadline]))
      if (addresses.length > 0) return addresses
    } catch (thrown) {
      throw unknownName(thrown) ? unreachable() : unreachable(thrown)
    }
    throw unreachable()
  }
}
