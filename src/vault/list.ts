import { decide, seesAllListed, visibility } from '../access/rules.ts'
import { readCursor, writeCursor } from '../common/cursor.ts'
import { AppError, invalid } from '../common/errors.ts'
import { bodyWork } from '../expressions/work.ts'
import type {
  Disclosure,
  PageRequest,
  Token,
  TokenFilter,
  TokenPage,
  TokenPermission,
  TokenState,
  UseContext,
} from '../sdk/index.ts'
import type { SearchNode, TokenHead, TokenListQuery } from '../store/tokens/types.ts'
import { deniedRecord, doneRecord, NO_TOKEN, searchedRecord } from './audit-records.ts'
import { giveToCode, shownTo } from './egress.ts'
import { bytesOf, type OpenedRow, openEach, withoutSeals } from './open.ts'
import { filterNode } from './search/filter.ts'
import { serializeToken, shownData } from './serialize-token.ts'
import { stateOf } from './used.ts'
import { timeOf, type VaultDeps } from './vault-deps.ts'

const SIZE = 100

const checkPage = (page: PageRequest): void => {
  if (!Number.isInteger(page.size) || page.size < 1 || page.size > SIZE)
    throw invalid({ size: [`must be a whole number from 1 to ${SIZE}`] })
  if (page.kind === 'offset' && (!Number.isInteger(page.page) || page.page < 1))
    throw invalid({ page: ['must be a whole number from 1 on'] })
}

const allOf = (a: SearchNode | undefined, b: SearchNode | undefined): SearchNode | undefined =>
  a && b ? { kind: 'and', nodes: [a, b] } : (a ?? b)

/** A match of a fingerprint discloses that a masked value equals another. */
const namesFingerprint = (node: SearchNode): boolean => {
  if ('nodes' in node) return node.nodes.some(namesFingerprint)
  if (node.kind === 'not') return namesFingerprint(node.node)
  return 'field' in node && node.field === 'fingerprint'
}

/** Largest offset: beyond any table, and an exact number. */
const offsetOf = (page: number, size: number): number => Math.min((page - 1) * size, 2 ** 50)

/** The matches that a page, with its total, confirms: those on it and, when there are others, the newest. */
const matchesOf = async (
  deps: VaultDeps,
  matching: Omit<TokenListQuery, 'size'>,
  page: readonly TokenHead[],
  total = page.length,
): Promise<readonly TokenHead[]> =>
  total > page.length ? [...page, ...(await deps.tokens.list({ ...matching, size: SIZE, offset: 0 }))] : page

/**
 * `Vault.list`: tokens that the caller may see, newest first, each disclosed by its own rule. A token whose data is
 * returned has a `read` record. So has each match of a search by `data` whose caller does not see the data, because it
 * confirms a guess.
 * `among`: a condition besides the caller's filter.
 */
export const listTokens = async (
  deps: VaultDeps,
  filter: TokenFilter,
  page: PageRequest,
  context: UseContext,
  permission: TokenPermission,
  among?: SearchNode,
): Promise<TokenPage> => {
  const { tenantId, grants } = context.caller
  const now = timeOf(deps, context)
  const visible = visibility(grants, permission)
  const rejectListing = () => deps.journal.append([deniedRecord(deps, NO_TOKEN, 'read', context, now)])
  if (visible === 'none') {
    await rejectListing()
    throw new AppError('forbidden', `Listing tokens needs the permission "${permission}".`)
  }
  checkPage(page)
  const ring = await deps.keys.tenant(tenantId)
  let values = 0
  const term = (text: string) => {
    values += 1
    return ring.term(text)
  }
  const wanted = filterNode(filter, term)
  const seesAll = seesAllListed(grants, permission)
  if (!seesAll) {
    if (wanted && namesFingerprint(wanted)) {
      await rejectListing()
      throw new AppError(
        'forbidden',
        'A search for fingerprints needs a key that sees the data of all tokens that it may list. Use a key with access rules that reveal them.',
      )
    }
    if (values > 0) await deps.admitGuesses?.(context.caller, values)
  }
  const where = allOf(among, wanted)
  const matching = { tenantId, now, visibility: visible, ...(where ? { where } : {}) }
  const cursor = page.kind === 'cursor'
  const place = { tenantId, list: 'tokens' }
  const [beforeSeq] = cursor && page.start !== undefined ? await readCursor(deps.keys, place, page.start) : []
  const query: TokenListQuery = cursor
    ? { ...matching, size: page.size + 1, ...(beforeSeq === undefined ? {} : { beforeSeq }) }
    : { ...matching, size: page.size, offset: offsetOf(page.page, page.size) }
  const [matches, total] = await Promise.all([
    deps.tokens.list(query),
    // A list by cursor costs the same for each page, and has no total.
    cursor ? undefined : deps.tokens.count(matching),
  ])
  const heads = matches.slice(0, page.size)
  const confirmed = new Map<string, TokenHead>()
  if (!seesAll && values > 0)
    for (const head of await matchesOf(deps, matching, heads, total)) confirmed.set(head.id, head)
  // First: an error from here on discloses the matches, too. No match confirms a guess as well, e.g. of "NOT data:…".
  if (!seesAll && values > 0)
    await deps.journal.append(
      confirmed.size === 0
        ? [searchedRecord(context, now)]
        : [...confirmed.values()].map((head) => doneRecord(deps, head, 'read', context, now, 'match')),
    )
  const { opened: maxOpened } = deps.limits
  if (bytesOf(heads) > maxOpened)
    throw invalid({
      size: [`must be smaller here: the tokens of this page are larger than ${maxOpened} bytes`],
    })

  const shown: { readonly row: OpenedRow; readonly disclosure: Disclosure }[] = []
  const data: Token[] = []
  const states: TokenState[] = []
  const { work = bodyWork() } = context
  await openEach(deps, context, heads, now, (row, open) => {
    const granted = decide(grants, permission, row)
    if (granted === 'denied') return
    context.decisions?.add(grants, permission, row)
    const disclosure = shownTo(row, granted, context)
    const opened = open()
    const value = shownData(deps, row.type, opened, disclosure, work)
    // Rejected as a complete page: a page with the data of some tokens only would mislead.
    work.use(0)
    const stored = withoutSeals(row)
    giveToCode(context, row, disclosure, value)
    if (value !== undefined) shown.push({ row: stored, disclosure })
    states.push(stateOf(row, opened))
    data.push(serializeToken(deps, stored, opened, value, grants))
  })
  if (shown.length > 0)
    await deps.journal.append(
      shown.map(({ row, disclosure }) => doneRecord(deps, row, 'read', context, now, disclosure)),
    )
  for (const { row, disclosure } of shown)
    deps.metrics.disclosed.inc({ type: row.type, purpose: 'read', disclosure })
  for (const state of states) context.used?.add(state)
  const last = heads.at(-1)
  const more = cursor && matches.length > page.size && last !== undefined
  return { data, total, ...(more ? { next: writeCursor(ring, place, [last.seq]) } : {}) }
}
