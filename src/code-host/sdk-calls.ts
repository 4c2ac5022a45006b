import { AppError } from '../common/errors.ts'
import { isObject, type Json } from '../common/json.ts'

/** A member of `bt` as an operation and its input. `input`: the list of arguments that the code gave. */
interface SdkCall {
  readonly rpc: string
  input(args: readonly Json[]): Readonly<Record<string, unknown>>
}

const wrong = (method: string, takes: string) =>
  new AppError('invalid', `bt.${method} was not called with what it takes: ${takes}.`)

const object = (method: string, value: Json | undefined, takes: string): Record<string, unknown> => {
  if (value === undefined || value === null) return {}
  if (!isObject(value)) throw wrong(method, takes)
  return value
}

const idOf = (method: string, value: Json | undefined): string => {
  if (typeof value !== 'string' || value === '') throw wrong(method, 'an id first')
  return value
}

const withId = (method: string, [id, body]: readonly Json[]) => ({
  ...object(method, body, 'an id and an object'),
  id: idOf(method, id),
})

const CALLS: Readonly<Record<string, SdkCall>> = {
  'tokens.create': { rpc: 'Tokens.Create', input: ([body]) => object('tokens.create', body, 'a token') },
  'tokens.retrieve': { rpc: 'Tokens.Get', input: ([id]) => ({ id: idOf('tokens.retrieve', id) }) },
  'tokens.update': { rpc: 'Tokens.Update', input: (args) => withId('tokens.update', args) },
  'tokens.delete': { rpc: 'Tokens.Delete', input: ([id]) => ({ id: idOf('tokens.delete', id) }) },
  'tokens.list': { rpc: 'Tokens.List', input: ([query]) => object('tokens.list', query, 'a query') },
  'tokens.search': { rpc: 'Tokens.Search', input: ([query]) => object('tokens.search', query, 'a search') },
  tokenize: { rpc: 'Tokens.Tokenize', input: ([body = null]) => ({ body }) },
  detokenize: { rpc: 'Tokens.Detokenize', input: ([body = null]) => ({ body }) },
  'reactors.react': { rpc: 'Reactors.React', input: (args) => withId('reactors.react', args) },
}

/** What a member of `bt` calls. Throws `invalid` for one that does not exist, or that is called with something else. */
export const sdkCall = (
  method: string,
  input: Json,
): { readonly rpc: string; readonly input: Readonly<Record<string, unknown>> } => {
  const call = Object.hasOwn(CALLS, method) ? CALLS[method] : undefined
  if (call === undefined) throw new AppError('invalid', `bt.${method.slice(0, 50)} does not exist.`)
  return { rpc: call.rpc, input: call.input(Array.isArray(input) ? input : [input]) }
}
