import { AppError } from '../../common/errors.ts'
import { buffer, own } from '../bytes.ts'
import type { ChangeCounters } from '../change-counters.ts'
import type { Session } from '../session.ts'
import type { Writer } from '../writer.ts'
import { addKeys, closeDataKeys, endRootChange, removeKeys, rewrapKeys } from './commands.ts'
import { KEY_CHANGES, keysAfter, keysOfTenant } from './statements.ts'
import type { KeyStore } from './types.ts'

const KEY_KINDS = Object.freeze([KEY_CHANGES])

export const createKeyStore = ({
  session,
  writer,
  changes,
}: {
  readonly session: Session
  readonly writer: Writer
  readonly changes: ChangeCounters
}): KeyStore => ({
  keys: async (tenantId) => {
    const rows = await session.all(keysOfTenant, { tenant_id: tenantId })
    return rows.map((row) => ({ ...row, wrapped: buffer(row.wrapped) }))
  },
  changes: () => changes.sum(KEY_KINDS),
  add: async (keys) => {
    try {
      await writer.write(addKeys, { keys: keys.map((key) => ({ ...key, wrapped: own(key.wrapped) })) })
      return true
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'conflict') return false
      throw thrown
    }
  },
  page: async (after, limit) =>
    (await session.all(keysAfter, { ...after, limit })).map((row) => ({
      ...row,
      wrapped: buffer(row.wrapped),
    })),
  rewrap: (changes) =>
    writer.write(rewrapKeys, {
      changes: changes.map((change) => ({ ...change, from: own(change.from), to: own(change.to) })),
    }),
  close: (tenantId, version, now) => writer.write(closeDataKeys, { tenantId, version, now }),
  remove: (keys) => writer.write(removeKeys, { keys }),
  endRootChange: (end) => writer.write(endRootChange, { end: { ...end, root: own(end.root) } }),
})
