/** `require('sidevault')`: the errors that code may throw (completions §7). */
import { CustomHttpResponseError, ReactorError, typedErrors } from '../typed-errors.ts'

export const builtin = { ReactorError, ...typedErrors, CustomHttpResponseError }
