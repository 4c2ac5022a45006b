import type { AuditRecord } from '../../audit/types.ts'
import { UUID_PATTERN } from '../../common/ids.ts'
import { isObject } from '../../common/json.ts'
import type { Call, Caller, Operation } from '../../sdk/index.ts'

const MAX_ID = 400
const MAX_MESSAGE = 250

const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.slice(0, MAX_ID) : undefined

const idIn = (value: unknown): string | undefined => (isObject(value) ? text(value.id) : undefined)

const PAST: Readonly<Record<string, string>> = {
  create: 'created',
  read: 'retrieved',
  update: 'updated',
  delete: 'deleted',
  authorize: 'authorized',
}

/** `proxy_key` → "Proxy key". */
export const titled = (name: string) => {
  const words = name.replaceAll(/[_-]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

interface Subject {
  readonly entity: string
  readonly verb: string
  readonly message?: string
}

const record = (
  { entity, verb, message }: Subject,
  entityId: string,
  caller: Caller,
  traceId: string,
  now: number,
): AuditRecord => ({
  tenant_id: caller.tenantId,
  entity_type: entity,
  entity_id: entityId,
  operation: verb,
  actor_id: caller.actorType === 'anonymous' ? null : caller.actorId,
  actor_type: caller.actorType,
  message: (message ?? `${titled(entity)} ${PAST[verb] ?? verb}`).slice(0, MAX_MESSAGE),
  trace_id: traceId,
  created_at: now,
})

/** The record of what an operation did; undefined for those that need none or keep their own. */
export const doneRecord = (
  operation: Operation,
  input: unknown,
  output: unknown,
  call: Call,
): AuditRecord | undefined => {
  if (operation.audit === 'none') return undefined
  const { caller, traceId, now } = call
  const body =
    isObject(output) && operation.responseBody !== undefined ? output[operation.responseBody] : undefined
  const id = operation.audit.id
    ? text(operation.audit.id(call, input, output))
    : (idIn(output) ?? idIn(body) ?? idIn(input))
  return record(operation.audit, id ?? '', caller, traceId, now)
}

/** What a permission is about: `proxy:read` → reading a proxy. */
export const subjectOf = (operation: Operation): Subject | undefined => {
  if (operation.audit !== 'none') return operation.audit
  const { permission } = operation
  if (permission === 'none' || permission === 'any key') return undefined
  const cut = permission.lastIndexOf(':')
  return { entity: permission.slice(0, cut).replaceAll(':', '_'), verb: permission.slice(cut + 1) }
}

const UUID = new RegExp(UUID_PATTERN)

/** An id that a refused caller named: nobody has looked it up, and one that is no UUID may be anything, data included. */
const claimedId = (input: unknown): string => {
  const id = idIn(input) ?? ''
  return UUID.test(id) ? id : ''
}

/** The record of a call that was refused for lack of permission (completions §10). */
export const deniedRecord = (
  operation: Operation,
  input: unknown,
  caller: Caller,
  traceId: string,
  now: number,
): AuditRecord | undefined => {
  const subject = subjectOf(operation)
  if (subject === undefined || caller.tenantId === '') return undefined
  const { entity, verb } = subject
  return record(
    { entity, verb, message: `Denied: ${titled(entity)} ${verb}` },
    claimedId(input),
    caller,
    traceId,
    now,
  )
}
