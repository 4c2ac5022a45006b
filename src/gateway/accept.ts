/** What a request's headers must be for it to be proxied (interface "Ephemeral proxy", completions §4 and §7). */
import { AppError } from '../common/errors.ts'
import { brandHeaders, PROXY_METHODS } from '../control-plane/agreement.ts'
import type { Caller } from '../sdk/index.ts'
import { type Destination, type Destinations, joinPath, parseSuffix } from './destination.ts'
import { type BrandRules, branded, type Head, single } from './headers.ts'

export interface Acceptance {
  readonly brands: BrandRules
  readonly destinations: Destinations
  /** Bytes of a body. */
  readonly bodyLimit: number
}

export interface Accepted {
  readonly caller: Caller
  readonly destination: Destination
  /** `:path` at the destination. */
  readonly path: string
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/** completions §4: `token:use` may come from a plain permission or any rule; which tokens it covers is the vault's. */
const mayUse = ({ grants }: Caller): boolean =>
  grants.permissions.includes('token:use') ||
  grants.rules.some(({ permissions }) => permissions.includes('token:use'))

/** Throws `forbidden` for a caller who may not use the proxy at all. */
export const checkCaller = (caller: Caller): void => {
  if (caller.applicationType !== 'private')
    throw new AppError(
      'forbidden',
      'The proxy takes the key of a private application. Use one that holds token:use.',
    )
  if (!mayUse(caller))
    throw new AppError('forbidden', 'The application lacks the permission token:use, which the proxy needs.')
}

/**
 * Who calls, and where the request is to go. Rejects with what is wrong; with what `authorize` rejects before anything
 * of the destination is looked at.
 */
export const acceptHead = async (
  head: Head,
  brand: string,
  { brands, destinations, bodyLimit }: Acceptance,
  authorize: (head: Head) => Promise<Caller>,
): Promise<Accepted> => {
  const method = single(head, ':method') ?? ''
  if (!PROXY_METHODS.includes(method))
    throw new AppError('method_not_allowed', 'The proxy takes GET, POST, PUT, PATCH and DELETE.', {
      allow: PROXY_METHODS,
    })
  const path = single(head, ':path') ?? ''
  if (!/^\/proxy(?:[/?]|$)/.test(path)) throw new Error('a request off /proxy reached the gateway')
  const suffix = parseSuffix(path, brands.keyParameters)
  const proxyKey = branded(head, brands, 'proxyKey') ?? suffix.proxyKeys[0]
  if (proxyKey !== undefined)
    throw new AppError('not_found', 'No proxy has this proxy key. Check the key, or create a proxy.')
  const caller = await authorize(head)
  if (Number(single(head, 'content-length') ?? 0) > bodyLimit)
    throw new AppError('too_large', `The body is larger than ${bodyLimit} bytes. Send a smaller one.`)
  const url = branded(head, brands, 'proxyUrl')
  if (url === undefined)
    throw new AppError(
      'malformed',
      `The request names no destination. Send its base URL in the header "${brandHeaders(brand).proxyUrl}".`,
    )
  const destination = destinations.parse(url)
  if (destinations.isOwn(destination, single(head, ':authority') ?? '', single(head, ':scheme') ?? ''))
    throw new AppError('destination_forbidden', 'The destination is this gateway itself. Use another one.')
  return {
    caller,
    destination,
    path: joinPath(destination, suffix),
    contentType: head.get('content-type')?.join(', '),
    contentEncoding: head.get('content-encoding')?.join(', '),
  }
}
