import { inspect } from 'node:util'

const MASK = '[secret]'

/**
 * A value that must not be printed: `String()`, JSON, template literals and `util.inspect` all give `[secret]`.
 * Only `reveal()` gives the value; the files that may call it are listed in test/secrets.test.ts (docs/security-model.md, "No plaintext at rest").
 */
export class Secret<T> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  reveal(): T {
    return this.#value
  }

  toString(): string {
    return MASK
  }

  toJSON(): string {
    return MASK
  }

  [Symbol.toPrimitive](): string {
    return MASK
  }

  [inspect.custom](): string {
    return MASK
  }
}
