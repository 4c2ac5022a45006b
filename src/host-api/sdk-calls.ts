import { AppError } from '../common/errors.ts'
import { isObject, type Json } from '../common/json.ts'

type Members = Readonly<Record<string, unknown>>

/** A member of `bt` as an operation, and the arguments that the code gave as its input. */
interface SdkCall {
  readonly rpc: string
  /** Undefined when it is not what the operation takes. */
  input(args: readonly Json[]): Members | undefined
}

const members = (given: unknown): Members | undefined =>
  isObject(given) ? given : given === null || given === undefined ? {} : undefined

const options = ([given]: readonly Json[]): Members | undefined => members(given)

const identified = ([id]: readonly Json[]): Members | undefined =>
  typeof id === 'string' && id !== '' ? { id } : undefined

/** An id and an object as one; the id is that beside it. */
const identifiedWith = (args: readonly Json[]): Members | undefined => {
  const rest = members(args[1])
  const id = identified(args)
  return rest && id && { ...rest, ...id }
}

/** Filters of lists may be given one value or several. */
const filters = (args: readonly Json[]): Members | undefined => {
  const given = options(args)
  return (
    given &&
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name,
        (name === 'id' || name === 'type') && typeof value === 'string' ? [value] : value,
      ]),
    )
  )
}

const whole = ([body]: readonly Json[]): Members | undefined => (body === undefined ? undefined : { body })

const CALLS: Readonly<Record<string, SdkCall>> = {
  'tokens.create': { rpc: 'Tokens.Create', input: options },
  'tokens.retrieve': { rpc: 'Tokens.Get', input: identified },
  'tokens.update': { rpc: 'Tokens.Update', input: identifiedWith },
  'tokens.delete': { rpc: 'Tokens.Delete', input: identified },
  'tokens.list': { rpc: 'Tokens.List', input: filters },
  'tokens.search': { rpc: 'Tokens.Search', input: options },
  tokenize: { rpc: 'Tokens.Tokenize', input: whole },
  detokenize: { rpc: 'Tokens.Detokenize', input: whole },
  'reactors.react': { rpc: 'Reactors.React', input: identifiedWith },
}

/** What a member of `bt` calls. Throws `invalid` for one that does not exist, or that was given something else. */
export const sdkCall = (method: string, given: Json): { readonly rpc: string; readonly input: Members } => {
  const call = Object.hasOwn(CALLS, method) ? CALLS[method] : undefined
  if (call === undefined) throw new AppError('invalid', `bt.${method.slice(0, 50)} does not exist.`)
  const input = Array.isArray(given) ? call.input(given) : undefined
  if (input === undefined)
    throw new AppError(
      'invalid',
      `bt.${method} was not given what it takes: an id, or an object, as documented.`,
    )
  return { rpc: call.rpc, input }
}
