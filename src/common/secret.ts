import { inspect } from 'node:util'

const MASK = '[secret]'

/**
 * A value that must not be printed: `String()`, JSON, template literals and `util.inspect` return `[secret]`. Only
 * `reveal()` returns the value; test/secrets.test.ts lists the files that may call it (docs/security-model.md, "No
 * plaintext at rest").
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
