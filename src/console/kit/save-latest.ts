import { asApiError } from '../api/problem.ts'

/**
 * Saves over what is stored now, and asks before that replaces what somebody else saved: again, when the stored value
 * changes before `save` has replaced it. Resolves to the result of `save`, or to undefined without one. `part`: the
 * part that a save replaces; one that equals `confirmedPart` needs no question.
 */
export const saveLatest = async <T, R>({
  read,
  part,
  confirmedPart,
  ask,
  save,
}: {
  readonly read: () => Promise<T>
  readonly part: (stored: T) => unknown
  readonly confirmedPart?: unknown
  readonly ask: (stored: T) => Promise<boolean>
  /** Rejects with 412 when `stored` is not the stored value any more. */
  readonly save: (stored: T) => Promise<R>
}): Promise<R | undefined> => {
  let confirmed = JSON.stringify(confirmedPart)
  for (;;) {
    const stored = await read()
    const next = JSON.stringify(part(stored))
    if (next !== confirmed && !(await ask(stored))) return undefined
    confirmed = next
    try {
      return await save(stored)
    } catch (thrown) {
      if (asApiError(thrown).status !== 412) throw thrown
    }
  }
}
