import type { Received, Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'

/** Where a body goes that comes in pieces: to the address that its host has now. Fails as the lookup does. */
export const dialedUpstream = async (
  { destination: { upstream, host, port } }: Resolved,
  { gateway: { deps, options }, timeout }: RequestContext,
): Promise<NonNullable<Received['dialed']>> => {
  if (upstream === 'demo') return { upstream }
  const address = await timeout.within(options.stepMs, deps.dial(host, port))
  return { upstream: `dialed_${upstream === 'http' ? 'http' : 'https'}`, address }
}
