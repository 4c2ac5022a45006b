import { isDeepStrictEqual } from 'node:util'
import { AppError, invalid } from '../common/errors.ts'
import { mergePatch } from '../common/json.ts'
import type { Caller, PluginContext } from '../sdk/index.ts'
import { createGrantCheck } from './grants-within-own.ts'

/** Members of a proxy's or reactor's `configuration` (completions §7). */
export const CONFIGURATION_MEMBERS = 25

/** Characters of a `configuration` as JSON (completions §11): lists hold a hundred of them. */
export const CONFIGURATION_LENGTH = 50_000

/** Throws `invalid` for a configuration of a proxy or reactor that is too large. */
export const checkConfiguration = (configuration: object): void => {
  if (Object.keys(configuration).length > CONFIGURATION_MEMBERS)
    throw invalid({ configuration: [`must have at most ${CONFIGURATION_MEMBERS} members`] })
  if (JSON.stringify(configuration).length > CONFIGURATION_LENGTH)
    throw invalid({ configuration: [`must have at most ${CONFIGURATION_LENGTH} characters as JSON`] })
}

/** Applies a merge patch (RFC 7386) to a request. Throws `invalid` when a member of `required` is then absent. */
export const patchedInput = <T extends object>(
  current: T,
  patch: object,
  required: readonly (keyof T & string)[],
): T => {
  for (const member of required)
    if ((patch as Record<string, unknown>)[member] === null)
      throw invalid({ [member]: ['must not be removed'] })
  return mergePatch(current, patch) as T
}

/**
 * Throws `forbidden` unless the caller may grant what an application holds that code acts as. It is a public or private
 * one: it need not be read, so a database writer gains nothing by hiding it.
 */
export const checkActing = async (
  context: Pick<PluginContext, 'tenants' | 'port'>,
  caller: Caller,
): Promise<void> => {
  const check = await createGrantCheck(context, caller)
  check('private', { permissions: [] })
}

/** Whether two requests for an entity differ in its name at most. */
export const differByName = (a: object, b: object): boolean => {
  const rest = (input: object) =>
    Object.fromEntries(
      Object.entries(input).filter(
        ([name, value]) => name !== 'name' && value !== undefined && value !== null,
      ),
    )
  return isDeepStrictEqual(rest(a), rest(b))
}

/**
 * Throws `invalid` unless code may act as this application, a public or private one of the tenant, and `forbidden`
 * unless the caller may grant what it holds, because the author of the code gets it. `from`: the request before the
 * change; a new name alone grants nothing.
 */
export const checkApplication = async (
  context: Pick<PluginContext, 'port' | 'tenants'>,
  caller: Caller,
  id: string,
  { from, to }: { readonly from?: object | undefined; readonly to: object },
): Promise<void> => {
  const application = await context.port('applications')?.get(caller.tenantId, id)
  if (application === undefined)
    throw invalid({ 'application.id': ['must be the id of an application of this tenant'] })
  if (application.type === 'management')
    throw invalid({ 'application.id': ['must be the id of a public or private application'] })
  if (from === undefined || !differByName(from, to)) await checkActing(context, caller)
}

/** Throws `invalid` at `member` unless the gateway accepts this URL as a destination. */
export const checkDestination = (
  context: Pick<PluginContext, 'checkDestination'>,
  member: string,
  url: string,
): void => {
  try {
    context.checkDestination(url)
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.status >= 500) throw thrown
    throw invalid({ [member]: [thrown.message] })
  }
}
