/** Certificates of the bound hosts, in memory only (completions §15). */
import type { Clock } from '../common/clock.ts'
import type { Authority } from './authority.ts'
import type { Leaf } from './certificates.ts'

/** Renewals change chains, and each change sends all of them to Envoy: a small share of the hosts every ten seconds. */
const RENEWAL_MS = 10_000
const RENEWED_TOGETHER = 1 / 500

interface Leaves {
  /**
   * A certificate for each host. The same array when none has changed. New hosts have theirs at once; certificates past
   * half of their life are renewed a few at a time, the oldest first.
   */
  forHosts(hosts: readonly string[]): Promise<readonly Leaf[]>
}

const isDue = ({ notBefore, notAfter }: Leaf, now: number): boolean =>
  now > notBefore + (notAfter - notBefore) / 2 || now < notBefore

export const createLeaves = ({
  authority,
  clock,
}: {
  readonly authority: Pick<Authority, 'leaf' | 'generation'>
  readonly clock: Clock
}): Leaves => {
  let known: { readonly hosts: readonly string[]; readonly generation: number } | undefined
  let current: readonly Leaf[] = []
  let renewedAt = clock.now()

  const renewed = async (leaves: readonly Leaf[]): Promise<readonly Leaf[]> => {
    const now = clock.now()
    if (Math.abs(now - renewedAt) < RENEWAL_MS) return leaves
    renewedAt = now
    const due = leaves.filter((leaf) => isDue(leaf, now)).sort((a, b) => a.notAfter - b.notAfter)
    if (due.length === 0) return leaves
    const chosen = due.slice(0, Math.ceil(leaves.length * RENEWED_TOGETHER))
    const fresh = new Map<string, Leaf>()
    for (const { host } of chosen) fresh.set(host, await authority.leaf(host))
    return leaves.map((leaf) => fresh.get(leaf.host) ?? leaf)
  }

  return {
    forHosts: async (hosts) => {
      const generation = await authority.generation()
      if (known?.hosts !== hosts || known.generation !== generation) {
        const retained = new Map(
          known?.generation === generation ? current.map((leaf) => [leaf.host, leaf]) : [],
        )
        const isSame = hosts.length === retained.size && hosts.every((host) => retained.has(host))
        const leaves: Leaf[] = []
        if (!isSame) for (const host of hosts) leaves.push(retained.get(host) ?? (await authority.leaf(host)))
        if (!isSame) current = leaves
        known = { hosts, generation }
      }
      current = await renewed(current)
      return current
    },
  }
}
