import { AppError } from '../common/errors.ts'
import { isObject, type Json } from '../common/json.ts'

type Members = Readonly<Record<string, unknown>>

/** A member of `bt` as an operation, and what the code gave as its input. */
interface SdkCall {
  readonly rpc: string
  /** Undefined when it is not what the operation takes. */
  input(given: Json): Members | undefined
}

const members = (given: unknown): Members | undefined =>
  isObject(given) ? given : given === null || given === undefined ? {} : undefined

const identified = (given: Json): Members | undefined =>
  isObject(given) && typeof given.id === 'string' && given.id !== '' ? { id: given.id } : undefined

/** `{ id, [name]: { … } }` as one object; the id is that beside it. */
const identifiedWith =
  (name: string) =>
  (given: Json): Members | undefined => {
    const rest = isObject(given) ? members(given[name]) : undefined
    const id = identified(given)
    return rest && id && { ...rest, ...id }
  }

const whole = (body: Json): Members => ({ body })

const CALLS: Readonly<Record<string, SdkCall>> = {
  'tokens.create': { rpc: 'Tokens.Create', input: members },
  'tokens.retrieve': { rpc: 'Tokens.Get', input: identified },
  'tokens.update': { rpc: 'Tokens.Update', input: identifiedWith('changes') },
  'tokens.delete': { rpc: 'Tokens.Delete', input: identified },
  'tokens.list': { rpc: 'Tokens.List', input: members },
  'tokens.search': { rpc: 'Tokens.Search', input: members },
  tokenize: { rpc: 'Tokens.Tokenize', input: whole },
  detokenize: { rpc: 'Tokens.Detokenize', input: whole },
  'reactors.react': { rpc: 'Reactors.React', input: identifiedWith('request') },
}

/** What a member of `bt` calls. Throws `invalid` for one that does not exist, or that was given something else. */
export const sdkCall = (method: string, given: Json): { readonly rpc: string; readonly input: Members } => {
  const call = Object.hasOwn(CALLS, method) ? CALLS[method] : undefined
  if (call === undefined) throw new AppError('invalid', `bt.${method.slice(0, 50)} does not exist.`)
  const input = call.input(given)
  if (input === undefined)
    throw new AppError(
      'invalid',
      `bt.${method} was not given what it takes: an id, or an object, as documented.`,
    )
  return { rpc: call.rpc, input }
}
