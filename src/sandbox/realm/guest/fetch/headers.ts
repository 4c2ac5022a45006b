/** `Headers`. */

type Init =
  | Headers
  | Iterable<readonly [unknown, unknown]>
  | Readonly<Record<string, unknown>>
  | null
  | undefined

const nameOf = (name: unknown): string => {
  const text = String(name)
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text))
    throw new TypeError(
      "Headers: a header name may not be empty and holds letters, digits and !#$%&'*+-.^_`|~ only.",
    )
  return text.toLowerCase()
}

const fieldOf = (value: unknown): string => {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '')
  if (/[\0\n\r]/.test(text)) throw new TypeError('Headers: a header value may not hold line breaks.')
  return text
}

const pairsOf = (init: Init): readonly (readonly [unknown, unknown])[] => {
  if (init === undefined || init === null) return []
  if (init instanceof Headers) return init.pairs()
  if (Symbol.iterator in init) return [...(init as Iterable<readonly [unknown, unknown]>)]
  return Object.entries(init).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((each) => [name, each] as const) : [[name, value] as const],
  )
}

export class Headers {
  #list = new Map<string, string[]>()

  constructor(init?: Init) {
    for (const [name, value] of pairsOf(init)) this.append(name, value)
  }

  append(name: unknown, value: unknown): void {
    const key = nameOf(name)
    this.#list.set(key, [...(this.#list.get(key) ?? []), fieldOf(value)])
  }

  set(name: unknown, value: unknown): void {
    this.#list.set(nameOf(name), [fieldOf(value)])
  }

  get(name: unknown): string | null {
    return this.#list.get(nameOf(name))?.join(', ') ?? null
  }

  has(name: unknown): boolean {
    return this.#list.has(nameOf(name))
  }

  delete(name: unknown): void {
    this.#list.delete(nameOf(name))
  }

  getSetCookie(): string[] {
    return [...(this.#list.get('set-cookie') ?? [])]
  }

  /** Extension of node-fetch 2: names and lists of values. */
  raw(): Record<string, string[]> {
    return Object.fromEntries([...this.#list].map(([name, values]) => [name, [...values]]))
  }

  /** A pair for each value. */
  pairs(): [string, string][] {
    return [...this.#list].flatMap(([name, values]) => values.map((value): [string, string] => [name, value]))
  }

  forEach(callback: (value: string, name: string, headers: Headers) => unknown, self?: unknown): void {
    for (const [name, value] of this.entries()) callback.call(self, value, name, this)
  }

  *entries(): Generator<[string, string]> {
    for (const name of [...this.#list.keys()].sort()) yield [name, this.get(name) ?? '']
  }

  *keys(): Generator<string> {
    for (const [name] of this.entries()) yield name
  }

  *values(): Generator<string> {
    for (const [, value] of this.entries()) yield value
  }

  [Symbol.iterator](): Generator<[string, string]> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'Headers'
  }
}
