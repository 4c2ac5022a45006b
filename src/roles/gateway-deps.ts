import { steadyClock, systemClock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import type { startGateway } from '../gateway/server.ts'
import { createDryRunner } from '../host-api/dry-run-host.ts'
import { createProxyDirectory } from '../kernel/services/proxies.ts'
import type { ProxyDirectory } from '../kernel/types.ts'
import { whileDelegated } from './delegation.ts'
import type { Runtime } from './runtime.ts'

type GatewayDeps = Parameters<typeof startGateway>[0]

/** What a gateway takes from the runtime of its process. */
export const gatewayDeps = (
  { kernel, keys, store, metrics, journal, hostApi, admit, dial }: Runtime,
  {
    prefixes,
    log,
    tenant,
  }: {
    readonly prefixes: readonly string[]
    readonly log: Log
    /** The only tenant, with a delegated key. */
    readonly tenant?: string | undefined
  },
): Omit<GatewayDeps, 'clusterOf' | 'bindings'> & { readonly proxies: ProxyDirectory } => ({
  authenticator:
    tenant === undefined ? kernel.authenticator : whileDelegated(kernel.authenticator, keys, tenant),
  vault: kernel.vault,
  expressions: kernel.expressions,
  log,
  metrics,
  clock: systemClock,
  steadyClock,
  audit: (records) => journal.append(records),
  admit,
  proxies: createProxyDirectory({
    keys,
    records: store.records,
    source: () => kernel.registry.ports.proxies,
  }),
  tenantGuards: kernel.tenantGuards,
  checks: kernel.registry.checks,
  code: kernel.code,
  runWithoutEffects: createDryRunner(hostApi.sandbox, prefixes),
  dial,
})
