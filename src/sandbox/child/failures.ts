import type ivm from 'isolated-vm'

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : '')

/** isolated-vm ended an entry because its time was over. */
export const timedOut = (thrown: unknown): boolean => messageOf(thrown) === 'Script execution timed out.'

/** isolated-vm gave the isolate up: its heap grew past its limit. */
export const memoryError = (isolate: ivm.Isolate, thrown: unknown): boolean =>
  isolate.isDisposed || messageOf(thrown).startsWith('Isolate was disposed')

/** Where a timeout met the code, `request_transform:3:7`, when isolated-vm's stack tells. */
export const placeOf = (thrown: unknown, name: string): string | undefined => {
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
  const start = stack.indexOf(`${name}:`)
  return start < 0 ? undefined : /^:\d+:\d+/.exec(stack.slice(start + name.length))?.[0].slice(1)
}
