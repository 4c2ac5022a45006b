import { readFile } from 'node:fs/promises'
import type { Config } from '../config.ts'
import { ADDRESSES_MS, hasNewAddress, machineAddresses } from '../control-plane/options.ts'
import { createAddresses, dialed } from '../egress/addresses.ts'
import { createDestinationCheck } from '../egress/check-destination.ts'
import type { Outbound } from '../egress/fetch.ts'
import { createResolve } from '../egress/resolve.ts'
import { trustBundle as makeTrustBundle } from '../egress/trust-bundle.ts'

export interface Egress {
  readonly fetch: Outbound['fetch']
  /** Throws `invalid_destination` or `destination_not_allowed`. */
  readonly checkDestination: (url: string) => void
  /**
   * The address to dial for a host, `<address>:<port>`. Rejects with `destination_not_allowed`,
   * `destination_unreachable`.
   */
  readonly dial: (host: string, port: number) => Promise<string>
  /** Applies new settings. Running requests end under the old ones. */
  reload(config: Config, trustBundle: string): Promise<void>
  close(): Promise<void>
}

/**
 * Egress of this process and of sandboxed code. Trusts the authorities of the PEM file `trustBundle`, or without it
 * those of the configuration. Rejects if they cannot be read.
 */
export const openEgress = async (
  config: Config,
  {
    ports,
    trustBundle,
    addressesMs = ADDRESSES_MS,
  }: {
    readonly ports: readonly number[]
    readonly trustBundle: string | undefined
    /** ms between two checks for new addresses of this machine. */
    readonly addressesMs?: number
  },
): Promise<Egress> => {
  const own = () => ({ addresses: machineAddresses(), ports })
  const read = async ({ egress, destinationTimeoutMs: timeoutMs }: Config, bundle: string | undefined) => ({
    egress,
    trust: await (bundle === undefined ? makeTrustBundle(egress.ca) : readFile(bundle, 'utf8')),
    own: own(),
    timeoutMs,
  })
  type Options = Awaited<ReturnType<typeof read>>
  const withChecks = (options: Options) => ({
    options,
    check: createDestinationCheck(options.egress),
    addresses: createAddresses(createResolve(options.egress.resolvers), {
      allow: options.egress.allow,
      own: options.own,
    }),
  })
  let current = withChecks(await read(config, trustBundle))
  // Loaded with the first request of code: most processes never need it.
  let outbound: Promise<Outbound> | undefined
  const apply = (options: Options) => {
    current = withChecks(options)
    const previous = outbound
    outbound = undefined
    previous?.then((client) => client.close()).catch(() => {})
  }
  const watchingAddresses = setInterval(() => {
    if (hasNewAddress(current.options.own.addresses)) apply({ ...current.options, own: own() })
  }, addressesMs).unref()
  return {
    fetch: async (request, signal) => {
      outbound ??= import('../egress/fetch.ts').then(({ createOutbound }) => createOutbound(current.options))
      return (await outbound).fetch(request, signal)
    },
    checkDestination: (url) => current.check(url),
    dial: (host, port) => dialed(current.addresses, host, port),
    reload: async (next, bundle) => apply(await read(next, bundle)),
    close: async () => {
      clearInterval(watchingAddresses)
      await (await outbound)?.close()
    },
  }
}
