import type { Session } from '../session.ts'
import { insertMetadata, insertTerm } from './statements.ts'
import type { TokenRow } from './types.ts'

export interface SearchedToken extends Pick<TokenRow, 'tenant_id' | 'seq' | 'metadata'> {
  readonly terms: readonly Uint8Array[]
}

/** Sends the statements that write blind terms and metadata of tokens, as rows of their own. */
export const writeSearchRows = (session: Session, tokens: readonly SearchedToken[]): Promise<unknown>[] => {
  const terms = tokens.flatMap(({ tenant_id, seq, terms }) => terms.map((term) => ({ tenant_id, term, seq })))
  const entries = tokens.flatMap(({ tenant_id, seq, metadata }) =>
    Object.entries(metadata ?? {}).map(([key, value]) => ({ tenant_id, key, value, seq })),
  )
  return [
    ...(terms.length > 0 ? [session.runAll(insertTerm, terms)] : []),
    ...(entries.length > 0 ? [session.runAll(insertMetadata, entries)] : []),
  ]
}
