/** Tokens whose values may go to some places only (completions §14): the check of each use and read. */
import {
  admitsCode,
  type Denial,
  denialOf,
  isForCode,
  isLimited,
  isOpaque,
  listsOf,
  readable,
} from '../access/destinations.ts'
import { AppError } from '../common/errors.ts'
import type { Eventual } from '../common/eventual.ts'
import type { Json } from '../common/json.ts'
import { isWithin } from '../egress/destination-list.ts'
import type { Disclosure, EgressLimits, UseContext, UsedToken, UsePreview } from '../sdk/index.ts'
import type { TokenRow } from '../store/tokens/types.ts'
import { deniedRecord } from './audit-records.ts'
import { printableId } from './safe-id.ts'
import { timeOf, type VaultDeps } from './vault-deps.ts'

type UsedPreview = Extract<UsePreview, { kind: 'used' }>
type Row = Pick<TokenRow, 'id' | 'type' | 'container'> & { readonly egress?: EgressLimits | null }

const OWNERS = { token: 'the token', rule: 'the access rule', application: 'the application' } as const

/** The error of a denied use; it names the token and the host. */
const denialError = (
  { id }: Pick<Row, 'id'>,
  denial: Denial,
  destination: UseContext['destination'],
): AppError => {
  const tokens = [id]
  if (denial.code === 'egress_only')
    return new AppError(
      'egress_only',
      `${printableId(id)} is for proxies without a request transform only. Remove the transform, or use another token.`,
      { tokens },
    )
  const owner = OWNERS[denial.by]
  return new AppError(
    'destination_not_allowed',
    destination === undefined
      ? `${printableId(id)} may go to the destinations of ${owner} only, and code of a reactor has none. Use a proxy.`
      : `${printableId(id)} may not go to "${destination.host}": the destinations of ${owner} do not allow this request. Send it to an allowed destination, or change the list.`,
    { tokens },
  )
}

/** Writes the record of a denied call, then throws. */
const deny = async (
  deps: VaultDeps,
  row: Row,
  operation: 'use' | 'read',
  context: UseContext,
  error: AppError,
): Promise<never> => {
  await deps.journal.append([deniedRecord(deps, row, operation, context, timeOf(deps, context))])
  throw error
}

/** The disclosure of a token to a use that its rule allows. Code that gets the value is limited to its destinations. */
export const checkUse = (
  deps: VaultDeps,
  row: Row,
  disclosure: Disclosure,
  context: UseContext,
): Eventual<Disclosure> => {
  const { grants } = context.caller
  if (!isLimited(grants, row)) return disclosure
  const denial = denialOf(grants, row, context)
  if (denial !== undefined)
    return deny(deps, row, 'use', context, denialError(row, denial, context.destination))
  const { destination, code } = context
  if (destination === undefined) return readable(disclosure, row)
  if (code !== undefined && isForCode(row, context))
    for (const [, list] of listsOf(grants, row)) code.limit(list)
  return disclosure
}

/** `UsedToken.checkPath`; undefined for a token whose uses are not limited. */
export const pathCheckOf = (row: Row, context: UseContext): ((path: string) => void) | undefined => {
  const { destination, caller } = context
  if (destination === undefined || !isLimited(caller.grants, row)) return undefined
  return (path) => {
    const denial = denialOf(caller.grants, row, { ...context, destination: { ...destination, path } })
    if (denial !== undefined) throw denialError(row, denial, destination)
  }
}

/** `UsedToken.isOpaque`. */
export const opacityOf = (
  row: Row,
  { destination, caller, isAnonymous }: UseContext,
): Pick<UsedToken, 'isOpaque'> | undefined =>
  destination !== undefined && (isAnonymous || isOpaque(caller.grants, row)) ? { isOpaque: true } : undefined

/** The lower of both: callers may ask for less than their grants show. */
export const capDisclosure = <D extends Disclosure | 'denied'>(
  disclosure: D,
  maxDisclosure: UseContext['maxDisclosure'],
): D | 'mask' | 'redact' => (maxDisclosure && disclosure !== 'redact' ? maxDisclosure : disclosure)

/**
 * The disclosure of a token to a read. Denies with a record, and throws, when the token may not reach the code that
 * reads.
 */
export const checkRead = (
  deps: VaultDeps,
  row: Row,
  disclosure: Disclosure,
  context: UseContext,
): Eventual<Disclosure> => {
  const { code } = context
  const shown = capDisclosure(disclosure, context.maxDisclosure)
  if (!row.egress) return shown
  if (code === undefined || admitsCode(row, code)) return readable(shown, row)
  const error = denialError(row, { code: 'destination_not_allowed', by: 'token' }, code.destination)
  return deny(deps, row, 'read', context, error)
}

/** Code gets the data of a token as it is. */
export const giveToCode = (
  { code }: Pick<UseContext, 'code'>,
  { id }: Pick<Row, 'id'>,
  disclosure: Disclosure,
  data: Json | undefined,
): void => {
  if (disclosure === 'reveal' && data !== undefined) code?.given?.({ id, data })
}

/**
 * The disclosure of a token in a list, or of one that the caller did not name. A token that may not reach the code is
 * redacted.
 */
export const shownTo = <D extends Disclosure | 'denied'>(
  row: Pick<Row, 'egress'>,
  disclosure: D,
  { code, maxDisclosure }: Pick<UseContext, 'code' | 'maxDisclosure'>,
): D | 'mask' | 'redact' => {
  if (disclosure === 'denied') return disclosure
  const shown = capDisclosure(disclosure, maxDisclosure)
  if (!row.egress) return shown
  return code === undefined || admitsCode(row, code) ? readable(shown, row) : 'redact'
}

/** Whether `to` lets a value go to more places than `from`, or to more readers. */
export const widens = (from: EgressLimits | null, to: EgressLimits | null): boolean =>
  from !== null &&
  (!isWithin(from.destinations, to?.destinations) || (from.egress_only === true && !to?.egress_only))

/** Verdict on a use of the token by a proxy, for dry runs. */
export const verdictOf = (row: Row, context: UseContext): Pick<UsedPreview, 'destination' | 'rejection'> => {
  const { caller, destination } = context
  const denial = isLimited(caller.grants, row) ? denialOf(caller.grants, row, context) : undefined
  const by = denial?.code === 'destination_not_allowed' ? denial.by : null
  return {
    ...(destination && { destination: { host: destination.host, allowed: by === null, by } }),
    ...(denial && { rejection: denialError(row, denial, destination) }),
  }
}
