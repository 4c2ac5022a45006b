import { isoTime, systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import type { Secret } from '../common/secret.ts'
import type { Config } from '../config.ts'
import { type OnRejected, openRecord } from '../kernel/services/seal-records.ts'
import type { RecordRow } from '../store/records/types.ts'
import { type Opened, openToken } from '../vault/seal.ts'
import { writeEncrypted } from './encrypted-archive.ts'
import { withKernel } from './open-kernel.ts'
import type { Print } from './open-vault.ts'

const BATCH = 200

/** False for records with an end: sessions, results of reactors, deliveries, and keys of a run. */
const isExported = ({ expires_at }: Pick<RecordRow, 'expires_at'>): boolean => expires_at === null

/**
 * `sidevault export`: decrypts a tenant into a file under a passphrase. Not a consistent snapshot: stop writes. One
 * audit record covers the export. Protect the file like the card data. False when values were altered: each is printed,
 * and left out.
 */
export const runExport = (
  config: Config,
  {
    tenantId,
    path,
    passphrase,
  }: { readonly tenantId: string; readonly path: string; readonly passphrase: Secret<string> },
  print: Print,
): Promise<boolean> =>
  withKernel(config, async ({ store, keys, kernel, collections, record }) => {
    const tenant = await kernel.tenants.get(tenantId)
    if (tenant === undefined) throw new AppError('tenant_not_found', `Tenant "${tenantId}" does not exist.`)
    const lines = await writeEncrypted(path, passphrase)
    const rejected = new Set<string>()
    const reject = (collection: string, id: string) => {
      rejected.add(`${collection} ${id}`)
      print(`REJECTED ${collection} "${id}"`)
    }
    const onRejected: OnRejected = ({ collection, id }) => reject(collection, id)
    const counts = { tokens: 0, records: 0, associations: 0 }
    try {
      await record(tenantId, 'tenant', tenantId, 'Tenant exported')
      const now = systemClock.now()
      const { id, name, settings } = tenant
      await lines.write({ tenant: { id, name, settings }, exported_at: isoTime(now) })
      for (const collection of collections)
        for (let after = 0; ; ) {
          const rows = await store.sealed.records(collection.name, tenantId, after, BATCH)
          const last = rows.at(-1)
          if (last === undefined) break
          for (const row of rows.filter(isExported)) {
            const opened = await openRecord(keys, collection, tenantId, row, onRejected).catch((thrown) => {
              if (!rejected.has(`${collection.name} ${row.id}`)) throw thrown
            })
            if (opened === undefined) continue
            await lines.write({ record: opened, collection: collection.name })
            counts.records++
          }
          after = last.seq
        }
      for (let after = 0; ; ) {
        const rows = await store.sealed.tokens(tenantId, after, BATCH)
        const last = rows.at(-1)
        if (last === undefined) break
        const ring = await keys.tenant(
          tenantId,
          rows.map(({ sealed }) => sealed),
        )
        for (const row of rows) {
          if (row.expires_at !== null && row.expires_at <= now) continue
          const { id, type, container, metadata, egress, expires_at, created_by, created_at } = row
          let opened: Opened
          try {
            opened = openToken(ring, row, now)
          } catch (thrown) {
            if (!(thrown instanceof AppError)) throw thrown
            reject('token', id)
            continue
          }
          const { data, ephemeral, ...own } = opened
          const shown = { id, type, container, metadata, egress, expires_at, created_by, created_at }
          const fingerprinted = row.fingerprint !== null
          await lines.write({ token: { ...shown, fingerprinted, data, ephemeral: [...ephemeral], ...own } })
          counts.tokens++
        }
        after = last.seq
      }
      for (let after = { parent_seq: 0, child_seq: 0 }; ; ) {
        const pairs = await store.sealed.associations(tenantId, after, BATCH)
        const last = pairs.at(-1)
        if (last === undefined) break
        for (const { parent_id, child_id } of pairs) await lines.write({ parent: parent_id, child: child_id })
        counts.associations += pairs.length
        after = last
      }
      await lines.write({ end: counts })
      await lines.finish()
    } catch (thrown) {
      await lines.abort().catch(() => {})
      throw thrown
    }
    print(
      `wrote   ${path}: ${counts.tokens} tokens, ${counts.records} records, ${counts.associations} associations`,
    )
    if (rejected.size > 0)
      print(
        `${rejected.size} values were altered in the store, and are not in the file. Restore them from a backup.`,
      )
    return rejected.size === 0
  })
