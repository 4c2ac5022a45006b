/** The forward proxy's certificate authority (completions §15): in the store, or in a file of the operator. */
import { X509Certificate } from 'node:crypto'
import { createSigner, type Leaf, type Signer, type SigningAuthority } from './certificates.ts'
import { readAuthority } from './file-authority.ts'
import {
  type AuthorityVersion,
  ensureVersions,
  type StoredAuthorityDeps,
  signingVersion,
  trustedVersions,
} from './stored-authority.ts'

export interface Authority {
  /** Certificates that clients should trust, PEM: during a rotation the old and the new one. Makes the first one. */
  caPem(): Promise<string>
  /** A certificate for a host: a DNS name, `*.` and a name, or an address. */
  leaf(host: string): Promise<Leaf>
  /** When the newest certificate expires, ms since the epoch. 0: it cannot be read. */
  expiry(): Promise<number>
  /** Changes when certificates of hosts have to be signed anew at once. */
  generation(): Promise<number>
}

interface AuthorityDeps extends StoredAuthorityDeps {
  readonly store: StoredAuthorityDeps['store'] & { changes(): number | Promise<number> }
}

/** ms after which the versions are read again although no key has changed. */
const MAX_AGE_MS = 60_000

/** `file`: path of the operator's authority, in place of the store's. Read once, at its first use. */
export const createAuthority = (deps: AuthorityDeps, file?: string): Authority => {
  const { clock, store } = deps
  let known: { readonly changes: number; readonly at: number; readonly versions: readonly AuthorityVersion[] }
  let fileAuthority: SigningAuthority | undefined
  let signing: { readonly chain: string; readonly signer: Promise<Signer> } | undefined

  const versions = async (): Promise<readonly AuthorityVersion[]> => {
    const changes = await store.changes()
    const age = clock.now() - (known?.at ?? Number.NEGATIVE_INFINITY)
    if (known?.changes !== changes || age < 0 || age > MAX_AGE_MS)
      known = { changes, at: clock.now(), versions: await ensureVersions(deps) }
    return known.versions
  }
  const ofFile = async (path: string): Promise<SigningAuthority> => {
    fileAuthority ??= await readAuthority(path, clock)
    return fileAuthority
  }
  const current = async (): Promise<SigningAuthority> => {
    if (file !== undefined) return ofFile(file)
    const version = signingVersion(await versions(), clock.now())
    if (version === undefined) throw new Error('the authority was removed from the store')
    return version
  }
  return {
    caPem: async () => {
      if (file !== undefined) return (await ofFile(file)).chain
      return trustedVersions(await versions(), clock.now())
        .map(({ chain }) => chain)
        .join('')
    },
    leaf: async (host) => {
      const authority = await current()
      if (signing?.chain !== authority.chain)
        signing = { chain: authority.chain, signer: createSigner(authority) }
      return (await signing.signer).sign(host, clock.now())
    },
    expiry: async () => {
      try {
        const newest = file === undefined ? (await versions()).at(-1) : await ofFile(file)
        return newest === undefined ? 0 : Date.parse(new X509Certificate(newest.chain).validTo)
      } catch {
        return 0
      }
    },
    generation: async () => {
      if (file !== undefined) return 0
      const now = clock.now()
      return (await versions()).findLast(({ atOnce, signsFrom }) => atOnce && signsFrom <= now)?.version ?? 0
    },
  }
}
