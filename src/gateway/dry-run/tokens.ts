/** Tokens of a request in the report of a dry run. */
import { holds } from '../../access/authorize.ts'
import { AppError } from '../../common/errors.ts'
import type {
  AccessRule,
  Caller,
  DestinationVerdict,
  Surface,
  UseContext,
  UsedToken,
  UsePreview,
  Vault,
} from '../../sdk/index.ts'
import { mayNotUse } from '../language.ts'
import type { RequestPlan } from '../surfaces/plan.ts'

/** `unknown`: the token does not exist; `denied`: no grant covers it; `unresolved`: the call has no token:use. */
export type TokenPlan =
  | { readonly id: string; readonly use: 'unknown' | 'denied' | 'unresolved' }
  | {
      readonly id: string
      readonly use: 'allowed'
      readonly type: string
      readonly container: string
      readonly disclosure: string
      /** Where the request puts it. */
      readonly surfaces: readonly Surface[]
      readonly destination?: DestinationVerdict
      /** The deciding rule, or the plain permission. */
      readonly decided_by:
        | { readonly permission: 'token:use' }
        | { readonly rule: Pick<AccessRule, 'description' | 'priority' | 'container' | 'conditions'> }
    }

export interface PreviewedTokens {
  readonly plans: readonly TokenPlan[]
  /** The tokens with masked data. Undefined: some cannot be used, so a call would use none. */
  readonly used: ReadonlyMap<string, UsedToken> | undefined
  /** The first error of a use that its grants allow. */
  readonly rejection?: AppError | undefined
}

const planOf = (previewed: UsePreview, surfacesOf: RequestPlan['surfacesOf']): TokenPlan => {
  if (previewed.kind !== 'used') return { id: previewed.id, use: previewed.kind }
  const { id, disclosure, rule, token, destination } = previewed
  const reported = rule && {
    description: rule.description,
    priority: rule.priority,
    ...(rule.container === undefined ? {} : { container: rule.container }),
    ...(rule.conditions === undefined ? {} : { conditions: rule.conditions }),
  }
  const decided_by = reported === undefined ? { permission: 'token:use' as const } : { rule: reported }
  const { type, container } = token
  const verdict = destination && { destination }
  const surfaces = surfacesOf(id)
  return { id, use: 'allowed', type, container, disclosure, surfaces, decided_by, ...verdict }
}

/** Nothing is looked up for a caller who could use nothing. */
export const previewTokens = async (
  vault: Pick<Vault, 'preview'>,
  ids: readonly string[],
  surfacesOf: RequestPlan['surfacesOf'],
  context: UseContext,
): Promise<PreviewedTokens> => {
  if (!holds(context.caller, 'token:use'))
    return { plans: ids.map((id) => ({ id, use: 'unresolved' })), used: undefined }
  const previewed = await vault.preview(ids, context)
  const used = new Map(previewed.flatMap((token) => (token.kind === 'used' ? [[token.id, token.token]] : [])))
  const rejections = previewed.flatMap((token) => (token.kind === 'used' ? (token.rejection ?? []) : []))
  return {
    plans: previewed.map((token) => planOf(token, surfacesOf)),
    used: used.size === previewed.length && rejections.length === 0 ? used : undefined,
    rejection: rejections[0],
  }
}

/** Why a call with these tokens in its body is rejected, if it is. */
export const rejectionOf = (
  { plans, rejection }: Pick<PreviewedTokens, 'plans' | 'rejection'>,
  caller: Caller,
): AppError | undefined => {
  if (!holds(caller, 'token:use')) return mayNotUse()
  const wrong = plans.find(({ use }) => use !== 'allowed')
  if (wrong === undefined) return rejection
  return wrong.use === 'unknown'
    ? new AppError('invalid_expression', `No token has the id "${wrong.id}".`)
    : new AppError('forbidden', `The token "${wrong.id}" may not be used. Its container is not granted.`)
}
