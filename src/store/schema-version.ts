import { AppError } from '../common/errors.ts'
import { SCHEMA_VERSION } from './migrations/index.ts'

/** Throws `invalid` for a schema newer than this program's: writing to it could lose data. */
export const rejectNewer = (version: number): void => {
  if (version > SCHEMA_VERSION)
    throw new AppError(
      'invalid',
      `The database has schema version ${version}, but this program supports versions up to ${SCHEMA_VERSION}. Start the newer Sidevault again, or restore a backup from before the upgrade. Nothing was changed.`,
    )
}
