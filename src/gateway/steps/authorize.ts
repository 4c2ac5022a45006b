/** Whether the caller may use the proxy at all. */
import { authorize } from '../../access/authorize.ts'
import { AppError } from '../../common/errors.ts'
import type { Caller } from '../../sdk/index.ts'
import type { Identified } from '../request.ts'

const authorizeUse = (caller: Caller): void => {
  if (caller.applicationType !== 'private')
    throw new AppError(
      'forbidden',
      'The proxy requires the key of a private application. Use one that holds token:use.',
    )
  authorize(caller, 'token:use')
}

const authorizeDryRun = ({ caller, proxy }: Identified): void => {
  if (caller.applicationType === 'private') authorizeUse(caller)
  else if (caller.applicationType !== 'management')
    throw new AppError('forbidden', 'A dry run requires the key of a private or a management application.')
  else if (proxy !== undefined) authorize(caller, 'proxy:read')
}

/**
 * Throws `forbidden` for a caller who may not use the proxy or, in a dry run, not see the plan of a call. An anonymous
 * caller may use a proxy that asks for no key.
 */
export const authorizeCaller = (request: Identified): Identified => {
  if (request.dryRun) authorizeDryRun(request)
  else if (request.caller.actorType !== 'anonymous') authorizeUse(request.caller)
  return request
}
