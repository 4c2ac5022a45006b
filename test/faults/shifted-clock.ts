import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Response } from '../kit/sidevault.ts'
import { until } from '../supervisor/processes.ts'

const SHIFTED = new URL('clock-shift.js', import.meta.url).href
export const HOUR = 3_600_000

export type ShiftedClock = ReturnType<typeof createShiftedClock>

/** A clock that all processes of a program with the settings `env` go by: this machine's, shifted. */
export const createShiftedClock = (t: Test) => {
  const file = join(t.testdir(), 'shift')
  const shift = (ms: number): void => {
    writeFileSync(`${file}.new`, String(ms))
    renameSync(`${file}.new`, file)
  }
  shift(0)
  return {
    env: { NODE_OPTIONS: `--import=${SHIFTED}`, CLOCK_SHIFT: file },
    /** Shifts it by ms from now on, and waits until what `create` makes has times by it. */
    jump: async (ms: number, create: (body: object) => Promise<Response>, timeout: number): Promise<void> => {
      shift(ms)
      const about = Date.now() + ms
      const goesBy = async () => {
        const { json } = await create({ data: 'what time is it' })
        return Math.abs(Date.parse(json?.created_at) - about) < HOUR / 4
      }
      await until('the new time counts', goesBy, timeout)
    },
  }
}
