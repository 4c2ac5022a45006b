import { createHash, X509Certificate } from 'node:crypto'

const MAGIC = 0xfeedfeed
const VERSION = 2
const TRUSTED_CERTIFICATE = 2
/** The digest of a key store without a password (JDK, `JavaKeyStore.getPreKeyedHash`). */
const PASSWORD = 'changeit'
const WHITENER = 'Mighty Aphrodite'

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Modified UTF-8 with its length, of ASCII text. */
const text = (value: string): Buffer => {
  const bytes = Buffer.from(value, 'latin1')
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/**
 * A Java key store (JKS) of trusted certificates, which every JDK reads. Its password, `changeit`, only guards against
 * accidents.
 */
export const javaKeyStore = (certificates: readonly string[], now: number): Buffer => {
  const created = Buffer.alloc(8)
  created.writeBigInt64BE(BigInt(now))
  const entries = certificates.map((pem, index) => {
    const der = new X509Certificate(pem).raw
    return Buffer.concat([
      uint32(TRUSTED_CERTIFICATE),
      text(`authority-${index}`),
      created,
      text('X.509'),
      uint32(der.length),
      der,
    ])
  })
  const content = Buffer.concat([uint32(MAGIC), uint32(VERSION), uint32(entries.length), ...entries])
  const digest = createHash('sha1')
    .update(Buffer.from(PASSWORD, 'utf16le').swap16())
    .update(WHITENER)
    .update(content)
    .digest()
  return Buffer.concat([content, digest])
}
