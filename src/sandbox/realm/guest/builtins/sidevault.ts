/** `require('sidevault')`: typed errors for code (completions §7). */
import { CustomHttpResponseError, ReactorError, typedErrors } from '../typed-errors.ts'

export const builtin = {
  ReactorError,
  ...typedErrors,
  // name in completions §7; most existing code uses the other
  InvalidPaymentError: typedErrors.InvalidPaymentMethodError,
  CustomHttpResponseError,
}
