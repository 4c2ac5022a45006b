import { setTimeout } from 'node:timers/promises'
import { whenReady } from '../../common/eventual.ts'
import { own } from '../bytes.ts'
import type { Session } from '../session.ts'
import { markEgressOnly } from '../tenants/commands.ts'
import { egressOnlyTenant } from '../tenants/statements.ts'
import { createTotals } from '../totals.ts'
import type { Writer } from '../writer.ts'
import { associateTokens, dissociateTokens } from './associate.ts'
import { deleteOneToken, purgeDueTokens, updateOneToken } from './change.ts'
import { createTokens } from './create.ts'
import { listTokens } from './list.ts'
import { locatedToken, tokenById, tokenHeadsByIds, tokensByIds } from './statements.ts'
import { egressOf, revive, toTokenHead, toTokenRow } from './token-row.ts'
import { countTokens } from './total.ts'
import { groupsAfter, traitsOf } from './traits.ts'
import type { NewToken, TokenStore } from './types.ts'

/** Packs the bytes of all tokens into one buffer: sending each to another thread would cost an allocation. */
const packed = (tokens: readonly NewToken[]): NewToken[] => {
  const bytes = tokens.flatMap(({ sealed, ephemeral, terms }) =>
    ephemeral ? [sealed, ephemeral, ...terms] : [sealed, ...terms],
  )
  const all = Buffer.from(new ArrayBuffer(bytes.reduce((sum, { byteLength }) => sum + byteLength, 0)))
  let at = 0
  const copy = (part: Uint8Array): Buffer => {
    all.set(part, at)
    at += part.byteLength
    return all.subarray(at - part.byteLength, at)
  }
  return tokens.map((token) => ({
    ...token,
    sealed: copy(token.sealed),
    ephemeral: token.ephemeral && copy(token.ephemeral),
    terms: token.terms.map(copy),
  }))
}

const sizeOf = (token: Pick<NewToken, 'sealed' | 'ephemeral'>): number =>
  1_000 + token.sealed.byteLength + (token.ephemeral?.byteLength ?? 0)

interface TokenStoreDeps {
  readonly session: Session
  readonly writer: Writer
  /** ms until all processes know of a change. */
  readonly changesWithinMs: number
}

/**
 * Before a tenant gets its first token that is `egress_only`, all gateways know: they guard the response of the first
 * request that sends it.
 */
const createEgressOnlyMark =
  ({ session, writer, changesWithinMs }: TokenStoreDeps) =>
  async (tenantId: string): Promise<void> => {
    if ((await session.get(egressOnlyTenant, { tenant_id: tenantId })) !== undefined) return
    if (await writer.write(markEgressOnly, { tenantId })) await setTimeout(changesWithinMs)
  }

export const createTokenStore = (deps: TokenStoreDeps): TokenStore => {
  const { session, writer } = deps
  const totals = createTotals()
  const markTenant = createEgressOnlyMark(deps)
  return {
    create: async (tokens, now) => {
      if (tokens.length === 0) return []
      const hidden = tokens.find(({ egress }) => egress?.egress_only)
      if (hidden !== undefined) await markTenant(hidden.tenant_id)
      const bytes = tokens.reduce((sum, token) => sum + sizeOf(token), 0)
      const created = await writer.write(createTokens, { tokens: packed(tokens), now }, bytes)
      return created.map((result) =>
        result.kind === 'duplicate' ? { kind: 'duplicate', token: revive(result.token) } : result,
      )
    },

    read: (tenantId, ids, now) => {
      if (ids.length === 0) return []
      if (ids.length === 1)
        return whenReady(
          session.get(tokenById, { tenant_id: tenantId, id: ids[0] as string, now }),
          (record) => (record === undefined ? [] : [toTokenRow(record, now)]),
        )
      return whenReady(
        session.all(tokensByIds, { tenant_id: tenantId, ids: session.dialect.list(ids), now }),
        (records) => records.map((record) => toTokenRow(record, now)),
      )
    },

    heads: async (tenantId, ids, now) => {
      if (ids.length === 0) return []
      const list = session.dialect.list(ids)
      const heads = await session.all(tokenHeadsByIds, { tenant_id: tenantId, ids: list, now })
      return heads.map(({ egress, ...head }) => toTokenHead({ ...head, egress: egressOf(egress) }))
    },

    located: async (tenantId, id, now) => {
      const token = await session.get(locatedToken, { tenant_id: tenantId, id, now })
      return token && { ...token, egress: egressOf(token.egress) }
    },

    groups: (tenantId, after, limit) => groupsAfter(session, tenantId, after, limit),

    traits: (tenantId, group, now, limit) => traitsOf(session, tenantId, group, now, limit),

    list: async (query) => (await listTokens(session, query)).map(toTokenHead),

    count: (query) => {
      const { now: _, ...key } = query
      return totals.of(key, () => countTokens(session, query))
    },

    update: async (update, now) => {
      const { row, terms } = update
      if (row.egress?.egress_only) await markTenant(row.tenant_id)
      const updated = await writer.write(
        updateOneToken,
        {
          update: {
            ...update,
            row: { ...row, sealed: own(row.sealed), ephemeral: row.ephemeral && own(row.ephemeral) },
            terms: terms.map(own),
          },
          now,
        },
        sizeOf(row),
      )
      return updated.kind === 'duplicate' ? { kind: 'duplicate', token: revive(updated.token) } : updated
    },

    associate: (association, now) => writer.write(associateTokens, { association, now }),

    dissociate: (association) => writer.write(dissociateTokens, { association }),

    delete: (tenantId, id, now, row) =>
      writer.write(deleteOneToken, {
        tenantId,
        id,
        now,
        expected: row && { seq: row.seq, version: row.version },
      }),

    purge: (now, limit) => writer.write(purgeDueTokens, { now, limit }),
  }
}
