import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'

/** Addresses as a lookup returns them. */
export const withFamily = (addresses: readonly string[]): LookupAddress[] =>
  addresses.map((address) => ({ address, family: isIP(address) }))

/** The addresses of a name in a hosts file (hosts(5)). */
export const addressesIn = (hosts: string, name: string): readonly LookupAddress[] =>
  withFamily(
    hosts.split('\n').flatMap((line) => {
      const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
      const isOf = isIP(address) !== 0 && names.some((each) => each.toLowerCase() === name.toLowerCase())
      return isOf ? [address] : []
    }),
  )
