import { whenReady } from '../../common/eventual.ts'
import type { Accepted, Admitted } from '../request.ts'
import type { Step } from '../steps.ts'

/**
 * Counts a request for its key and its address. A call of the console counts for the key that it goes out with,
 * whatever its session is, so its caller is looked up here. Fails with `rate_limited`, and with `unauthenticated` for a
 * session that has ended.
 */
export const admit: Step<Accepted, Admitted> = (accepted, { gateway: { deps } }) => {
  const { key, address } = accepted
  const { admit, authenticator } = deps
  if (typeof key !== 'object')
    return whenReady(admit({ key, address }), () => ({ ...accepted, sessionCaller: undefined }))
  return whenReady(admit({ key: undefined, address }), () =>
    whenReady(authenticator.authenticate(key, 'token:use'), (sessionCaller) =>
      whenReady(admit({ key: undefined, keyId: sessionCaller.keyId, address: undefined }), () => ({
        ...accepted,
        sessionCaller,
      })),
    ),
  )
}
