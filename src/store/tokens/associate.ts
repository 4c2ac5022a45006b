import { defineCommand } from '../command.ts'
import type { Session } from '../session.ts'
import { deleteAssociation, insertAssociation, liveTokenBySeq } from './statements.ts'
import type { Association } from './types.ts'

const rowOf = ({ tenantId, parentSeq, childSeq }: Association) => ({
  tenant_id: tenantId,
  parent_seq: parentSeq,
  child_seq: childSeq,
})

/** Both tokens must be live in the transaction; deleting a token deletes its associations. */
export const associateTokens = defineCommand({
  name: 'tokens.associate',
  run: async (
    session: Session,
    { association, now }: { readonly association: Association; readonly now: number },
  ): Promise<'associated' | 'exists' | 'gone'> => {
    const { tenantId: tenant_id, parentSeq, childSeq } = association
    for (const seq of [parentSeq, childSeq])
      if (!(await session.get(liveTokenBySeq, { tenant_id, seq, now }))) return 'gone'
    return (await session.runAll(insertAssociation, [rowOf(association)])) > 0 ? 'associated' : 'exists'
  },
  tenantOf: ({ association }) => association.tenantId,
  scope: 'tenant',
  isEffect: true,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
})

/** False when there was none. */
export const dissociateTokens = defineCommand({
  name: 'tokens.dissociate',
  run: async (session: Session, { association }: { readonly association: Association }): Promise<boolean> =>
    (await session.run(deleteAssociation, rowOf(association))) > 0,
  tenantOf: ({ association }) => association.tenantId,
  scope: 'tenant',
  isEffect: true,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
})
