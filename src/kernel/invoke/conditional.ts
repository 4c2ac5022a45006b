import { runConditionally } from '../../common/conditional-call.ts'
import { isObject } from '../../common/json.ts'
import type { Caller, Operation } from '../../sdk/index.ts'
import { entityOperations, methodOf, pathParams } from '../check/operation.ts'
import type { Invocation } from '../types.ts'

interface EntityCall extends Pick<Invocation, 'ifMatch' | 'onVersion'> {
  readonly input: unknown
  readonly caller: Caller
}

/** Id of the entity of a call's path, which is the caller's tenant where the path names none. */
const entityIdOf = ({ http }: Operation, { input, caller }: EntityCall): string => {
  const name = pathParams(http).at(-1)
  return name !== undefined && isObject(input) ? String(input[name]) : caller.tenantId
}

/** Versions of `If-Match`, compared strongly (RFC 9110 §13.1.1); undefined: any. */
const versionsIn = (ifMatch: string | undefined): readonly string[] | undefined =>
  ifMatch === undefined || ifMatch.trim() === '*'
    ? undefined
    : [...ifMatch.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, version = '']) =>
        weak === undefined ? [version] : [],
      )

/**
 * Runs an operation: a change of an entity over the versions of `If-Match` only, else it rejects with
 * `precondition_failed`; a read reports the version of what it returns.
 */
export const createConditionalRun = (operations: readonly Operation[]) => {
  const entities = entityOperations(operations)
  return async (operation: Operation, call: EntityCall, work: () => Promise<unknown>): Promise<unknown> => {
    if (!entities.has(operation)) return work()
    const isChange = methodOf(operation) !== 'GET'
    const versions = isChange ? versionsIn(call.ifMatch) : undefined
    const { output, version } = await runConditionally({ id: entityIdOf(operation, call), versions }, work)
    if (version !== undefined && !isChange) call.onVersion?.(version)
    return output
  }
}
