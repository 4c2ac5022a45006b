/** A Buffer over the given bytes: engines and threads may return plain Uint8Arrays. */
export const buffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** A copy with its own memory if needed: sending a slice of a pooled buffer would send the complete pool. */
export const own = (bytes: Uint8Array): Buffer =>
  bytes.byteLength === bytes.buffer.byteLength ? (bytes as Buffer) : (Uint8Array.from(bytes) as Buffer)

/** One sealed value and its replacement. Compared by bytes: each seal has its own nonce. */
export interface Replacement {
  readonly from: Buffer
  readonly to: Buffer
}
