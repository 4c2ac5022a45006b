import { AppError } from '../../common/errors.ts'
import { isAsShown } from '../answers/shown.ts'
import {
  answerByKey,
  deleteOver,
  dropAnswer,
  dropUnused,
  dropUnusedOf,
  endRunning,
  endRunningOf,
  insertAnswer,
  insertAnswerToken,
  markEffects,
  sealAnswer,
} from '../answers/statements.ts'
import type { Session } from '../session.ts'
import { buffer } from '../tokens/row.ts'
import { heldTokenById } from '../tokens/statements.ts'
import type { AnswerRight, AnswerStore, Begun, FinishedAnswer, ShownToken } from '../types.ts'
import { requireKeys } from './key-fence.ts'

export const beginAnswer = async (
  session: Session,
  { answer, now }: { readonly answer: Parameters<AnswerStore['begin']>[0]; readonly now: number },
): Promise<Begun> => {
  const { tenantId: tenant_id, key, operation, holder, process = '', runningUntil: running_until } = answer
  const expires_at = answer.effects ? answer.expiresAt : running_until
  await session.lock(`answer ${tenant_id} ${buffer(key).toString('hex')}`)
  const there = await session.get(answerByKey, { tenant_id, key })
  if (there && there.expires_at > now) {
    const { sealed, shown, shown_until } = there
    if (sealed === null) return { kind: there.running_until > now ? 'running' : 'lost' }
    const isShown = shown !== null && (shown_until === null || shown_until > now)
    return { kind: 'done', sealed: buffer(sealed), ...(isShown ? { shown: buffer(shown) } : {}) }
  }
  if (there && (await session.run(deleteOver, { tenant_id, key, now })) === 0) return { kind: 'running' }
  await session.run(insertAnswer, { tenant_id, key, operation, holder, process, running_until, expires_at })
  return { kind: 'begun' }
}

/** At the end of what a holder writes, in its transaction. */
export const requireRight = async (session: Session, right: AnswerRight): Promise<void> => {
  const { tenantId: tenant_id, key, holder, expiresAt: expires_at } = right
  if ((await session.run(markEffects, { tenant_id, key, holder, expires_at })) === 0)
    throw new AppError(
      'conflict',
      'This request took so long that another one with its idempotency key was begun; nothing was written. Repeat it when that one is done.',
      { retryAfter: 1 },
    )
}

/** False: one has gone already, or is not what the answer shows: whoever changed it did not know of the answer yet. */
const areAsShown = async (
  session: Session,
  tenant_id: string,
  tokens: readonly ShownToken[],
  now: number,
): Promise<boolean> => {
  for (const shown of tokens)
    if (!isAsShown(await session.get(heldTokenById, { tenant_id, id: shown.id, now }), shown)) return false
  return true
}

export const finishAnswer = async (
  session: Session,
  { answer, now }: { readonly answer: FinishedAnswer; readonly now: number },
): Promise<void> => {
  const { tenantId: tenant_id, key, holder, sealed, expiresAt: expires_at, shown } = answer
  await requireKeys(session, tenant_id, [sealed, shown?.sealed])
  const kept = shown && (await areAsShown(session, tenant_id, shown.tokens, now)) ? shown : undefined
  const row = { tenant_id, key, holder, sealed, expires_at }
  const shownRow = { shown: kept?.sealed ?? null, shown_until: kept?.until ?? null }
  if ((await session.run(sealAnswer, { ...row, ...shownRow })) === 0) return
  for (const token_id of new Set(kept?.tokens.map((token) => token.id)))
    await session.run(insertAnswerToken, { tenant_id, token_id, key })
}

export const abandonAnswer = async (
  session: Session,
  { answer, now }: { readonly answer: Parameters<AnswerStore['abandon']>[0]; readonly now: number },
): Promise<void> => {
  const { tenantId: tenant_id, key, holder, certain } = answer
  const right = { tenant_id, key, holder }
  if ((await session.run(certain ? dropAnswer : dropUnused, right)) > 0 || certain) return
  await session.run(endRunning, { ...right, running_until: now })
}

export const abandonAnswersOf = async (
  session: Session,
  { process, now }: { readonly process: string; readonly now: number },
): Promise<void> => {
  await session.run(dropUnusedOf, { process })
  await session.run(endRunningOf, { process, running_until: now })
}
