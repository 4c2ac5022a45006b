/**
 * Operations that pages of other origins may call (completions §20), and of which origins: those that the application
 * lists, or any where it lists `*`.
 */
const OPERATIONS = new Map<string, 'listed' | 'any'>([
  ['Tokens.Create', 'any'],
  ['Tokens.Tokenize', 'any'],
  ['Tokens.Update', 'listed'],
  ['Tokens.Get', 'listed'],
  ['Tokens.Detokenize', 'listed'],
  ['Sessions.Create', 'listed'],
])

/** Stands for all origins in the list of an application. No browser sends it. */
export const ANY_ORIGIN = '*'

/** True for an operation that pages of other origins may call. */
export const isCrossOrigin = (rpc: string): boolean => OPERATIONS.has(rpc)

/** True for an operation that pages of all origins may call where an application lists `*`. */
export const isOpenToAny = (rpc: string): boolean => OPERATIONS.get(rpc) === 'any'
