import type { Replacement } from '../bytes.ts'
import { buffer, own } from '../bytes.ts'
import { allKinds } from '../changes.ts'
import type { Session } from '../session.ts'
import { toTokenRow } from '../tokens/token-row.ts'
import type { Writer } from '../writer.ts'
import { replaceSealed } from './commands.ts'
import { associationsAfter, recordsAfter, responsesAfter, sizeOfTenant, tokensAfter } from './statements.ts'
import type { Reseal, SealedStore } from './types.ts'

const maybe = (bytes: Uint8Array | null): Buffer | null => (bytes === null ? null : buffer(bytes))

const ownChange = ({ from, to }: Replacement): Replacement => ({ from: own(from), to: own(to) })

const sizeOf = (change: (Replacement & { readonly body?: string }) | undefined): number =>
  change === undefined ? 0 : change.from.length + change.to.length + (change.body?.length ?? 0)

export const createSealedStore = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): SealedStore => ({
  size: async (tenantId) => Number((await session.get(sizeOfTenant, { tenant_id: tenantId }))?.count ?? 0),

  // With `now` 0 nothing is expired, so rows that await the purge are included.
  tokens: async (tenantId, after, limit) =>
    (await session.all(tokensAfter, { tenant_id: tenantId, after, limit })).map((row) => toTokenRow(row, 0)),

  associations: async (tenantId, { parent_seq, child_seq }, limit) =>
    session.all(associationsAfter, { tenant_id: tenantId, parent_seq, child_seq, limit }),

  collections: async () => (await session.all(allKinds, {})).map(({ kind }) => kind),

  records: async (collection, tenantId, after, limit) =>
    (await session.all(recordsAfter, { collection, tenant_id: tenantId, after, limit })).map((row) => ({
      ...row,
      mac: maybe(row.mac),
    })),

  responses: async (tenantId, after, limit) =>
    (await session.all(responsesAfter, { tenant_id: tenantId, after, limit })).map(
      ({ key, sealed, shown }) => ({ key: buffer(key), sealed: maybe(sealed), shown: maybe(shown) }),
    ),

  reseal: ({ tenantId, tokens = [], records = [], responses = [] }) => {
    const bytes = [
      ...tokens.flatMap(({ sealed, ephemeral }) => [sealed, ephemeral]),
      ...records,
      ...responses.flatMap(({ sealed, shown }) => [sealed, shown]),
    ].reduce((sum, change) => sum + sizeOf(change), 1_000)
    const owned: Reseal = {
      tenantId,
      tokens: tokens.map(({ seq, sealed, ephemeral }) => ({
        seq,
        ...(sealed ? { sealed: ownChange(sealed) } : {}),
        ...(ephemeral ? { ephemeral: ownChange(ephemeral) } : {}),
      })),
      records: records.map(({ seq, body, ...mac }) => ({ seq, body, ...ownChange(mac) })),
      responses: responses.map(({ key, sealed, shown }) => ({
        key: own(key),
        ...(sealed ? { sealed: ownChange(sealed) } : {}),
        ...(shown ? { shown: ownChange(shown) } : {}),
      })),
    }
    return writer.write(replaceSealed, { change: owned }, bytes)
  },
})
