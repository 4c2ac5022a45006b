import { headerPrefix } from '../api/prefix.ts'

/** Random bytes of an idempotency key. */
const BYTES = 16

const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(BYTES))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')

export interface Once {
  /** Headers of the call: the same until another input is sent, or until `done`. */
  headers(input: unknown): Readonly<Record<string, string>>
  /** Reports success: the next call gets another key. */
  done(): void
}

/**
 * Idempotency keys of one form (completions §1). A create that is sent again after a timeout, or twice by a double click,
 * happens once; one with another input is another.
 */
export const once = (): Once => {
  let last: { readonly input: string; readonly key: string } | undefined
  return {
    headers: (input) => {
      const text = JSON.stringify(input) ?? ''
      if (last?.input !== text) last = { input: text, key: newKey() }
      return { [`${headerPrefix()}-IDEMPOTENCY-KEY`]: last.key }
    },
    done: () => {
      last = undefined
    },
  }
}
