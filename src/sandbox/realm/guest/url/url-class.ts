/** `URL`, parsed by the host. */
import { callSync } from '../bridge.ts'
import { URLSearchParams } from './search-params.ts'

/** In the order of Node's inspection. */
const FIELDS = [
  'href',
  'origin',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'searchParams',
  'hash',
] as const

type Fields = Record<Exclude<(typeof FIELDS)[number], 'searchParams'>, string>

export class URL {
  declare href: string
  declare readonly origin: string
  declare protocol: string
  declare username: string
  declare password: string
  declare host: string
  declare hostname: string
  declare port: string
  declare pathname: string
  declare search: string
  declare hash: string
  #fields: Fields
  #params: URLSearchParams | undefined

  constructor(input: unknown, base?: unknown) {
    try {
      this.#fields = callSync('url.parse', `${input}`, ...(base === undefined ? [] : [`${base}`]))
    } catch (error) {
      throw Object.assign(error as Error, { input: `${input}` })
    }
  }

  static {
    for (const name of FIELDS) {
      if (name === 'searchParams') continue
      Object.defineProperty(URL.prototype, name, {
        configurable: true,
        enumerable: true,
        get(this: URL) {
          return this.#fields[name]
        },
        ...(name !== 'origin' && {
          set(this: URL, value: unknown) {
            this.#fields = callSync('url.set', this.#fields.href, name, `${value}`)
            if (name !== 'hash') this.#params = undefined
          },
        }),
      })
    }
  }

  static canParse(input: unknown, base?: unknown): boolean {
    try {
      return new URL(input, base) !== undefined
    } catch {
      return false
    }
  }

  get searchParams(): URLSearchParams {
    this.#params ??= new URLSearchParams(this.search, (search: string) => {
      this.#fields = callSync('url.set', this.#fields.href, 'search', search)
    })
    return this.#params
  }

  toString(): string {
    return this.href
  }

  toJSON(): string {
    return this.href
  }

  get [Symbol.toStringTag](): string {
    return 'URL'
  }

  [Symbol.for('nodejs.util.inspect.custom')](
    _: unknown,
    options: object,
    inspect: (...args: unknown[]) => string,
  ): string {
    const shown = Object.fromEntries(FIELDS.map((name) => [name, this[name]]))
    return `URL ${inspect(shown, options)}`
  }
}
