/** Errors of host calls, as classes of the guest. */
import type { HostFailure } from '../abi.ts'
import { create, defineProperty } from './intrinsics.ts'
import { classForStatus, ReactorError, typedErrors } from './typed-errors.ts'

type ErrorClass = new (message: string) => Error

class AbortError extends Error {}
defineProperty(AbortError.prototype, 'name', { value: 'AbortError', configurable: true, writable: true })

const CLASSES: Readonly<Record<string, ErrorClass>> = Object.assign(create(null), {
  Error,
  TypeError,
  RangeError,
  SyntaxError,
  AbortError,
  ...typedErrors,
})

/** Error for a host's failure: of the named class, or of the class of its status. */
export const errorOf = ({ name, message, status, code }: HostFailure): Error => {
  const Class = CLASSES[name] ?? (status === undefined ? Error : classForStatus(status))
  const error = new Class(message)
  const member = (key: string, value: unknown) =>
    defineProperty(error, key, { value, configurable: true, enumerable: true, writable: true })
  if (code !== undefined) member('code', code)
  if (status !== undefined && (Class === Error || Class === ReactorError)) member('status', status)
  return error
}
