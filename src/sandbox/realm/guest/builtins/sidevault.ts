/** `require('sidevault')`: the errors that code may throw (completions §7). */
import { CustomHttpResponseError, ReactorError, typedErrors } from '../typed-errors.ts'

export const builtin = {
  ReactorError,
  ...typedErrors,
  // the name that completions §7 has for it; customers' code mostly has the other
  InvalidPaymentError: typedErrors.InvalidPaymentMethodError,
  CustomHttpResponseError,
}
