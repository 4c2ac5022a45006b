/** The expressions that a caller may write, and the tokens that they are resolved to. */
import { holds } from '../access/authorize.ts'
import { AppError } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { Expressions, Opacity, Resolve } from '../expressions/types.ts'
import type { Work } from '../expressions/work.ts'
import type { Caller, UsedToken } from '../sdk/index.ts'
import type { Disclosures } from './guard/disclosures.ts'

/**
 * A token as expressions see it. Not an object literal with a getter: each of those gets a hidden class of its own,
 * which retains the getter and everything that the getter refers to until a major collection.
 */
class Resolved {
  readonly data: Json
  readonly opacity: Opacity | undefined
  readonly onResult: ((expression: string, result: Json) => void) | undefined
  readonly #used: UsedToken

  constructor(used: UsedToken, place: Opacity, disclosures: Disclosures | undefined) {
    this.data = used.data
    this.opacity = used.isOpaque ? place : undefined
    this.onResult = disclosures && ((expression, result) => disclosures.sent(used, expression, result))
    this.#used = used
  }

  get token(): Json {
    return this.#used.toToken()
  }
}

/** Resolves tokens for expressions in this kind of place; `disclosures` gets what they become. */
export const resolver =
  (
    tokens: ReadonlyMap<string, UsedToken>,
    {
      place = 'text',
      disclosures,
    }: { readonly place?: Opacity; readonly disclosures?: Disclosures | undefined } = {},
  ): Resolve =>
  (id) => {
    const token = tokens.get(id)
    return token && new Resolved(token, place, disclosures)
  }

export const mayNotUse = () =>
  new AppError(
    'forbidden',
    'The request holds an expression, and its caller does not hold the permission token:use. Send a key that does, or give the proxy an application.',
  )

/** Throws `forbidden` for a caller who may put no token's value into a body. */
export const checkUse = (caller: Caller): void => {
  if (!holds(caller, 'token:use')) throw mayNotUse()
}

/** The expressions that a caller may write, counted in `work`; none is compiled for one who may use no token. */
export const languageOf = (expressions: Expressions, caller: Caller, work: Work): Expressions =>
  holds(caller, 'token:use')
    ? expressions.within(work)
    : {
        ...expressions,
        parse: (): never => {
          throw mayNotUse()
        },
      }
