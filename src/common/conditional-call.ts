import { AsyncLocalStorage } from 'node:async_hooks'
import { AppError } from './errors.ts'

/** A call on one entity, whose version `ETag` names and `If-Match` asks for (RFC 9110 §13.1.1). */
interface ConditionalCall {
  /** Absent: the call creates the entity. */
  readonly id?: string | undefined
  /** The call may write over these versions only; absent: over any. */
  readonly versions?: readonly string[] | undefined
  /** The version that it read. The first one counts: what it read later is as new, or newer. */
  read?: string
  /** Versions of the entities that it wrote, by id. */
  readonly written: Map<string, string>
}

/** The versions of a call that has ended. */
export type CallVersions = Readonly<Pick<ConditionalCall, 'read' | 'written'>>

const running = new AsyncLocalStorage<ConditionalCall>()

/**
 * Runs `work` for an entity, and returns its result with the versions that it wrote or read. The call follows the
 * asynchronous context, so operations need not pass it on.
 */
export const runConditionally = async <T>(
  call: Pick<ConditionalCall, 'id' | 'versions'>,
  work: () => Promise<T>,
): Promise<{ readonly output: T; readonly versions: CallVersions }> => {
  const own: ConditionalCall = { ...call, written: new Map() }
  const output = await running.run(own, work)
  return { output, versions: own }
}

/** Notes the version of an entity that was read, if the current call is for it. */
export const noteVersion = (id: string, version: string): void => {
  const call = running.getStore()
  if (call?.id === id) call.read ??= version
}

/** Notes the version of an entity that the current call wrote, or returns in the place of a new one. */
export const noteWritten = (id: string, version: string): void =>
  void running.getStore()?.written.set(id, version)

/** True when the current call may write over certain versions of this entity only. */
export const isConditional = (id: string): boolean => {
  const call = running.getStore()
  return call?.id === id && call.versions !== undefined
}

export const preconditionFailed = (): AppError =>
  new AppError(
    'precondition_failed',
    'The entity has another version than If-Match names. Read it again, then repeat the change with its ETag.',
  )

/**
 * Throws `precondition_failed` when the current call may not write over this version. The write that follows must
 * itself be bound to the version.
 */
export const checkVersion = (id: string, version: string): void => {
  const call = running.getStore()
  if (call?.id === id && call.versions?.includes(version) === false) throw preconditionFailed()
}
