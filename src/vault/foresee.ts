import { mapInTurns } from '../common/event-loop.ts'
import type { Json } from '../common/json.ts'
import { bodyWork } from '../expressions/work.ts'
import type { ForeseenUse, UseContext } from '../sdk/index.ts'
import type { TokenRow } from '../store/types.ts'
import { decide, decidingRule } from './access.ts'
import { doneRecord } from './audit-records.ts'
import { disclosedData } from './disclosure.ts'
import { type Parts, timeOf } from './parts.ts'
import { type Opened, openToken } from './seal.ts'
import { checkCount, wholeToken } from './use.ts'

/** `Vault.foresee`. */
export const foreseeUse = async (
  parts: Parts,
  ids: readonly string[],
  context: UseContext,
): Promise<readonly ForeseenUse[]> => {
  const wanted = [...new Set(ids)]
  if (wanted.length === 0) return []
  checkCount(parts, wanted)
  const now = timeOf(parts, context)
  const { tenantId, grants } = context.caller
  const rows = new Map((await parts.tokens.read(tenantId, wanted, now)).map((row) => [row.id, row]))
  const ring = await parts.keys.tenant(
    tenantId,
    [...rows.values()].map(({ sealed }) => sealed),
  )
  const { work = bodyWork() } = context
  const shown: TokenRow[] = []

  const masked = (row: TokenRow, opened: Opened): Json => {
    const type = parts.types.get(row.type)
    const data = disclosedData(parts.expressions, type, opened, 'mask', 'show', work)
    if (data === undefined) return null
    shown.push(row)
    return data
  }

  const foresee = (id: string): ForeseenUse => {
    const row = rows.get(id)
    if (row === undefined) return { kind: 'unknown', id }
    const disclosure = decide(grants, 'token:use', row)
    if (disclosure === 'denied') return { kind: 'denied', id }
    const { type, container } = row
    const opened = openToken(ring, row, now)
    const data = disclosure === 'redact' ? null : masked(row, opened)
    const token = { id, type, data, container, whole: () => wholeToken(parts, row, opened, data) }
    return { kind: 'used', id, disclosure, rule: decidingRule(grants, 'token:use', row), token }
  }

  const foreseen = await mapInTurns(wanted, foresee)
  await parts.journal.append(shown.map((row) => doneRecord(parts, row, 'read', context, now)))
  for (const { type } of shown) parts.metrics.disclosed.inc({ type, purpose: 'read', disclosure: 'mask' })
  return foreseen
}
