import { auditRecord, pastOf } from '../../access/audit-record.ts'
import { isKeyClass } from '../../access/authorize.ts'
import type { AuditRecord } from '../../audit/types.ts'
import { UUID_PATTERN } from '../../common/ids.ts'
import { isObject } from '../../common/json.ts'
import type { AuditDeclaration, Call, Operation } from '../../sdk/index.ts'

const idIn = (value: unknown): string | undefined =>
  isObject(value) && typeof value.id === 'string' ? value.id : undefined

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

/** Id of the entity that an operation's record is about. */
const idOf = (
  { responseBody }: Operation,
  { id }: AuditDeclaration,
  input: unknown,
  output: unknown,
  call: Call,
): string => {
  const body = isObject(output) && responseBody !== undefined ? output[responseBody] : undefined
  return (id ? id(call, input, output) : (idIn(output) ?? idIn(body) ?? idIn(input))) ?? ''
}

/** The record of what an operation did; undefined for those that need none or write their own. */
export const doneRecord = (
  operation: Operation,
  input: unknown,
  output: unknown,
  call: Call,
): AuditRecord | undefined => {
  if (operation.audit === 'none') return undefined
  const { entity, verb, message = `${titled(entity)} ${pastOf(verb)}` } = operation.audit
  const id = idOf(operation, operation.audit, input, output, call)
  return auditRecord({ entity, id, operation: verb, message }, call, call.now)
}

/** The record of a result of code that a repeated response discloses again; undefined as for `doneRecord`. */
export const repeatedRecord: typeof doneRecord = (operation, input, output, call) => {
  if (operation.audit === 'none') return undefined
  const { entity } = operation.audit
  const id = idOf(operation, operation.audit, input, output, call)
  const message = `${titled(entity)} result retrieved from a repeated response`
  return auditRecord({ entity, id, operation: 'read', message }, call, call.now)
}

/** Entity and verb of a permission: `proxy:read` → reading a proxy. */
export const subjectOf = (operation: Operation): Subject | undefined => {
  if (operation.audit !== 'none') return operation.audit
  const { permission } = operation
  if (isKeyClass(permission)) return undefined
  const cut = permission.lastIndexOf(':')
  return { entity: permission.slice(0, cut).replaceAll(':', '_'), verb: permission.slice(cut + 1) }
}

const UUID = new RegExp(UUID_PATTERN)

/** An id that a denied caller named was not looked up. One that is no UUID may be anything, data included. */
const claimedId = (input: unknown): string => {
  const id = idIn(input) ?? ''
  return UUID.test(id) ? id : ''
}

/** The record of a call that was denied for lack of permission (completions §10). */
export const deniedRecord = (
  operation: Operation,
  input: unknown,
  call: Pick<Call, 'caller' | 'traceId' | 'now'>,
): AuditRecord | undefined => {
  const subject = subjectOf(operation)
  if (subject === undefined || call.caller.tenantId === '') return undefined
  const { entity, verb } = subject
  const message = `Denied: ${titled(entity)} ${verb}`
  return auditRecord({ entity, id: claimedId(input), operation: verb, message }, call, call.now)
}
