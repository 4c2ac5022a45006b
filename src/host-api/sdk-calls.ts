import { AppError } from '../common/errors.ts'
import { isObject, type Json } from '../common/json.ts'

type Members = Readonly<Record<string, unknown>>

/** Operation of a member of `bt`, and the conversion of its arguments. */
interface SdkCall {
  readonly rpc: string
  /** Undefined for arguments of a wrong type. */
  input(args: readonly Json[]): Members | undefined
}

const members = (argument: unknown): Members | undefined =>
  isObject(argument) ? argument : argument === null || argument === undefined ? {} : undefined

const options = ([argument]: readonly Json[]): Members | undefined => members(argument)

const identified = ([id]: readonly Json[]): Members | undefined =>
  typeof id === 'string' && id !== '' ? { id } : undefined

/** Merges an id and an object; the separate id wins. */
const identifiedWith = (args: readonly Json[]): Members | undefined => {
  const rest = members(args[1])
  const id = identified(args)
  return rest && id && { ...rest, ...id }
}

/** List filters accept one value or several. */
const filters = (args: readonly Json[]): Members | undefined => {
  const filter = options(args)
  return (
    filter &&
    Object.fromEntries(
      Object.entries(filter).map(([name, value]) => [
        name,
        (name === 'id' || name === 'type') && typeof value === 'string' ? [value] : value,
      ]),
    )
  )
}

const asBody = ([body]: readonly Json[]): Members | undefined => (body === undefined ? undefined : { body })

const CALLS: Readonly<Record<string, SdkCall>> = {
  'tokens.create': { rpc: 'Tokens.Create', input: options },
  'tokens.retrieve': { rpc: 'Tokens.Get', input: identified },
  'tokens.update': { rpc: 'Tokens.Update', input: identifiedWith },
  'tokens.delete': { rpc: 'Tokens.Delete', input: identified },
  'tokens.list': { rpc: 'Tokens.List', input: filters },
  'tokens.search': { rpc: 'Tokens.Search', input: options },
  tokenize: { rpc: 'Tokens.Tokenize', input: asBody },
  detokenize: { rpc: 'Tokens.Detokenize', input: asBody },
  'reactors.react': { rpc: 'Reactors.React', input: identifiedWith },
}

/** Maps a call of `bt` to an operation. Throws `invalid` for unknown members and wrong arguments. */
export const sdkCall = (method: string, args: Json): { readonly rpc: string; readonly input: Members } => {
  const call = Object.hasOwn(CALLS, method) ? CALLS[method] : undefined
  if (call === undefined) throw new AppError('invalid', `bt.${method.slice(0, 50)} does not exist.`)
  const input = Array.isArray(args) ? call.input(args) : undefined
  if (input === undefined)
    throw new AppError(
      'invalid',
      `bt.${method} was called with wrong arguments. See the documentation of bt.`,
    )
  return { rpc: call.rpc, input }
}
