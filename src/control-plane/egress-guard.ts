/**
 * Which addresses a destination may have (completions §7). Envoy checks them twice, on every address that a name
 * resolves to and on the address it is about to dial, so that no answer of a DNS server gets around it (DESIGN §7.5).
 */
import { type Cidr, parseCidr, subtract } from './ranges.ts'

/** Everything that is not plain public unicast (IANA special-purpose registries, RFC 6890), and Azure's wire server. */
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
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
].map(parseCidr)

/** Cloud metadata and instance credential addresses. */
const METADATA = [
  '100.100.100.200/32',
  '168.63.129.16/32',
  '169.254.169.254/32',
  '169.254.169.253/32',
  '169.254.169.123/32',
  '169.254.170.2/32',
  '169.254.170.23/32',
  '192.0.0.192/32',
  'fd00:ec2::254/128',
  'fd00:ec2::23/128',
  'fd00:ec2::253/128',
  'fd20:ce::254/128',
  'fe80::a9fe:a9fe/128',
]

/** "No address": who dials it reaches this machine, by whatever listens there. */
const UNSPECIFIED = ['0.0.0.0/32', '::/128']

/** IPv6 networks whose last 32 bits are an IPv4 address: mapped ones, and those behind a NAT64 (RFC 6052). */
const EMBEDDING = ['::ffff:', '64:ff9b::']

/** Denied whatever the operator allows, an IPv4 address also by its IPv6 forms. */
const NEVER: readonly Cidr[] = [...METADATA, ...UNSPECIFIED]
  .flatMap((block) =>
    block.includes(':')
      ? [block]
      : [block, ...EMBEDDING.map((network) => network + block.replace('/32', '/128'))],
  )
  .map(parseCidr)

/** The blocks that destinations may not have, given what the operator allows. Metadata and unspecified addresses stay in it. */
export const deniedRanges = (allowed: readonly string[]): readonly Cidr[] => {
  const holes = subtract(allowed.map(parseCidr), NEVER)
  return subtract(NOT_PUBLIC, holes)
}

const RBAC = 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC'
const IP_PORT = 'type.googleapis.com/envoy.extensions.rbac.matchers.upstream_ip_port.v3.UpstreamIpPortMatcher'

const cidrRange = ({ address, prefixLength }: Cidr) => ({ address_prefix: address, prefix_len: prefixLength })

/** First guard: addresses that the DNS cache drops from what a name resolved to. */
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

export interface OwnListener {
  readonly addresses: readonly string[]
  readonly port: number
}

/** Second guard: refuses, at the moment of dialing, a denied address and this gateway's own listener. */
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
                permissions: own.addresses.map((address) => dialed(parseCidr(address), own.port)),
              },
            }),
      },
    },
  },
})
