/**
 * Asks whether a save may replace what is stored now, and again when that changed while the question was open. Resolves
 * to the stored value that was confirmed, or to undefined. `part` is the part that a save replaces; a part that equals
 * `confirmedPart` needs no question.
 */
export const confirmLatest = async <T>({
  read,
  part,
  confirmedPart,
  ask,
}: {
  readonly read: () => Promise<T>
  readonly part: (stored: T) => unknown
  readonly confirmedPart?: unknown
  readonly ask: (stored: T) => Promise<boolean>
}): Promise<T | undefined> => {
  let confirmed = JSON.stringify(confirmedPart)
  for (;;) {
    const stored = await read()
    const next = JSON.stringify(part(stored))
    if (next === confirmed) return stored
    if (!(await ask(stored))) return undefined
    confirmed = next
  }
}
