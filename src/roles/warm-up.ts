import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Registry } from '@prometheus-io/client'
import { systemClock } from '../common/clock.ts'
import { releaseStartMemory } from '../common/gc-pressure.ts'
import { newId, newKey } from '../common/ids.ts'
import { createLog, type Log } from '../common/log.ts'
import { createCallMetrics } from '../common/metrics.ts'
import { Secret } from '../common/secret.ts'
import { withTimeout } from '../common/with-timeout.ts'
import { loadConfig } from '../config.ts'
import type { ProcessStart } from '../supervisor/messages.ts'
import { createTenant } from './create-tenant.ts'
import { openRuntime, type Runtime } from './runtime.ts'

/** A warm-up takes 0.2 to 0.3 s of a core. The limit is for one that hangs: many processes may share the cores. */
const LIMIT_MS = 15_000

/**
 * Tenants of the vault, enough for the functions that load keys, application and token to be compiled. Also the number
 * of applications of the service that are read before it serves.
 */
const TENANTS = 5

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 }

/** A tenant of the warm-up's vault. */
export interface WarmUpTenant {
  /** Key of a private application that may create, read and use tokens. */
  readonly key: string
  /** Id of a card. */
  readonly tokenId: string
}

/** A vault that exists during a warm-up only. */
export interface WarmUpVault {
  readonly runtime: Runtime
  readonly tenants: readonly WarmUpTenant[]
  /** Its directory. Relative, as the path of a socket must be short. */
  readonly directory: string
  readonly log: Log
  /** Aborted when the time is over. */
  readonly signal: AbortSignal
}

/** The defaults of all settings: no other process, no port, no external service. */
const openVault = (directory: string, log: Log): Promise<Runtime> =>
  openRuntime(
    loadConfig({ SIDEVAULT_DATA_DIR: directory }),
    { name: 'admin', owner: true, background: false, log },
    {
      createMetrics: (name) => createCallMetrics(new Registry(), name),
      // The built-in plugins are checked by their tests.
      validationCacheIn: () => ({ has: () => true, keep: () => {} }),
    },
  )

const fillTenant = async ({ kernel, store, keys }: Runtime): Promise<WarmUpTenant> => {
  const { credentials } = kernel.registry.ports
  if (credentials === undefined) throw new Error('no plugin authenticates keys')
  const managementKey = newKey()
  const tenant = { id: newId(), name: 'warm-up', key: new Secret(managementKey), now: systemClock.now() }
  await createTenant({ store, keys, credentials }, tenant)
  const { signal } = new AbortController()
  const call = async (rpc: string, key: string, input: object) => {
    const operation = kernel.registry.operations.find((candidate) => candidate.rpc === rpc)
    if (operation === undefined) throw new Error(`there is no operation ${rpc}`)
    return (await kernel.invoke(operation, input, { key, traceId: 'warm-up', signal })) as Record<
      string,
      string
    >
  }
  const permissions = ['token:create', 'token:read', 'token:use']
  const { key = '' } = await call('Applications.Create', managementKey, {
    name: 'warm-up',
    type: 'private',
    permissions,
  })
  const { id: tokenId = '' } = await call('Tokens.Create', key, { type: 'card', data: CARD })
  return { key, tokenId }
}

/**
 * Prepares the service's own store and keys, by reads that find nothing, and by reading the newest applications. Then
 * collects the garbage of the start. Call it as the last thing before the process listens. Never rejects.
 */
export const prepareToServe = async ({ kernel, keys, store }: Runtime): Promise<void> => {
  const { credentials, applications } = kernel.registry.ports
  const id = newId()
  const reads = [
    () => kernel.authenticator.authenticate(newKey()),
    () => store.tokens.read(id, [id], systemClock.now()),
    ...(credentials?.collections ?? []).slice(0, 1).map((name) => async () => {
      for (const { tenantId, id } of await store.records.newest(name, TENANTS)) {
        await keys.tenant(tenantId)
        await kernel.tenantGuards.of(tenantId)
        await applications?.get(tenantId, id)
      }
    }),
  ]
  await Promise.allSettled(reads.map(async (read) => read()))
  releaseStartMemory()
}

const callsOf = async (kind: ProcessStart['kind']): Promise<(vault: WarmUpVault) => Promise<void>> =>
  kind === 'admin'
    ? (await import('./warm-admin.ts')).warmAdmin
    : (await import('./warm-gateway.ts')).warmGateway

/**
 * Runs what the first calls of a process run, so that these find it loaded and compiled (ADR 0138): on a vault of its
 * own, which is removed behind it. Nothing of it is in the store, the journal, the metrics, the lists or the log of the
 * service, and no listener leads to it. Call it before the process has a tracer. Never rejects: a failure is logged,
 * and costs first calls their speed.
 */
export const warmUp = async (
  { kind, worker, runDir }: Pick<ProcessStart, 'kind' | 'worker' | 'runDir'>,
  log: Log,
): Promise<void> => {
  const directory = join(runDir, `warm-up-${kind}-${worker}`)
  const remove = () => rm(directory, { recursive: true, force: true })
  const run = async (signal: AbortSignal) => {
    // A process that was killed has left its own.
    await remove()
    await mkdir(directory, { mode: 0o700 })
    try {
      const call = await callsOf(kind)
      const quiet = createLog('warm-up', 'silent')
      const runtime = await openVault(directory, quiet)
      try {
        signal.throwIfAborted()
        const tenants = await Promise.all(Array.from({ length: TENANTS }, () => fillTenant(runtime)))
        await call({ runtime, tenants, directory, log: quiet, signal })
      } finally {
        await runtime.close()
      }
    } finally {
      await remove()
    }
  }
  try {
    await withTimeout(LIMIT_MS, run)
  } catch (err) {
    log.warn({ err }, 'the warm-up was not completed; the first calls take longer')
  }
}
