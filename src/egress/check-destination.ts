import { parseCidr } from '../common/cidr.ts'
import { parseDestination } from './parse-url.ts'

/** The egress settings of the operator. */
interface EgressSettings {
  /** CIDR blocks outside the public internet. */
  readonly allow: readonly string[]
  readonly ports: readonly number[] | '*'
  readonly http: boolean
}

/**
 * Returns a check of URLs that throws `invalid_destination` or `destination_not_allowed`. It does not resolve names.
 */
export const createDestinationCheck = ({ allow, ports, http }: EgressSettings): ((url: string) => void) => {
  const policy = { allow: allow.map(parseCidr), ports, http }
  return (url) => {
    parseDestination(url, policy)
  }
}
