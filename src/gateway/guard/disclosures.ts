/** The values that one call took out of the vault: what must not come back in its response (completions §17). */
import { AppError } from '../../common/errors.ts'
import type { Json } from '../../common/json.ts'
import type { GuardMode, UsedToken } from '../../sdk/index.ts'
import { NeedleSet } from './needles.ts'
import type { Replaces } from './scan.ts'

/** A token whose value was disclosed. */
type Disclosed = Pick<UsedToken, 'id' | 'data' | 'isEgressOnly'>

/** Levels of objects in a value that are looked into. */
const MAX_DEPTH = 32

const tooMany = () =>
  new AppError(
    'too_large',
    'The request discloses more values than its response can be searched for. Name fewer tokens, or smaller ones.',
  )

const member = (path: string, name: string | number): string =>
  typeof name === 'number' ? `${path}[${name}]` : `${path}[${JSON.stringify(name)}]`

export class Disclosures {
  readonly needles = new NeedleSet()
  /** The request is still on its way: values may follow while the response comes. */
  mayGrow = false
  /** The response passes without a search. */
  isUnsearched = false
  readonly #mode: GuardMode
  #hasEgressOnly = false

  constructor(mode: GuardMode) {
    this.#mode = mode
  }

  /** Whether the response may be passed on unsearched in no case. */
  get isStrict(): boolean {
    return this.#mode === 'block' || this.#hasEgressOnly
  }

  get isBlocking(): boolean {
    return this.#mode === 'block'
  }

  /** Which values are replaced where they are found. */
  get replaces(): Replaces {
    return this.#mode === 'replace' || this.#mode === 'block' ? 'all' : 'egress_only'
  }

  /** Whether a response may differ from what came. */
  get mayReplace(): boolean {
    return this.replaces === 'all' || this.#hasEgressOnly
  }

  /** What is done about a value of a token: `replace` at least for one that no caller may read. */
  modeFor({ isEgressOnly }: { readonly isEgressOnly: boolean }): GuardMode {
    return isEgressOnly && this.#mode !== 'block' ? 'replace' : this.#mode
  }

  /** The result of an expression goes out. Throws `too_large` when a response that must be searched could not be. */
  sent(token: Disclosed, expression: string, result: Json): void {
    if (!this.#counts(token)) return
    this.#add(token, expression, result)
    this.#addData(token)
    this.#check()
  }

  /** Code was given the data of a token. Throws as `sent` does. */
  given(token: Disclosed): void {
    if (!this.#counts(token)) return
    this.#addData(token)
    this.#check()
  }

  #counts({ isEgressOnly }: Disclosed): boolean {
    if (isEgressOnly) this.#hasEgressOnly = true
    return isEgressOnly === true || this.#mode !== 'off'
  }

  #check(): void {
    if ((this.needles.isExceeded || this.isUnsearched) && this.isStrict) throw tooMany()
  }

  #addData(token: Disclosed): void {
    this.#members(token, token.data, '$', 0)
  }

  #members(token: Disclosed, value: Json, path: string, depth: number): void {
    if (value === null || depth > MAX_DEPTH) return
    if (typeof value !== 'object') {
      const filter = path === '$' ? '' : ` | json: ${quoted(path)}`
      this.#add(token, `{{ ${token.id}${filter} }}`, value)
    } else if (Array.isArray(value))
      for (const [at, item] of value.entries()) this.#members(token, item, member(path, at), depth + 1)
    else
      for (const [name, item] of Object.entries(value))
        this.#members(token, item as Json, member(path, name), depth + 1)
  }

  #add({ id, isEgressOnly }: Disclosed, expression: string, value: Json): void {
    if (typeof value !== 'string' && typeof value !== 'number') return
    this.needles.add({ tokenId: id, expression, value: String(value), isEgressOnly: isEgressOnly === true })
  }
}

/** An argument of a filter, in quotes that the text itself does not hold where that can be. */
const quoted = (text: string): string =>
  text.includes("'") ? `"${text.replace(/["\\]/g, '\\$&')}"` : `'${text.replace(/\\/g, '\\\\')}'`
