/** The mode of the response guard for one call (completions §17). */
import { isLooser } from '../../access/guard-modes.ts'
import type { GuardMode } from '../../sdk/index.ts'

/** Settings that have a say; the strictest of them holds. */
type GuardSetting = 'tenant' | 'application' | 'proxy' | 'call'

export interface Guard {
  readonly mode: GuardMode
  /** The setting that decided. */
  readonly from: GuardSetting | 'default'
  /** Whether the gateway asks Envoy for the response: also for values that no caller may read, whatever the mode. */
  readonly isAsked: boolean
}

const DEFAULT = { mode: 'off', from: 'default' } as const

/** The strictest of these modes, in this order; of equal ones the first. */
export const strictest = (
  modes: Readonly<Record<GuardSetting, GuardMode | undefined>>,
): Pick<Guard, 'mode' | 'from'> => {
  let decided: Pick<Guard, 'mode' | 'from'> = DEFAULT
  for (const from of ['tenant', 'application', 'proxy', 'call'] as const) {
    const mode = modes[from]
    if (mode !== undefined && (decided.from === 'default' || isLooser(mode, decided.mode)))
      decided = { mode, from }
  }
  return decided
}
