/** `URL`, parsed by the host. */
import { callSync } from '../border.ts'
import { URLSearchParams } from './search-params.ts'

interface Fields {
  readonly href: string
  readonly origin: string
  readonly protocol: string
  readonly username: string
  readonly password: string
  readonly host: string
  readonly hostname: string
  readonly port: string
  readonly pathname: string
  readonly search: string
  readonly hash: string
}

export class URL {
  #fields: Fields
  #params: URLSearchParams | undefined

  constructor(input: unknown, base?: unknown) {
    try {
      this.#fields = callSync('url.parse', `${input}`, ...(base === undefined ? [] : [`${base}`]))
    } catch (error) {
      throw Object.assign(error as Error, { input: `${input}` })
    }
  }

  static canParse(input: unknown, base?: unknown): boolean {
    try {
      return new URL(input, base) !== undefined
    } catch {
      return false
    }
  }

  #set(name: string, value: unknown): void {
    this.#fields = callSync('url.set', this.#fields.href, name, `${value}`)
    if (name !== 'hash') this.#params = undefined
  }

  get href(): string {
    return this.#fields.href
  }

  set href(value: unknown) {
    this.#set('href', value)
  }

  get origin(): string {
    return this.#fields.origin
  }

  get protocol(): string {
    return this.#fields.protocol
  }

  set protocol(value: unknown) {
    this.#set('protocol', value)
  }

  get username(): string {
    return this.#fields.username
  }

  set username(value: unknown) {
    this.#set('username', value)
  }

  get password(): string {
    return this.#fields.password
  }

  set password(value: unknown) {
    this.#set('password', value)
  }

  get host(): string {
    return this.#fields.host
  }

  set host(value: unknown) {
    this.#set('host', value)
  }

  get hostname(): string {
    return this.#fields.hostname
  }

  set hostname(value: unknown) {
    this.#set('hostname', value)
  }

  get port(): string {
    return this.#fields.port
  }

  set port(value: unknown) {
    this.#set('port', value)
  }

  get pathname(): string {
    return this.#fields.pathname
  }

  set pathname(value: unknown) {
    this.#set('pathname', value)
  }

  get search(): string {
    return this.#fields.search
  }

  set search(value: unknown) {
    this.#set('search', value)
  }

  get hash(): string {
    return this.#fields.hash
  }

  set hash(value: unknown) {
    this.#set('hash', value)
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
    const {
      href,
      origin,
      protocol,
      username,
      password,
      host,
      hostname,
      port,
      pathname,
      search,
      searchParams,
      hash,
    } = this
    const all = {
      href,
      origin,
      protocol,
      username,
      password,
      host,
      hostname,
      port,
      pathname,
      search,
      searchParams,
      hash,
    }
    return `URL ${inspect(all, options)}`
  }
}
