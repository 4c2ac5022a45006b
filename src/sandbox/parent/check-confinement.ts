import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import type { ConfinementName } from '../types.ts'

const FIXES: Readonly<Record<ConfinementName, string>> = {
  uid: 'start as root, with the capabilities SETUID, SETGID and KILL at least, and let others read the installation',
  network: 'see "syscalls", or allow user namespaces',
  syscalls: 'Linux on x86-64 or arm64 with Perl, where seccomp(2) may be called',
  files:
    'Linux 5.13 or newer with Perl and landlock among its security modules (lsm=), where landlock(7) may be called',
}

/** Logs missing confinement. Throws `invalid` with the fix when it is `required`. */
export const checkConfinement = (
  { missing }: { readonly missing: readonly ConfinementName[] },
  required: readonly string[],
  log: Log,
): void => {
  if (missing.length > 0) log.warn({ missing }, 'sandbox degraded: confinement is missing')
  const lacking = missing.filter((name) => required.includes(name))
  if (lacking.length > 0)
    throw new AppError(
      'invalid',
      `SIDEVAULT_SANDBOX_REQUIRE names confinement that this system does not provide: ${lacking
        .map((name) => `${name} (needs: ${FIXES[name]})`)
        .join('; ')}. Provide it, or remove it from the list.`,
    )
}
