import { decide, seesDataIn } from '../access/rules.ts'
import type { AuditRecord } from '../audit/types.ts'
import { noteWritten } from '../common/conditional-call.ts'
import { AppError, invalid } from '../common/errors.ts'
import { mapInTurns, yieldIfDue } from '../common/event-loop.ts'
import { weigh } from '../common/weight.ts'
import { bodyWork } from '../expressions/work.ts'
import type { TenantKeys } from '../keys/types.ts'
import type { Disclosure, Grants, Tenant, Token, TokenInput, UseContext, Work } from '../sdk/index.ts'
import type { Created, NewToken, TokenRow } from '../store/tokens/types.ts'
import { aliasCandidates, matchesTokenData } from './alias.ts'
import { deniedRecord, doneRecord, duplicateRecord } from './audit-records.ts'
import { omitWriteOnly } from './disclosure.ts'
import { shownTo } from './egress.ts'
import { type IdPlan, idAttempts } from './ids.ts'
import { checkMask, type IndexTerms, indexTerms } from './index-terms.ts'
import { createIssues } from './issues.ts'
import { createMemoryBudget, type ReserveMemory } from './memory-budget.ts'
import { storedBytes } from './open.ts'
import { type Opened, openToken, sealToken, splitEphemeral, tokenBinding } from './seal.ts'
import { type ShownRow, serializeOrSummarize } from './serialize-token.ts'
import { type Draft, expressionsOf, parseDraft } from './token-input.ts'
import { stateOf, versionOf } from './used.ts'
import { timeOf, type VaultDeps } from './vault-deps.ts'

/** Result of one draft: a new token, or the token that it duplicates (`denied`: which the caller may not read). */
export type Outcome = {
  readonly row: ShownRow & Pick<TokenRow, 'seq' | 'version' | 'masked'>
  readonly opened: Opened
} & (
  | { readonly kind: 'created'; readonly disclosure: Disclosure }
  | { readonly kind: 'duplicate'; readonly disclosure: Disclosure | 'denied' }
)

/** A draft with all members of its row but the id. */
interface Prepared {
  readonly draft: Draft
  readonly disclosure: Disclosure
  readonly opened: Opened
  readonly derived: IndexTerms
  readonly deduplicate: boolean
  readonly plan: IdPlan
}

export const isOn = (setting: string | undefined): boolean => setting === 'true'

const planId = (deps: VaultDeps, draft: Draft, opened: Opened, work: Work): IdPlan => {
  const { id, data } = draft
  if (id.kind === 'none') return { kind: 'new' }
  if (id.kind === 'alias') {
    const shown = omitWriteOnly(draft.type, opened.data)
    return { kind: 'alias', candidates: aliasCandidates(deps.expressions, id.text, data, shown, work) }
  }
  if (matchesTokenData(id.text, data))
    throw invalid({ id: ['must not equal the data of the token, or contain a number from it'] })
  return { kind: 'fixed', id: id.text }
}

/** The disclosure of `token:create` in each container; one denied container denies all drafts. */
const authorize = async (
  deps: VaultDeps,
  drafts: readonly Draft[],
  context: UseContext,
  now: number,
): Promise<readonly Disclosure[]> => {
  const disclosures: Disclosure[] = []
  for (const { id, type, container } of drafts) {
    const pause = yieldIfDue()
    if (pause) await pause
    const wanted = { id: id.kind === 'given' ? id.text : '', container }
    const decision = decide(context.caller.grants, 'token:create', wanted)
    if (decision === 'denied') {
      // Without the chosen id, which may hold data: it was not checked yet.
      await deps.journal.append([deniedRecord(deps, { id: '', type: type.name }, 'create', context, now)])
      throw new AppError(
        'forbidden',
        `Creating a token in the container "${container}" is not permitted. Use a key that holds token:create there.`,
      )
    }
    disclosures.push(decision)
  }
  return disclosures
}

/**
 * Bytes of a new token besides its content: draft, row, index terms, audit record and statement. 10,000 short strings
 * take 30 MiB.
 */
const OVERHEAD = 1024

/**
 * Reserves what new tokens take besides their content, until the call is over: before they are parsed, so that a call
 * beyond the budget costs nothing.
 */
export const reserveNew = (deps: VaultDeps, context: UseContext, count: number): ReserveMemory => {
  const reserve = createMemoryBudget(deps, context)
  reserve(count * OVERHEAD)
  return reserve
}

/** Reserves what the content of the drafts takes once it is sealed. */
const reserveContent = async (drafts: readonly Draft[], reserve: ReserveMemory): Promise<void> => {
  let bytes = 0
  for (const { data, mask, metadata, searchIndexes } of drafts) {
    const pause = yieldIfDue()
    if (pause) await pause
    bytes += weigh([data, mask, metadata, searchIndexes], Number.POSITIVE_INFINITY)
  }
  reserve(bytes)
}

const prepare = (
  deps: VaultDeps,
  ring: TenantKeys,
  settings: Tenant['settings'],
  draft: Draft,
  disclosure: Disclosure,
  grants: Grants,
  now: number,
  work: Work,
): Prepared => {
  const opened: Opened = {
    ...splitEphemeral(draft.type, draft.data, ({ seconds }) => now + seconds * 1000),
    ...expressionsOf(draft),
  }
  checkMask(deps, draft.type, opened, work)
  const deduplicate = draft.deduplicate ?? isOn(settings.deduplicate_tokens)
  const fingerprinted =
    deduplicate || draft.fingerprintExpression !== undefined || isOn(settings.fingerprint_tokens)
  const columns = { metadata: draft.metadata ?? null, egress: draft.egress }
  const derived = indexTerms(deps, ring, draft.type, opened, columns, fingerprinted, work)
  return {
    draft,
    disclosure,
    opened,
    derived,
    // The id of an existing token would confirm a guess of its data.
    deduplicate: deduplicate && seesDataIn(grants, draft.container),
    plan: planId(deps, draft, opened, work),
  }
}

const newToken = (
  { draft, opened, derived, deduplicate }: Prepared,
  id: string,
  ring: TenantKeys,
  { caller }: UseContext,
  now: number,
  parentSeq: number | undefined,
): NewToken => {
  const row = {
    tenant_id: caller.tenantId,
    id,
    type: draft.type.name,
    container: draft.container,
    metadata: draft.metadata ?? null,
    fingerprint: derived.fingerprint,
    egress: draft.egress,
    expires_at: draft.expiresAt ?? null,
    created_by: caller.actorId,
    created_at: now,
  }
  return {
    ...row,
    ...sealToken(ring, opened, tokenBinding(caller.tenantId, { ...row, version: 1 })),
    terms: derived.terms,
    deduplicate: deduplicate && derived.fingerprint !== null,
    fallbackIds: [],
    ...(parentSeq === undefined ? {} : { parentSeq }),
  }
}

/** Stores all drafts or none, in order. */
const store = async (
  deps: VaultDeps,
  ring: TenantKeys,
  prepared: readonly Prepared[],
  context: UseContext,
  now: number,
  parentSeq: number | undefined,
): Promise<{ readonly tokens: readonly NewToken[]; readonly created: readonly Created[] }> => {
  const plans = prepared.map(({ plan }) => plan)
  let used: unknown
  for await (const ids of idAttempts(deps, context.caller.tenantId, plans, now)) {
    const tokens = await mapInTurns(prepared, (item, i) =>
      newToken(item, ids[i] as string, ring, context, now, parentSeq),
    )
    try {
      return { tokens, created: await deps.tokens.create(tokens, now) }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'conflict') throw error
      used = error
    }
  }
  throw used
}

const outcomeOf = (
  ring: TenantKeys,
  { opened, disclosure }: Prepared,
  token: NewToken,
  created: Created,
  context: UseContext,
  now: number,
): Outcome => {
  if (created.kind === 'created') {
    const { id, seq } = created
    const row = { ...token, id, seq, version: 1, modified_by: null, modified_at: null }
    return { kind: 'created', row, opened, disclosure: shownTo(row, disclosure, context) }
  }
  const row = created.token
  return {
    kind: 'duplicate',
    row,
    opened: openToken(ring, row, now),
    disclosure: shownTo(row, decide(context.caller.grants, 'token:read', row), context),
  }
}

const recordOf = (
  deps: VaultDeps,
  { kind, row, disclosure }: Outcome,
  context: UseContext,
  now: number,
): AuditRecord => {
  if (kind === 'created') return doneRecord(deps, row, 'create', context, now)
  return duplicateRecord(deps, row, disclosure, context, now)
}

/** Stores validated definitions and writes their audit records, in order, all or none. */
export const storeDrafts = async (
  deps: VaultDeps,
  drafts: readonly Draft[],
  context: UseContext,
  work: Work,
  {
    parentSeq,
    reserve = reserveNew(deps, context, drafts.length),
  }: {
    readonly parentSeq?: number | undefined
    /** Of a caller that has reserved the tokens already. */
    readonly reserve?: ReserveMemory
  } = {},
): Promise<readonly Outcome[]> => {
  if (drafts.length === 0) return []
  const now = timeOf(deps, context)
  await reserveContent(drafts, reserve)
  const disclosures = await authorize(deps, drafts, context, now)
  const { tenantId, grants } = context.caller
  const [ring, tenant] = await Promise.all([
    deps.keys.tenant(tenantId),
    deps.tenants.get(tenantId),
    deps.journal.health(),
  ])
  // Without the tenant's settings a rule of the tenant would be skipped.
  if (tenant === undefined) throw new AppError('tenant_not_found', 'The tenant of this key was deleted.')
  const { settings } = tenant
  const prepared = await mapInTurns(drafts, (draft, i) =>
    prepare(deps, ring, settings, draft, disclosures[i] ?? 'redact', grants, now, work),
  )
  const { tokens, created } = await store(deps, ring, prepared, context, now, parentSeq)
  const duplicates = created.flatMap((outcome) => (outcome.kind === 'duplicate' ? [outcome.token] : []))
  reserve(storedBytes(duplicates))
  const sealed = duplicates.map((token) => token.sealed)
  const opening = sealed.length > 0 ? await deps.keys.tenant(tenantId, sealed) : ring
  const outcomes = await mapInTurns(prepared, (item, i) =>
    outcomeOf(opening, item, tokens[i] as NewToken, created[i] as Created, context, now),
  )
  await deps.journal.append(outcomes.map((outcome) => recordOf(deps, outcome, context, now)))
  return outcomes
}

/** `Vault.create`. `findParent` is called for valid inputs, and resolves to the sequence number of the parent token. */
export const createTokens = async (
  deps: VaultDeps,
  inputs: readonly TokenInput[],
  context: UseContext,
  findParent?: () => Promise<number>,
): Promise<readonly Token[]> => {
  if (inputs.length > deps.limits.tokens)
    throw invalid({ '': [`must not hold more than ${deps.limits.tokens} tokens`] })
  const reserve = reserveNew(deps, context, inputs.length)
  const issues = createIssues()
  const rules = { ...deps, issues, depth: deps.limits.depth, now: timeOf(deps, context) }
  const drafts = await mapInTurns(inputs, (input, i) =>
    parseDraft(input, rules, inputs.length > 1 ? String(i) : ''),
  )
  issues.check()
  const { work = bodyWork() } = context
  const outcomes = await storeDrafts(deps, drafts as readonly Draft[], context, work, {
    parentSeq: await findParent?.(),
    reserve,
  })
  return mapInTurns(outcomes, ({ row, opened, disclosure }) => {
    context.used?.add(stateOf(row, opened))
    noteWritten(row.id, versionOf(row))
    return serializeOrSummarize(deps, row, opened, disclosure, context.caller.grants, undefined, work)
  })
}
