import { AppError } from '../common/errors.ts'
import { SCHEMA_VERSION } from './migrations/index.ts'

/** Throws `invalid` for a schema newer than this program's: writing to it could lose data. */
export const rejectNewer = (version: number): void => {
  if (version > SCHEMA_VERSION)
    throw new AppError(
      'invalid',
      `The database has schema version ${version}, this program knows versions up to ${SCHEMA_VERSION}: it was last opened by a newer Sidevault. Start that version again, or restore a backup made before the upgrade; nothing was changed.`,
    )
}
