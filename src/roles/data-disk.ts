import { statfs } from 'node:fs/promises'
import type { RetentionLimits } from '../audit/retention.ts'
import type { Config } from '../config.ts'

const DAY_MS = 86_400_000
const MIB = 2 ** 20
/** Default limit of journal bytes: the smaller of `bytes` and `part` of the disk. */
const RETAINED = { bytes: 10_240 * MIB, part: 1 / 4 } as const
/** The disk is nearly full when less than both is free. */
const LOW = { bytes: 10_240 * MIB, part: 1 / 10 } as const

/** The disk of the data directory: its bytes in all, and those free. */
interface Disk {
  readonly bytes: number
  readonly free: number
}

export const diskOf = async (dataDir: string): Promise<Disk> => {
  const { bsize, blocks, bavail } = await statfs(dataDir)
  return { bytes: bsize * blocks, free: bsize * bavail }
}

/** True when a disk is nearly full. */
export const isLow = ({ bytes, free }: Disk): boolean => free < Math.min(LOW.bytes, bytes * LOW.part)

/** The retention limits of the settings; without a limit of bytes, a part of this disk. */
export const retentionLimitsOf = (
  { auditRetention: { days, mib } }: Pick<Config, 'auditRetention'>,
  disk: Disk,
): RetentionLimits => {
  const forever = days === 'forever'
  const byDefault = forever ? Number.POSITIVE_INFINITY : Math.min(RETAINED.bytes, disk.bytes * RETAINED.part)
  return {
    ageMs: forever ? Number.POSITIVE_INFINITY : days * DAY_MS,
    bytes: mib === undefined ? byDefault : mib * MIB,
  }
}
