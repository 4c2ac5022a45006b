/** Helpers of the built-in plugins (`#kit`). Not part of the contract: other plugins import `sidevault/sdk` only. */
export { holds, isAdministrator } from '../access/authorize.ts'
export { exceeds } from '../access/grant-subset.ts'
export {
  authorityError,
  type CertificateInfo,
  describeCertificates,
  identityErrors,
  plainCertificates,
  plainKey,
} from '../common/certificates.ts'
export { parseIsoTime } from '../common/clock.ts'
export { type FieldIssue, throwIfInvalid } from '../common/errors.ts'
export { eachInTurn, yieldIfDue } from '../common/event-loop.ts'
export { newKey, randomBase58 } from '../common/ids.ts'
export { createKeyedMutex } from '../common/keyed-mutex.ts'
export { isConflict, retryOnConflict } from '../common/retry-on-conflict.ts'
export { createShares } from '../common/shares.ts'
export { weigh } from '../common/weight.ts'
export { isWithin } from '../egress/destination-list.ts'
export { segmentsOf } from '../egress/path-pattern.ts'
export { BODY_ONLY, MAX_SURFACES, parseSurfaces } from '../egress/surfaces.ts'
export * from './changes.ts'
export * from './code-warnings.ts'
export * from './destinations.ts'
export * from './grants-within-own.ts'
export * from './lists.ts'
export { notFound, unknownPermission } from './not-found.ts'
export * from './permissions.ts'
export * from './response-guard.ts'
export * from './schemas.ts'
