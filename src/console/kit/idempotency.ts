import type { Api } from '../api/client.ts'
import { headerPrefix } from '../api/prefix.ts'

/** Random bytes of an idempotency key. */
const BYTES = 16

const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(BYTES))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')

interface IdempotencyKey {
  /** Headers of the call. They stay the same until another input is sent, or until `reset`. */
  headers(input: unknown): Readonly<Record<string, string>>
  /** Reports success: the next call gets another key. */
  reset(): void
}

/**
 * The idempotency key of one form (completions §1). A create that is sent again after a timeout, or twice by a double
 * click, happens once; one with another input is another.
 */
export const createIdempotencyKey = (): IdempotencyKey => {
  let last: { readonly input: string; readonly key: string } | undefined
  return {
    headers: (input) => {
      const text = JSON.stringify(input) ?? ''
      if (last?.input !== text) last = { input: text, key: newKey() }
      return { [`${headerPrefix()}-IDEMPOTENCY-KEY`]: last.key }
    },
    reset: () => {
      last = undefined
    },
  }
}

/** Creates an entity of a list of the API, each input once. */
export const creator = <T>(api: Api, path: string): ((body: unknown) => Promise<T>) => {
  const key = createIdempotencyKey()
  return async (body) => {
    const created = await api.call<T>('POST', path, { body, headers: key.headers(body) })
    key.reset()
    return created
  }
}
