import type { Writer } from '../session.ts'
import { buffer, own } from '../tokens/row.ts'
import type { AnswerStore } from '../types.ts'

export const createAnswerStore = ({ writer }: { readonly writer: Writer }): AnswerStore => ({
  begin: async (answer, now) => {
    const begun = await writer.write('answers.begin', { answer: { ...answer, key: own(answer.key) }, now })
    return begun.kind === 'done' ? { ...begun, sealed: buffer(begun.sealed) } : begun
  },
  finish: (answer) =>
    writer.write(
      'answers.finish',
      { answer: { ...answer, key: own(answer.key), sealed: own(answer.sealed) } },
      1_000 + answer.sealed.byteLength,
    ),
  abandon: (answer) => writer.write('answers.abandon', { answer: { ...answer, key: own(answer.key) } }),
})
