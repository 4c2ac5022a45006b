import ipaddr from 'ipaddr.js'

/** CIDR block: `prefixLength` leading bits of `address` (an IPv4 or IPv6 address in text form). */
export interface Cidr {
  readonly address: string
  readonly prefixLength: number
}

/** Parses `10.1.0.0/16`, `fd00::/8` or a bare address (one host). Throws an Error that names the text. */
export const parseCidr = (text: string): Cidr => {
  const [address = '', length, ...rest] = text.trim().split('/')
  const known = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
  if (!known || address.includes('%') || rest.length > 0)
    throw new Error(`"${text}" is not an address or a CIDR block`)
  const bits = ipaddr.parse(address).kind() === 'ipv4' ? 32 : 128
  const prefixLength = length === undefined ? bits : Number(length)
  if ((length !== undefined && !/^\d{1,3}$/.test(length)) || prefixLength > bits)
    throw new Error(`"${text}" has a prefix length that is not between 0 and ${bits}`)
  return { address: ipaddr.parse(address).toString(), prefixLength }
}
