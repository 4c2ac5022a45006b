import { resealAnswer, resealMac, resealRecord, resealToken } from '../sealed/statements.ts'
import type { Reseal } from '../sealed/types.ts'
import type { Session } from '../session.ts'
import { requireKeys, sealedIn } from './key-fence.ts'

/** How many values still were what they are replaced for. */
export const replaceSealed = async (
  session: Session,
  { change }: { readonly change: Reseal },
): Promise<number> => {
  const { tenantId: tenant_id, tokens = [], records = [], answers = [] } = change
  await requireKeys(session, tenant_id, [
    ...tokens.flatMap(({ sealed, ephemeral }) => [sealed?.to, ephemeral?.to]),
    ...records.flatMap(({ to, body }) => [to, ...sealedIn(JSON.parse(body))]),
    ...answers.flatMap(({ sealed, shown }) => [sealed?.to, shown?.to]),
  ])
  let replaced = 0
  for (const { seq, ...parts } of tokens)
    for (const part of ['sealed', 'ephemeral'] as const)
      if (parts[part]) replaced += await session.run(resealToken[part], { tenant_id, seq, ...parts[part] })
  for (const { body, ...mac } of records)
    if ((await session.run(resealMac, { tenant_id, ...mac })) > 0)
      replaced += await session.run(resealRecord, { tenant_id, seq: mac.seq, body })
  for (const { key, ...parts } of answers)
    for (const part of ['sealed', 'shown'] as const)
      if (parts[part]) replaced += await session.run(resealAnswer[part], { tenant_id, key, ...parts[part] })
  return replaced
}
