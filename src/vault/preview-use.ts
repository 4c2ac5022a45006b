import { decide, decidingRule, seesMask } from '../access/rules.ts'
import type { Json } from '../common/json.ts'
import { bodyWork } from '../expressions/work.ts'
import type { UseContext, UsePreview } from '../sdk/index.ts'
import { doneRecord } from './audit-records.ts'
import { disclosedData } from './disclosure.ts'
import { opacityOf, verdictOf } from './egress.ts'
import { checkBytes, headsOf, type OpenedRow, openEach, withoutSeals } from './open.ts'
import type { Opened } from './seal.ts'
import { checkCount, tokenValue } from './use.ts'
import { timeOf, type VaultDeps } from './vault-deps.ts'

/** `Vault.preview`. */
export const previewUse = async (
  deps: VaultDeps,
  ids: readonly string[],
  context: UseContext,
): Promise<readonly UsePreview[]> => {
  const wanted = [...new Set(ids)]
  if (wanted.length === 0) return []
  checkCount(deps, wanted)
  const now = timeOf(deps, context)
  const { tenantId, grants } = context.caller
  const { work = bodyWork(), reader = context.caller } = context
  const shown: OpenedRow[] = []

  const masked = (row: OpenedRow, opened: Opened): Json => {
    const type = deps.types.get(row.type)
    const data = disclosedData(deps.expressions, type, opened, 'mask', 'show', work)
    if (data === undefined) return null
    shown.push(row)
    return data
  }

  const previews = new Map<string, UsePreview>()
  const heads = await headsOf(deps, tenantId, wanted, now)
  checkBytes(deps, heads)
  await openEach(deps, context, heads, now, (row, open) => {
    const { id, type, container } = row
    const disclosure = decide(grants, 'token:use', row)
    if (disclosure === 'denied') {
      previews.set(id, { kind: 'denied', id })
      return
    }
    const opened = open()
    const stored = withoutSeals(row)
    // A limited use sends the value and shows nothing. An administrator reads what the proxy's application may send.
    const isShown = disclosure !== 'redact' && (reader !== context.caller || seesMask(grants, row))
    const data = isShown ? masked(stored, opened) : null
    const token = {
      id,
      type,
      data,
      container,
      toToken: () => tokenValue(deps, stored, opened, data, reader.grants),
      ...opacityOf(row, context),
    }
    const rule = decidingRule(grants, 'token:use', row)
    previews.set(id, { kind: 'used', id, disclosure, rule, token, ...verdictOf(row, context) })
  })
  await deps.journal.append(
    shown.map((row) => doneRecord(deps, row, 'read', { ...context, caller: reader }, now, 'mask')),
  )
  for (const { type } of shown) deps.metrics.disclosed.inc({ type, purpose: 'read', disclosure: 'mask' })
  return wanted.map((id) => previews.get(id) ?? { kind: 'unknown', id })
}
