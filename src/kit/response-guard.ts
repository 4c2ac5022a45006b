import { ADMINISTRATOR, isAdministrator } from '../access/authorize.ts'
import { GUARD_MODES, isLooser } from '../access/guard-modes.ts'
import { AppError } from '../common/errors.ts'
import { Type } from '../common/json-schema.ts'
import type { Caller, GuardMode, PluginContext } from '../sdk/index.ts'
import { isOff } from './grants-within-own.ts'

const DESCRIPTION =
  'What the response guard does with a value of the request that comes back, at least: `off`, `report`, `replace`, `block`.'

/** The member `response_guard` of a record. */
export const guardMember = Type.Optional(Type.Enum(GUARD_MODES))

/** The member `response_guard` of a request: absent or null, none is set. */
export const guardInput = (number: number) =>
  Type.Optional(
    Type.Unsafe<GuardMode | null>({ enum: [...GUARD_MODES, null], description: DESCRIPTION, field: number }),
  )

/** The member `response_guard` of a response. */
export const guardOutput = (number: number) =>
  Type.Optional(Type.Enum(GUARD_MODES, { description: DESCRIPTION, field: number }))

/** Throws `forbidden` unless the caller may put the second mode in the place of the first; undefined: none is set. */
export type GuardChangeCheck = (before: GuardMode | undefined, after: GuardMode | undefined) => void

/**
 * The rule of the tenant's setting `grants_within_own` for the response guard (completions §17): a mode that holds for
 * calls of others is loosened by administrators.
 */
export const createGuardChangeCheck = async (
  context: Pick<PluginContext, 'tenants'>,
  caller: Caller,
): Promise<GuardChangeCheck> => {
  if (isAdministrator(caller) || (await isOff(context, caller))) return () => {}
  return (before, after) => {
    if (!isLooser(before, after)) return
    throw new AppError(
      'forbidden',
      `A looser "response_guard" needs a caller that holds ${ADMINISTRATOR.join(', ')}. Use the key of such an application, or leave "${before}".`,
    )
  }
}
