/** `URLSearchParams`. */
import { Buffer } from 'node:buffer'

type Pair = [name: string, value: string]
type Init =
  | string
  | Iterable<readonly [unknown, unknown]>
  | Readonly<Record<string, unknown>>
  | null
  | undefined

const decode = (text: string): string => {
  const spaced = text.replaceAll('+', ' ')
  if (!spaced.includes('%')) return spaced.toWellFormed()
  try {
    return decodeURIComponent(spaced)
  } catch {
    const bytes = Buffer.from(spaced, 'utf8').toString('latin1')
    const raw = bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    return Buffer.from(raw, 'latin1').toString('utf8')
  }
}

const encode = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll('%20', '+')
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const parse = (text: string): Pair[] =>
  text
    .replace(/^\?/, '')
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf('=')
      return at < 0 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))]
    })

const text = (value: unknown): string => `${value}`.toWellFormed()

const pairsOf = (init: Init): Pair[] => {
  if (init === undefined || init === null) return []
  if (typeof init !== 'object') return parse(text(init))
  if (Symbol.iterator in init)
    return [...(init as Iterable<readonly [unknown, unknown]>)].map((pair) => {
      const [name, value, ...more] = [...pair]
      if (pair.length !== 2 || more.length > 0)
        throw Object.assign(new TypeError('Each query pair must be an iterable [name, value] tuple'), {
          code: 'ERR_INVALID_TUPLE',
        })
      return [text(name), text(value)]
    })
  return Object.entries(init).map(([name, value]) => [text(name), text(value)])
}

export class URLSearchParams {
  #pairs: Pair[]
  #changed: (search: string) => void

  /** `changed`: called with the new query after each change; used by URL. */
  constructor(init?: Init, changed: unknown = undefined) {
    this.#pairs = pairsOf(init)
    this.#changed = typeof changed === 'function' ? (changed as (search: string) => void) : () => {}
  }

  #change(pairs: Pair[]): void {
    this.#pairs = pairs
    this.#changed(this.toString())
  }

  get size(): number {
    return this.#pairs.length
  }

  append(name: unknown, value: unknown): void {
    this.#change([...this.#pairs, [text(name), text(value)]])
  }

  delete(name: unknown): void {
    this.#change(this.#pairs.filter(([each]) => each !== text(name)))
  }

  get(name: unknown): string | null {
    return this.#pairs.find(([each]) => each === text(name))?.[1] ?? null
  }

  getAll(name: unknown): string[] {
    return this.#pairs.filter(([each]) => each === text(name)).map(([, value]) => value)
  }

  has(name: unknown): boolean {
    return this.#pairs.some(([each]) => each === text(name))
  }

  set(name: unknown, value: unknown): void {
    const first = this.#pairs.findIndex(([each]) => each === text(name))
    if (first < 0) this.append(name, value)
    else
      this.#change(
        this.#pairs
          .map((pair, index): Pair => (index === first ? [pair[0], text(value)] : pair))
          .filter(([each], index) => index === first || each !== text(name)),
      )
  }

  sort(): void {
    this.#change([...this.#pairs].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
  }

  forEach(callback: (value: string, name: string, params: URLSearchParams) => unknown, self?: unknown): void {
    for (const [name, value] of this.#pairs) callback.call(self, value, name, this)
  }

  *entries(): Generator<Pair> {
    for (const [name, value] of this.#pairs) yield [name, value]
  }

  *keys(): Generator<string> {
    for (const [name] of this.#pairs) yield name
  }

  *values(): Generator<string> {
    for (const [, value] of this.#pairs) yield value
  }

  [Symbol.iterator](): Generator<Pair> {
    return this.entries()
  }

  toString(): string {
    return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
  }

  get [Symbol.toStringTag](): string {
    return 'URLSearchParams'
  }

  [Symbol.for('nodejs.util.inspect.custom')](
    _: unknown,
    options: object,
    inspect: (...args: unknown[]) => string,
  ): string {
    const shown = this.#pairs.map(
      ([name, value]) => `${inspect(name, options)} => ${inspect(value, options)}`,
    )
    return shown.length === 0 ? 'URLSearchParams {}' : `URLSearchParams { ${shown.join(', ')} }`
  }
}
