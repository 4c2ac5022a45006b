/** Hosts of the forward proxy, as a gateway reports them: all of them, each with its certificate. */
import { isObject } from '../common/json.ts'
import { isPemText } from './client-certificates.ts'
import type { BootstrapOptions, ForwardHost } from './options.ts'

const HOST = /^(?:\*\.)?[a-z0-9_.:-]{1,253}$/
const END = '-----END CERTIFICATE-----\n'

/** A report. Thousands of hosts have the certificates of one authority, so each chain is in it once. */
interface ForwardHostsReport {
  /** Certificates behind those of the hosts, PEM; may be empty. */
  readonly chains: readonly string[]
  /** With their own certificate only, and the number of their chain. */
  readonly hosts: readonly (ForwardHost & { readonly chain: number })[]
}

export const reportForwardHosts = (hosts: readonly ForwardHost[]): ForwardHostsReport => {
  const numbers = new Map<string, number>()
  const own = hosts.map(({ host, certificate, key }) => {
    const at = certificate.indexOf(END)
    const end = at === -1 ? certificate.length : at + END.length
    const chain = certificate.slice(end)
    const number = numbers.get(chain) ?? numbers.size
    numbers.set(chain, number)
    return { host, certificate: certificate.slice(0, end), key, chain: number }
  })
  return { chains: [...numbers.keys()], hosts: own }
}

/** The hosts of a report, with their chains. Throws an Error when it is invalid. */
export const parseForwardHosts = (body: unknown): readonly ForwardHost[] => {
  if (!isObject(body) || !Array.isArray(body.hosts) || !Array.isArray(body.chains))
    throw new Error('not a list of hosts')
  const chains: readonly unknown[] = body.chains
  return body.hosts.map((entry: unknown) => {
    if (!isObject(entry)) throw new Error('not a host')
    const { host, certificate, key } = entry
    const chain = chains[Number(entry.chain)]
    if (typeof host !== 'string' || !HOST.test(host) || !isPemText(certificate) || !isPemText(key))
      throw new Error('not a host')
    if (chain !== '' && !isPemText(chain)) throw new Error('not a chain')
    return { host, certificate: certificate + chain, key }
  })
}

/** `current` with these hosts; unchanged without a forward proxy. */
export const withForwardHosts = (
  current: BootstrapOptions,
  hosts: readonly ForwardHost[],
): BootstrapOptions =>
  current.forward === undefined ? current : { ...current, forward: { ...current.forward, hosts } }
