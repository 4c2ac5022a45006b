import { AppError } from '../common/errors.ts'
import { responseBinding } from '../kernel/invoke/idempotency.ts'
import { resealRecord } from '../kernel/services/seal-records.ts'
import { isTenantValid, macOfTenant } from '../kernel/services/tenants.ts'
import type { SealContext, TenantKeys } from '../keys/types.ts'
import type { Replacement } from '../store/bytes.ts'
import type { Reseal, SealedStore } from '../store/reencrypt/types.ts'
import type { TenantStore } from '../store/tenants/types.ts'
import { tokenBinding } from '../vault/seal.ts'

/** Rows of one transaction: few, so that writes of the service do not wait long. */
const BATCH = 100

export interface Reencrypted {
  /** Tokens and records read. */
  seen: number
  /** Values that were reencrypted. */
  replaced: number
  /** Values that cannot be decrypted: they stay unchanged, and so does their key version. */
  broken: number
}

interface ReencryptDeps {
  readonly sealed: SealedStore
  readonly tenants: Pick<TenantStore, 'get' | 'update'>
  /** The tenant's current key ring, which can open these values. */
  readonly ring: (opening: readonly Buffer[]) => Promise<TenantKeys>
  /** Pauses after each batch; `ms`: duration of its write. */
  readonly rest: (ms: number) => Promise<void>
  readonly onProgress: (state: Reencrypted) => void
  /** Called for each broken value. */
  readonly onBroken: (kind: string, id: string) => void
}

/**
 * Reencrypts all values of a tenant that are not under its newest data key, each only if it is unchanged since it was
 * read. Plaintext is in memory only for that moment. Concurrent changes use the newest key as soon as their process has
 * it.
 */
export const reencryptTenant = async (deps: ReencryptDeps, tenantId: string): Promise<Reencrypted> => {
  const { sealed: store, rest, onProgress, onBroken } = deps
  const state: Reencrypted = { seen: 0, replaced: 0, broken: 0 }

  const broken = (kind: string, id: string): void => {
    state.broken++
    onBroken(kind, id)
  }

  /** Undefined when the value is current, or cannot be decrypted. */
  const renewed = (
    [kind, id]: readonly [string, string],
    ring: TenantKeys,
    from: Buffer | null,
    context: SealContext,
  ): Replacement | undefined => {
    if (from === null || ring.isCurrent(from)) return undefined
    return attempt(kind, id, () => {
      const plaintext = ring.open(from, context)
      const to = ring.seal(plaintext, context)
      plaintext.fill(0)
      return { from, to }
    })
  }

  const attempt = <T>(kind: string, id: string, work: () => T): T | undefined => {
    try {
      return work()
    } catch (thrown) {
      if (!(thrown instanceof AppError || thrown instanceof SyntaxError)) throw thrown
      broken(kind, id)
      return undefined
    }
  }

  const write = async (change: Omit<Reseal, 'tenantId'>, seen: number): Promise<void> => {
    state.seen += seen
    const began = performance.now()
    const some = [change.tokens, change.records, change.responses].some((list) => list && list.length > 0)
    if (some) state.replaced += await store.reseal({ tenantId, ...change })
    onProgress(state)
    await rest(performance.now() - began)
  }

  const stored = await deps.tenants.get(tenantId)
  if (stored !== undefined) {
    const { mac, ...row } = stored
    const ring = await deps.ring(mac === null ? [] : [mac])
    if (mac === null || !isTenantValid(ring, stored)) broken('tenant', tenantId)
    // A concurrent change writes its MAC under the newest key.
    else if (
      !ring.isCurrent(mac) &&
      (await deps.tenants.update(row, { from: mac, to: macOfTenant(ring, row) }))
    )
      state.replaced++
  }

  for (let after = 0; ; ) {
    const rows = await store.tokens(tenantId, after, BATCH)
    const last = rows.at(-1)
    if (last === undefined) break
    const ring = await deps.ring(rows.map(({ sealed }) => sealed))
    const tokens = rows.flatMap((row) => {
      const bound = tokenBinding(tenantId, row)
      const name = ['token', row.id] as const
      const sealed = renewed(name, ring, row.sealed, { ...bound, part: 'sealed' })
      const ephemeral = renewed(name, ring, row.ephemeral, { ...bound, part: 'ephemeral' })
      if (!sealed && !ephemeral) return []
      return [{ seq: row.seq, ...(sealed ? { sealed } : {}), ...(ephemeral ? { ephemeral } : {}) }]
    })
    await write({ tokens }, rows.length)
    after = last.seq
  }

  for (const collection of await store.collections())
    for (let after = 0; ; ) {
      const rows = await store.records(collection, tenantId, after, BATCH)
      const last = rows.at(-1)
      if (last === undefined) break
      const ring = await deps.ring(rows.flatMap(({ mac }) => mac ?? []))
      const records = rows.flatMap((row) => {
        const fresh = attempt(collection, row.id, () =>
          resealRecord(ring, { collection, tenantId, id: row.id }, row),
        )
        return fresh === undefined || row.mac === null
          ? []
          : [{ seq: row.seq, from: row.mac, to: fresh.mac, body: fresh.body }]
      })
      await write({ records }, rows.length)
      after = last.seq
    }

  for (let after: Buffer = Buffer.alloc(0); ; ) {
    const rows = await store.responses(tenantId, after, BATCH)
    const last = rows.at(-1)
    if (last === undefined) return state
    const ring = await deps.ring([])
    const responses = rows.flatMap((row) => {
      const name = ['idempotency key', row.key.toString('hex')] as const
      const sealed = renewed(name, ring, row.sealed, responseBinding(tenantId, row.key, 'summary'))
      const shown = renewed(name, ring, row.shown, responseBinding(tenantId, row.key, 'complete'))
      if (!sealed && !shown) return []
      return [{ key: row.key, ...(sealed ? { sealed } : {}), ...(shown ? { shown } : {}) }]
    })
    await write({ responses }, rows.length)
    after = last.key
  }
}
