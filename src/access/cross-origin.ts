import { ANY_ORIGIN, isCrossOrigin, isOpenToAny } from '../common/cross-origin.ts'
import { AppError } from '../common/errors.ts'
import type { Caller, Operation } from '../sdk/index.ts'

const denied = (detail: string) => new AppError('origin_not_allowed', detail)

/**
 * `origin_not_allowed` unless a page of this origin may make the call (completions §20). A session counts as its
 * application, whose `*` does not hold for it.
 */
export const originIssue = (
  { actorType, applicationType, allowedOrigins = [] }: Caller,
  { rpc }: Pick<Operation, 'rpc'>,
  origin: string,
): AppError | undefined => {
  if (applicationType !== 'public')
    return denied(
      'The call has an Origin header: it comes from a page in a browser, whose users can read the key. Private and ' +
        'management keys are for servers. Use a public key or a session in pages; a server that forwards ' +
        'requests of browsers removes the header.',
    )
  if (!isCrossOrigin(rpc))
    return denied(
      'Pages of other origins cannot make this call. Make it from a server, without an Origin header.',
    )
  if (origin !== ANY_ORIGIN && allowedOrigins.includes(origin)) return undefined
  if (actorType === 'application' && isOpenToAny(rpc) && allowedOrigins.includes(ANY_ORIGIN)) return undefined
  return denied(
    'The application of this key does not allow the origin of the page. Add it to "allowed_origins" of the application.',
  )
}
