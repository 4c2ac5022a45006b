/**
 * The addresses that a destination may have (completions §7). Envoy checks every address that a name resolves to, and
 * again the address it dials, against DNS rebinding (docs/security-model.md, "Egress").
 */
import { type Cidr, parseCidr } from '../common/cidr.ts'
import { subtract } from './cidr.ts'

/** All addresses that are not public unicast (IANA special-purpose registries, RFC 6890), and Azure's wire server. */
const NOT_PUBLIC: readonly Cidr[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // Global unicast is 2000::/3 (RFC 4291). The rest includes embedded IPv4 (mapped, SIIT, NAT64), ULA and link-local.
  '::/3',
  '4000::/2',
  '8000::/1',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map(parseCidr)

/** Cloud metadata and instance credential addresses. */
const METADATA = [
  '100.80.80.80/32', // UCloud
  '100.96.0.96/32', // Volcengine
  '100.100.100.200/32', // Alibaba
  '168.63.129.16/32', // Azure
  '169.254.0.23/32', // Tencent
  '169.254.42.42/32', // Scaleway
  '169.254.169.250/32', // Rancher
  '169.254.169.254/32', // AWS, Google, Azure, Oracle, DigitalOcean and others
  '169.254.169.255/32', // Akamai
  '169.254.169.253/32', // AWS: names, time, containers, pods
  '169.254.169.123/32',
  '169.254.170.2/32',
  '169.254.170.23/32',
  '192.0.0.192/32', // Oracle
  'fd00:42::42/128', // Scaleway
  'fd00:a9fe:a9fe::1/128', // Akamai
  'fd00:c1::a9fe:a9fe/128', // Oracle
  'fd00:ec2::23/128', // AWS
  'fd00:ec2::123/128',
  'fd00:ec2::253/128',
  'fd00:ec2::254/128',
  'fd20:ce::254/128', // Google
  'fe80::a9fe:a9fe/128', // OpenStack
]

/** Unspecified addresses. Dialing one connects to this machine. */
const UNSPECIFIED = ['0.0.0.0/32', '::/128']

/** IPv6 networks whose last 32 bits are an IPv4 address: compatible, mapped, SIIT, and behind a NAT64 (RFC 6052). */
const EMBEDDING = ['::', '::ffff:', '::ffff:0:', '64:ff9b::']

/** The 6to4 network of an IPv4 address (RFC 3056). */
const sixToFour = (address: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  return `2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::/48`
}

/** Always denied, even if the operator allows them; IPv4 addresses also in their IPv6 forms. */
const NEVER: readonly Cidr[] = [...METADATA, ...UNSPECIFIED]
  .flatMap((block) => {
    if (block.includes(':')) return [block]
    const address = block.replace('/32', '')
    return [block, ...EMBEDDING.map((network) => `${network}${address}/128`), sixToFour(address)]
  })
  .map(parseCidr)

/**
 * The denied blocks, without those that the operator allows. Metadata and unspecified addresses are always included.
 */
export const deniedRanges = (allowed: readonly string[]): readonly Cidr[] => {
  const holes = subtract(allowed.map(parseCidr), NEVER)
  return subtract(NOT_PUBLIC, holes)
}

const RBAC = 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC'
const IP_PORT = 'type.googleapis.com/envoy.extensions.rbac.matchers.upstream_ip_port.v3.UpstreamIpPortMatcher'

const cidrRange = ({ address, prefixLength }: Cidr) => ({ address_prefix: address, prefix_len: prefixLength })

/** First check: addresses that Envoy's DNS cache drops from a resolved name. */
export const resolvedAddressFilter = (denied: readonly Cidr[]) => ({ ranges: denied.map(cidrRange) })

const dialed = (block: Cidr, port?: number) => ({
  matcher: {
    name: 'envoy.rbac.matchers.upstream_ip_port',
    typed_config: {
      '@type': IP_PORT,
      upstream_ip: cidrRange(block),
      ...(port === undefined ? {} : { upstream_port_range: { start: port, end: port + 1 } }),
    },
  },
})

/** Ports that this gateway listens on, at any of the machine's addresses. */
export interface OwnListener {
  readonly addresses: readonly string[]
  readonly ports: readonly number[]
}

/** Second check: Envoy rejects the dialed address if it is denied or this gateway's own listener. */
export const dialedAddressFilter = (denied: readonly Cidr[], own: OwnListener) => ({
  name: 'envoy.filters.http.upstream_rbac',
  typed_config: {
    '@type': RBAC,
    rules: {
      action: 'DENY',
      policies: {
        not_public: {
          principals: [{ any: true }],
          permissions: denied.map((block) => dialed(block)),
        },
        ...(own.addresses.length === 0
          ? {}
          : {
              this_gateway: {
                principals: [{ any: true }],
                permissions: own.addresses.flatMap((address) =>
                  own.ports.map((port) => dialed(parseCidr(address), port)),
                ),
              },
            }),
      },
    },
  },
})
