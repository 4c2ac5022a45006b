/** Hosts of the forward proxy, as a gateway reports them: all of them, each with its certificate. */
import { isObject } from '../common/json.ts'
import { isPemText } from './client-certificates.ts'
import type { BootstrapOptions, ForwardHost } from './options.ts'

const HOST = /^(?:\*\.)?[a-z0-9_.:-]{1,253}$/

/** Parses a gateway's report. Throws an Error when it is invalid. */
export const parseForwardHosts = (body: unknown): readonly ForwardHost[] => {
  if (!isObject(body) || !Array.isArray(body.hosts)) throw new Error('not a list of hosts')
  return body.hosts.map((one: unknown) => {
    if (!isObject(one)) throw new Error('not a host')
    const { host, certificate, key } = one
    if (typeof host !== 'string' || !HOST.test(host) || !isPemText(certificate) || !isPemText(key))
      throw new Error('not a host')
    return { host, certificate, key }
  })
}

/** `current` with these hosts; unchanged without a forward proxy. */
export const withForwardHosts = (
  current: BootstrapOptions,
  hosts: readonly ForwardHost[],
): BootstrapOptions =>
  current.forward === undefined ? current : { ...current, forward: { ...current.forward, hosts } }
