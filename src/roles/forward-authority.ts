import { systemClock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { unixHttp } from '../common/unix-http.ts'
import type { Config } from '../config.ts'
import { reportForwardHosts } from '../control-plane/forward-hosts.ts'
import { type Authority, createAuthority } from '../forward-proxy/authority.ts'
import { type ForwardHosts, watchForwardHosts } from '../forward-proxy/forward-hosts.ts'
import type { Runtime } from './runtime.ts'

/** The authority of the forward proxy: that of `SIDEVAULT_FORWARD_CA`, or the store's. */
export const openAuthority = (
  { forwardCa }: Pick<Config, 'forwardCa'>,
  { keys, store }: Pick<Runtime, 'keys' | 'store'>,
): Authority => createAuthority({ keys, store: store.keys, clock: systemClock }, forwardCa)

/** Collections whose records bind hosts. */
const bindingCollections = ({ registry }: Runtime['kernel']): readonly string[] =>
  registry.plugins
    .flatMap(({ contribution }) => contribution.collections ?? [])
    .filter(({ hosts }) => hosts !== undefined)
    .map(({ name }) => name)

/** A counter that moves with each change of what binds hosts. */
export const hostChanges = ({ kernel, store }: Pick<Runtime, 'kernel' | 'store'>) => {
  const collections = bindingCollections(kernel)
  return () => store.records.changes(collections)
}

/** Longer than an acknowledgement of Envoy takes (`XdsServer.change`). */
const TIMEOUT_MS = 30_000

/** Reports the bound hosts with their certificates to the control plane. One gateway of a machine does so. */
export const watchHosts = (
  { kernel, keys, store }: Pick<Runtime, 'kernel' | 'keys' | 'store'>,
  config: Config,
  { control, log }: { readonly control: string; readonly log: Log },
): ForwardHosts => {
  const authority = openAuthority(config, { keys, store })
  return watchForwardHosts(
    { records: store.records, authority, clock: systemClock, log },
    {
      collections: bindingCollections(kernel),
      onHosts: async (leaves) => {
        const options = { body: reportForwardHosts(leaves), timeoutMs: TIMEOUT_MS }
        const { status } = await unixHttp(control, 'PUT', '/forward-hosts', options)
        if (status !== 200) throw new Error(`the control plane responded with status ${status}`)
      },
    },
  )
}
