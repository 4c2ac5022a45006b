import { type CallVersions, runConditionally } from '../../common/conditional-call.ts'
import { isObject } from '../../common/json.ts'
import type { Caller, Operation } from '../../sdk/index.ts'
import { entityOperations, methodOf, pathParams } from '../check/operation.ts'
import type { Invocation } from '../types.ts'

interface EntityCall extends Pick<Invocation, 'ifMatch' | 'onVersion'> {
  readonly input: unknown
  readonly caller: Caller
}

/** Id of the entity of a call's path, which is the caller's tenant where the path names none. */
const pathIdOf = ({ http }: Operation, { input, caller }: EntityCall): string => {
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

/** The version of the entity at the location of a new one. */
const createdVersion = ({ location }: Operation, output: unknown, { written }: CallVersions) => {
  const path = location?.(output as never) ?? ''
  return [...written].find(([id]) => path.endsWith(`/${encodeURIComponent(id)}`))?.[1]
}

/**
 * Runs an operation: a change of an entity over the versions of `If-Match` only, else it rejects with
 * `precondition_failed`; a read, a create and an update report the version of what they return.
 */
export const createConditionalRun = (operations: readonly Operation[]) => {
  const { changing, versioned } = entityOperations(operations)
  return async (operation: Operation, call: EntityCall, work: () => Promise<unknown>): Promise<unknown> => {
    if (!changing.has(operation) && !versioned.has(operation)) return work()
    const id = methodOf(operation) === 'POST' ? undefined : pathIdOf(operation, call)
    const asked = changing.has(operation) ? versionsIn(call.ifMatch) : undefined
    const { output, versions } = await runConditionally({ id, versions: asked }, work)
    if (!versioned.has(operation)) return output
    const version =
      id === undefined
        ? createdVersion(operation, output, versions)
        : (versions.written.get(id) ?? versions.read)
    if (version !== undefined) call.onVersion?.(version)
    return output
  }
}
