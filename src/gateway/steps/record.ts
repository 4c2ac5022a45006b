/** The audit record of a call, in the journal before anything leaves and before code runs. */
import type { Identified, Recorded } from '../request.ts'
import type { RequestContext } from '../request-context.ts'

/** The error of a promise that is awaited later must not count as unhandled until then. */
const ignore = (): void => {}

/** Begins the record. Those of the call's tokens, which follow in the same turn, share its write. */
export const record = <T extends Identified>(request: T, { telemetry }: RequestContext): T & Recorded => {
  const recorded = telemetry.called(request)
  recorded.catch(ignore)
  return { ...request, recorded }
}

/** Waits until the record is written. Rejects when the journal cannot be written. */
export const recorded = async <T extends Recorded>(request: T): Promise<T> => {
  await request.recorded
  return request
}
