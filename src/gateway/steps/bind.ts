/** What binds the host of a request inside a tunnel (completions §15). */
import { AppError } from '../../common/errors.ts'
import { whenReady } from '../../common/eventual.ts'
import type { Bound, Identified } from '../request.ts'
import type { Step } from '../steps.ts'

const unbound = (host: string) =>
  new AppError(
    'destination_not_allowed',
    `The host "${host}" is no longer bound for this application. Bind it with "intercept" of a stored proxy, or with "destinations".`,
  )

const ambiguousPath = (host: string) =>
  new AppError(
    'destination_not_allowed',
    `Servers may read the path of this request in several ways, so the stored proxy of "${host}" that intercepts it is unclear. Send the normalized path: without empty segments, and without expressions or special encodings in the segments of a proxy's prefix.`,
  )

/**
 * The stored proxy, or the surfaces, of the tunnel's host. Fails with `destination_not_allowed` when nothing binds it.
 */
export const bind: Step<Identified, Bound> = (request, { gateway, telemetry }) => {
  const { caller, tunnel } = request
  const { bindings } = gateway.deps
  if (bindings === undefined || tunnel === undefined) throw new Error('a tunnel without the forward proxy')
  const { host, port, path } = tunnel
  return whenReady(bindings.request(caller, host, port, path), (binding) => {
    if (binding === undefined) throw unbound(host)
    if (binding === 'ambiguous') throw ambiguousPath(host)
    const bound = {
      ...request,
      tunnel,
      proxy: 'proxy' in binding ? binding.proxy : undefined,
      rest: 'proxy' in binding ? binding.rest : undefined,
      boundSurfaces: 'surfaces' in binding ? binding.surfaces : undefined,
    }
    telemetry.identified(bound)
    return bound
  })
}
