import { buffer, own } from '../bytes.ts'
import type { Session } from '../session.ts'
import type { Writer } from '../writer.ts'
import { abandonRequest, abandonRequestsOf, beginRequest, finishRequest } from './commands.ts'
import { runWithLease } from './lease.ts'
import { heldByProcess } from './statements.ts'
import type { IdempotencyStore } from './types.ts'

export const createIdempotencyStore = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): IdempotencyStore => ({
  begin: async (record, now) => {
    const started = await writer.write(beginRequest, {
      record: { ...record, key: own(record.key) },
      now,
    })
    if (started.kind !== 'done') return started
    const { shown, ...done } = started
    return { ...done, sealed: buffer(done.sealed), ...(shown === undefined ? {} : { shown: buffer(shown) }) }
  },
  runWithLease,
  finish: (record, now) => {
    const { key, sealed, shown } = record
    const owned = {
      ...record,
      key: own(key),
      sealed: own(sealed),
      ...(shown === undefined ? {} : { shown: { ...shown, sealed: own(shown.sealed) } }),
    }
    const bytes = 1_000 + sealed.byteLength + (shown?.sealed.byteLength ?? 0)
    return writer.write(finishRequest, { record: owned, now }, bytes)
  },
  abandon: (record, now) =>
    writer.write(abandonRequest, { record: { ...record, key: own(record.key) }, now }),
  abandonAllOf: async (process, now) => {
    // Most processes have nothing to abandon at start.
    if (Number((await session.get(heldByProcess, { process }))?.count ?? 0) > 0)
      await writer.write(abandonRequestsOf, { process, now })
  },
})
