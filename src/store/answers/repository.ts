import type { Session } from '../session.ts'
import { buffer, own } from '../tokens/row.ts'
import type { AnswerStore } from '../types.ts'
import type { Writer } from '../writer.ts'
import { duringRight } from './during.ts'
import { heldByProcess } from './statements.ts'

export const createAnswerStore = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): AnswerStore => ({
  begin: async (answer, now) => {
    const begun = await writer.write('answers.begin', { answer: { ...answer, key: own(answer.key) }, now })
    if (begun.kind !== 'done') return begun
    const { shown, ...done } = begun
    return { ...done, sealed: buffer(done.sealed), ...(shown === undefined ? {} : { shown: buffer(shown) }) }
  },
  during: duringRight,
  finish: (answer, now) => {
    const { key, sealed, shown } = answer
    const owned = {
      ...answer,
      key: own(key),
      sealed: own(sealed),
      ...(shown === undefined ? {} : { shown: { ...shown, sealed: own(shown.sealed) } }),
    }
    const bytes = 1_000 + sealed.byteLength + (shown?.sealed.byteLength ?? 0)
    return writer.write('answers.finish', { answer: owned, now }, bytes)
  },
  abandon: (answer, now) =>
    writer.write('answers.abandon', { answer: { ...answer, key: own(answer.key) }, now }),
  abandonOf: async (process, now) => {
    // Most processes that start have nothing to write.
    if (Number((await session.get(heldByProcess, { process }))?.count ?? 0) > 0)
      await writer.write('answers.abandon-of', { process, now })
  },
})
