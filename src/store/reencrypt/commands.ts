import { defineCommand } from '../command.ts'
import { requireKeys, sealedIn } from '../keys/data-key-guard.ts'
import type { Session } from '../session.ts'
import { reencryptResponse, resealMac, resealRecord, resealToken } from './statements.ts'
import type { Reseal } from './types.ts'

/** Replaces values that are unchanged; returns their number. */
export const replaceSealed = defineCommand({
  name: 'reencrypt.replace',
  run: async (session: Session, { change }: { readonly change: Reseal }): Promise<number> => {
    const { tenantId: tenant_id, tokens = [], records = [], responses = [] } = change
    await requireKeys(session, tenant_id, [
      ...tokens.flatMap(({ sealed, ephemeral }) => [sealed?.to, ephemeral?.to]),
      ...records.flatMap(({ to, body }) => [to, ...sealedIn(JSON.parse(body))]),
      ...responses.flatMap(({ sealed, shown }) => [sealed?.to, shown?.to]),
    ])
    let replaced = 0
    for (const { seq, ...parts } of tokens)
      for (const part of ['sealed', 'ephemeral'] as const)
        if (parts[part]) replaced += await session.run(resealToken[part], { tenant_id, seq, ...parts[part] })
    for (const { body, ...mac } of records)
      if ((await session.run(resealMac, { tenant_id, ...mac })) > 0)
        replaced += await session.run(resealRecord, { tenant_id, seq: mac.seq, body })
    for (const { key, ...parts } of responses)
      for (const part of ['sealed', 'shown'] as const)
        if (parts[part])
          replaced += await session.run(reencryptResponse[part], { tenant_id, key, ...parts[part] })
    return replaced
  },
  tenantOf: () => undefined,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: true,
  movesCounters: false,
  destroysKeys: false,
})
