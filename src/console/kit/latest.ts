/**
 * Asks about what is stored now, and again when it changed while the question was open. Returns what is stored and was
 * confirmed; undefined: it was not. `part`: what a save replaces. `known`: the part that needs no question.
 */
export const confirmLatest = async <T>({
  read,
  part,
  known,
  ask,
}: {
  readonly read: () => Promise<T>
  readonly part: (stored: T) => unknown
  readonly known?: unknown
  readonly ask: (stored: T) => Promise<boolean>
}): Promise<T | undefined> => {
  let confirmed = JSON.stringify(known)
  for (;;) {
    const stored = await read()
    const next = JSON.stringify(part(stored))
    if (next === confirmed) return stored
    if (!(await ask(stored))) return undefined
    confirmed = next
  }
}
