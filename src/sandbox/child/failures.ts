import type ivm from 'isolated-vm'

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : '')

/** True when isolated-vm ended an entry at its timeout. */
export const timedOut = (thrown: unknown): boolean => messageOf(thrown) === 'Script execution timed out.'

/** True when isolated-vm disposed the isolate at its heap limit. */
export const memoryError = (isolate: ivm.Isolate, thrown: unknown): boolean =>
  isolate.isDisposed || messageOf(thrown).startsWith('Isolate was disposed')

/** Location in the code at a timeout, `3:7` of `request_transform:3:7`, when the stack contains it. */
export const locationOf = (thrown: unknown, name: string): string | undefined => {
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
  const start = stack.indexOf(`${name}:`)
  return start < 0 ? undefined : /^:\d+:\d+/.exec(stack.slice(start + name.length))?.[0].slice(1)
}
