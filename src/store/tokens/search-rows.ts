import type { Session } from '../session.ts'
import { insertMetadata, insertTerm } from './statements.ts'
import type { TokenRow } from './types.ts'

export interface SearchedToken extends Pick<TokenRow, 'tenant_id' | 'seq' | 'metadata'> {
  readonly terms: readonly Uint8Array[]
}

/** Blind terms and metadata of tokens, as rows of their own. */
export const writeSearchRows = (session: Session, tokens: readonly SearchedToken[]): Promise<unknown> =>
  Promise.all([
    session.runAll(
      insertTerm,
      tokens.flatMap(({ tenant_id, seq, terms }) => terms.map((term) => ({ tenant_id, term, seq }))),
    ),
    session.runAll(
      insertMetadata,
      tokens.flatMap(({ tenant_id, seq, metadata }) =>
        Object.entries(metadata ?? {}).map(([key, value]) => ({ tenant_id, key, value, seq })),
      ),
    ),
  ])
