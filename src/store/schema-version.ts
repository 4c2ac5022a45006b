import { AppError } from '../common/errors.ts'
import { FIRST_VERSION, SCHEMA_VERSION } from './migrations/index.ts'

/**
 * Throws `invalid` for a schema newer than this program's, since writing to it could lose data, and for one of before
 * the first migration. 0: an empty database.
 */
export const rejectUnsupportedVersion = (version: number): void => {
  if (version > 0 && version < FIRST_VERSION)
    throw new AppError(
      'invalid',
      'The database is of Sidevault 0.1.0, whose data this version cannot read. Set SIDEVAULT_DATA_DIR to a new directory (and SIDEVAULT_STORE to an empty database), or start 0.1.0 again. Nothing was changed.',
    )
  if (version > SCHEMA_VERSION)
    throw new AppError(
      'invalid',
      `The database has schema version ${version}, but this program supports versions up to ${SCHEMA_VERSION}. Start the newer Sidevault again, or restore a backup from before the upgrade. Nothing was changed.`,
    )
}
