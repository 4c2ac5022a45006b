import { parseCidr } from './cidr.ts'
import { parseDestination } from './parse-url.ts'

/** What of the operator's settings decides where a request may go. */
export interface EgressSettings {
  /** CIDR blocks outside the public internet. */
  readonly allow: readonly string[]
  readonly ports: readonly number[] | '*'
  readonly http: boolean
}

/** Throws `invalid_destination` or `destination_not_allowed` for a URL that this gateway would not call, before anyone tries. */
export const createDestinationCheck = ({ allow, ports, http }: EgressSettings): ((url: string) => void) => {
  const policy = { allow: allow.map(parseCidr), ports, http }
  return (url) => {
    parseDestination(url, policy)
  }
}
