import type { TokenRecord } from '../tokens/row.ts'
import type { ShownToken } from './types.ts'

/** Whether a live row is in the state that a response shows; false when it is gone. */
export const isAsShown = (
  token: TokenRecord | undefined,
  { created_at, modified_at, ephemeral = false }: ShownToken,
  now: number,
): token is TokenRecord =>
  token?.created_at === created_at &&
  token.modified_at === modified_at &&
  (!ephemeral || (token.ephemeral_until ?? now) > now)
