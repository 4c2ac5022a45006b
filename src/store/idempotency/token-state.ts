import type { TokenRecord } from '../tokens/token-row.ts'
import type { ShownToken } from './types.ts'

/** Whether a live row is in the state that a response shows; false when it is gone. */
export const isUnchanged = (
  token: TokenRecord | undefined,
  { created_at, version }: ShownToken,
): token is TokenRecord => token?.created_at === created_at && token.version === version
