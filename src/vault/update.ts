import { usesMoreAt } from '../access/destinations.ts'
import { decide, disclosesMoreAt, levelOf, seesData, seesDataIn } from '../access/rules.ts'
import { checkVersion, noteWritten } from '../common/conditional-call.ts'
import { AppError, concurrentChange, invalid } from '../common/errors.ts'
import { inOwnTurn } from '../common/event-loop.ts'
import { deeperThan, type Json, mergePatch, valueAt } from '../common/json.ts'
import { retryOnConflict } from '../common/retry-on-conflict.ts'
import { bodyWork } from '../expressions/work.ts'
import type { Disclosure, Token, TokenPatch, UseContext, Work } from '../sdk/index.ts'
import type { TokenRow } from '../store/tokens/types.ts'
import { deniedRecord, doneRecord, duplicateRecord } from './audit-records.ts'
import { isOn } from './create.ts'
import { maskOf } from './disclosure.ts'
import { giveToCode, shownTo, widens } from './egress.ts'
import { checkMask, indexTerms } from './index-terms.ts'
import { createIssues } from './issues.ts'
import { findToken, reject, tokenNotFound } from './read.ts'
import { completeData, type Opened, openToken, sealToken, splitEphemeral, tokenBinding } from './seal.ts'
import { serializeOrSummarize, serializeToken, shownData } from './serialize-token.ts'
import { type Draft, expressionsOf, parseDraft } from './token-input.ts'
import type { CompiledType } from './token-types.ts'
import { stateOf, versionOf } from './used.ts'
import { timeOf, type VaultDeps } from './vault-deps.ts'

/** A replaced member: the patch's, else the current one. */
const replaced = (patch: TokenPatch, name: keyof TokenPatch, current: unknown): unknown =>
  patch[name] === undefined ? current : patch[name]

/** The patched token as a valid create request. Throws `invalid`. */
const merge = (
  deps: VaultDeps,
  type: CompiledType,
  row: TokenRow,
  opened: Opened,
  patch: TokenPatch,
  now: number,
): Draft => {
  if (patch.data === null) throw invalid({ data: ['must not be removed'] })
  const merged = {
    type: row.type,
    data: patch.data === undefined ? completeData(opened) : mergePatch(completeData(opened), patch.data),
    mask:
      patch.mask === undefined || patch.mask === null
        ? replaced(patch, 'mask', opened.mask)
        : mergePatch(maskOf(type, opened), patch.mask),
    metadata:
      patch.metadata === undefined || patch.metadata === null
        ? replaced(patch, 'metadata', row.metadata)
        : mergePatch(row.metadata, patch.metadata),
    search_indexes: replaced(patch, 'search_indexes', opened.searchIndexes),
    fingerprint_expression: replaced(patch, 'fingerprint_expression', opened.fingerprintExpression),
    containers: replaced(patch, 'containers', [row.container]),
    destinations: replaced(patch, 'destinations', row.egress?.destinations),
    egress_only: replaced(patch, 'egress_only', row.egress?.egress_only),
    expires_at: patch.expires_at,
    deduplicate_token: patch.deduplicate_token,
  }
  const issues = createIssues()
  const draft = parseDraft(merged, { ...deps, issues, depth: deps.limits.depth + 1, now })
  issues.check()
  return draft as Draft
}

/** Ephemeral members in the patch get a new expiry; the others retain theirs. */
const resplit = (draft: Draft, opened: Opened, patch: TokenPatch, now: number) =>
  splitEphemeral(draft.type, draft.data, ({ at, seconds }) =>
    valueAt(patch.data, at) === undefined && opened.ephemeral.has(at)
      ? opened.ephemeral.get(at)?.until
      : now + seconds * 1000,
  )

/** The update would make a duplicate: returns the existing token, as far as the caller may read it. */
const respondWithDuplicate = async (
  deps: VaultDeps,
  existing: TokenRow,
  context: UseContext,
  now: number,
): Promise<Token> => {
  const disclosure = shownTo(existing, decide(context.caller.grants, 'token:read', existing), context)
  await deps.journal.append([duplicateRecord(deps, existing, disclosure, context, now)])
  const ring = await deps.keys.tenant(context.caller.tenantId, [existing.sealed])
  const opened = openToken(ring, existing, now)
  context.used?.add(stateOf(existing, opened))
  return serializeOrSummarize(deps, existing, opened, disclosure, context.caller.grants)
}

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** True when the patch changes expressions over the data. */
const changesExpressions = (type: CompiledType, before: Opened, draft: Draft): boolean =>
  !isEqual(draft.mask ?? type.mask, maskOf(type, before)) ||
  !isEqual(
    draft.fingerprintExpression ?? type.fingerprint,
    before.fingerprintExpression ?? type.fingerprint,
  ) ||
  !isEqual(draft.searchIndexes ?? type.searchIndexes, before.searchIndexes ?? type.searchIndexes)

const weaker = (a: Disclosure, b: Disclosure): Disclosure => (levelOf(a) < levelOf(b) ? a : b)

/** An attempt to update. Rejects with `conflict` after a concurrent write. */
const attempt = async (
  deps: VaultDeps,
  id: string,
  patch: TokenPatch,
  context: UseContext,
  work: Work,
): Promise<Token> => {
  const { caller } = context
  const { row, disclosure } = await findToken(deps, id, 'token:update', 'update', context)
  checkVersion(id, versionOf(row))
  const type = deps.types.get(row.type)
  if (!type) throw new AppError('unprocessable', "The plugin of this token's type is not installed.")
  const now = timeOf(deps, context)
  const [ring, tenant] = await Promise.all([
    deps.keys.tenant(caller.tenantId, [row.sealed]),
    deps.tenants.get(caller.tenantId),
    deps.journal.health(),
  ])
  const before = await inOwnTurn(() => openToken(ring, row, now))
  const draft = await inOwnTurn(() => merge(deps, type, row, before, patch, now))
  const moved = { id, container: draft.container }
  const granted = decide(caller.grants, 'token:update', moved)
  if (granted === 'denied') return reject(deps, row, 'update', context)
  const responded = weaker(disclosure, granted)
  const deny = async (detail: string): Promise<never> => {
    await deps.journal.append([deniedRecord(deps, row, 'update', context, now)])
    throw new AppError('forbidden', detail)
  }
  if (disclosesMoreAt(caller.grants, row, moved))
    return deny(
      'The key sees more data in the new container than in the current one. Use a key with an access rule that reveals the token in its current container.',
    )
  const sees = seesData(caller.grants, row)
  if (!sees && usesMoreAt(caller.grants, row, moved))
    return deny(
      'The key may send the token to more destinations from the new container than from the current one. Use a key with an access rule that reveals the token in its current container.',
    )
  if (!sees && widens(row.egress, draft.egress))
    return deny(
      'Only callers that may see the data of a token can widen its "destinations" and "egress_only". Use a key that holds token:use, or an access rule that reveals it.',
    )
  const addsFingerprint = patch.deduplicate_token === true && row.fingerprint === null
  if ((changesExpressions(type, before, draft) || addsFingerprint) && !sees)
    return deny(
      'Only callers that may see the data of a token can change its "mask", "fingerprint_expression" and "search_indexes", or add a fingerprint. Use a key that holds token:use, or an access rule that reveals it.',
    )

  const opened: Opened = {
    ...resplit(draft, before, patch, now),
    ...expressionsOf(draft),
  }
  await inOwnTurn(() => checkMask(deps, type, opened, work))
  const deduplicate = draft.deduplicate ?? isOn(tenant?.settings.deduplicate_tokens)
  const wanted =
    deduplicate || draft.fingerprintExpression !== undefined || isOn(tenant?.settings.fingerprint_tokens)
  const fingerprinted =
    (sees && wanted) || (row.fingerprint !== null && (wanted || patch.fingerprint_expression !== null))
  const metadata = draft.metadata ?? null
  const { fingerprint, terms } = await inOwnTurn(() =>
    indexTerms(deps, ring, type, opened, { metadata, egress: draft.egress }, fingerprinted, work),
  )
  const { version, ...unversioned } = row
  const { container } = draft
  const expires_at = patch.expires_at === undefined ? row.expires_at : (draft.expiresAt ?? null)
  const bound = tokenBinding(row.tenant_id, {
    ...row,
    container,
    expires_at,
    fingerprint,
    egress: draft.egress,
    metadata,
    version: version + 1,
  })
  const next = {
    ...unversioned,
    ...(await inOwnTurn(() => sealToken(ring, opened, bound))),
    container,
    metadata,
    fingerprint,
    egress: draft.egress,
    expires_at,
    modified_by: caller.actorId,
    // Later than any earlier change: stored responses are compared by it.
    modified_at: Math.max(now, (row.modified_at ?? 0) + 1),
  }
  // The token may have a duplicate already: an update that does not make one goes through.
  const differs = fingerprint !== row.fingerprint || container !== row.container
  const mayDeduplicate =
    fingerprint !== null &&
    (differs || patch.deduplicate_token === true) &&
    seesDataIn(caller.grants, container)
  const update = { row: next, version, terms, deduplicate: deduplicate && mayDeduplicate }
  const updated = await deps.tokens.update(update, now)
  if (updated.kind === 'stale') throw concurrentChange('The token was changed concurrently. Retry.')
  if (updated.kind === 'gone') throw tokenNotFound(id)
  if (updated.kind === 'duplicate') return respondWithDuplicate(deps, updated.token, context, now)
  noteWritten(id, versionOf({ ...next, version: version + 1 }))
  const shown = shownTo(next, responded, context)
  const data: Json | undefined = shownData(deps, row.type, opened, shown, work)
  await deps.journal.append([
    doneRecord(deps, next, 'update', context, now),
    ...(shown === 'reveal' ? [doneRecord(deps, next, 'read', context, now, shown)] : []),
  ])
  context.used?.add(stateOf({ ...next, version: version + 1 }, opened), 'own')
  giveToCode(context, next, shown, data)
  return serializeToken(deps, next, opened, data, caller.grants)
}

/**
 * `Vault.update`: merges into the stored token and writes only over the version that it read, so that no
 * concurrent change is lost (completions §5).
 */
export const updateToken = async (
  deps: VaultDeps,
  id: string,
  patch: TokenPatch,
  context: UseContext,
): Promise<Token> => {
  if (deeperThan(patch, deps.limits.depth))
    throw invalid({ data: [`must not nest deeper than ${deps.limits.depth}`] })
  const { work = bodyWork() } = context
  return retryOnConflict(() => attempt(deps, id, patch, context, work))
}
