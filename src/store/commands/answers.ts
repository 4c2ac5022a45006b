import { answerByKey, dropAnswer, putAnswer, sealAnswer } from '../answers/statements.ts'
import type { Session } from '../session.ts'
import { buffer } from '../tokens/row.ts'
import type { AnswerStore, Begun } from '../types.ts'

export const beginAnswer = async (
  session: Session,
  { answer, now }: { readonly answer: Parameters<AnswerStore['begin']>[0]; readonly now: number },
): Promise<Begun> => {
  const { tenantId: tenant_id, key, operation, holder, expiresAt: expires_at } = answer
  await session.lock(`answer ${tenant_id} ${buffer(key).toString('hex')}`)
  const there = await session.get(answerByKey, { tenant_id, key })
  if (there && there.expires_at > now)
    return there.sealed === null
      ? { kind: 'running' }
      : { kind: 'done', operation: there.operation, sealed: buffer(there.sealed) }
  await session.run(putAnswer, { tenant_id, key, operation, holder, expires_at })
  return { kind: 'begun' }
}

export const finishAnswer = async (
  session: Session,
  { answer }: { readonly answer: Parameters<AnswerStore['finish']>[0] },
): Promise<void> => {
  const { tenantId: tenant_id, key, holder, sealed, expiresAt: expires_at } = answer
  await session.run(sealAnswer, { tenant_id, key, holder, sealed, expires_at })
}

export const abandonAnswer = async (
  session: Session,
  { answer }: { readonly answer: Parameters<AnswerStore['abandon']>[0] },
): Promise<void> => {
  const { tenantId: tenant_id, key, holder } = answer
  await session.run(dropAnswer, { tenant_id, key, holder })
}
