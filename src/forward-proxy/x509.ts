/** X.509 certificates (RFC 5280) as DER. Loads the ASN.1 library: import it on first use. */
import { createHash, createPublicKey, type KeyObject, sign, type X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { promisify } from 'node:util'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509'

/** What a certificate says, besides its signature. Times in ms since the epoch, in whole seconds. */
export interface CertificateFields {
  /** Big-endian, without a sign bit. */
  readonly serialNumber: Buffer
  readonly issuer: Name
  readonly subject: Name
  readonly notBefore: number
  readonly notAfter: number
  /** The subject's public or private key. */
  readonly key: KeyObject
  readonly extensions: readonly Extension[]
}

const COMMON_NAME = '2.5.4.3'
/** Characters of PrintableString (ITU-T X.680, section 41.4). Other texts are UTF8String. */
const PRINTABLE = /^[A-Za-z0-9 '()+,./:=?-]*$/

/** A name with a common name only; without one, the empty name. */
export const nameOf = (commonName?: string): Name => {
  if (commonName === undefined) return new Name()
  const value = new AttributeValue(
    PRINTABLE.test(commonName) ? { printableString: commonName } : { utf8String: commonName },
  )
  return new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: COMMON_NAME, value })])])
}

const extension = (extnID: string, critical: boolean, value: object): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) })

/** `pathLength`: how many authorities may be below this one; undefined: this is none. */
export const basicConstraints = (pathLength?: number): Extension => {
  const value = pathLength === undefined ? {} : { cA: true, pathLenConstraint: pathLength }
  return extension(id_ce_basicConstraints, true, new BasicConstraints(value))
}

export const keyUsage = (usage: 'signs certificates' | 'signs handshakes'): Extension => {
  const { keyCertSign, cRLSign, digitalSignature } = KeyUsageFlags
  const flags = usage === 'signs certificates' ? keyCertSign | cRLSign : digitalSignature
  const bits = new KeyUsage()
  bits.fromNumber(flags)
  return extension(id_ce_keyUsage, true, bits)
}

export const serverAuthentication = (): Extension =>
  extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth]))

/** DNS names, or addresses. `critical`: the subject is empty. */
export const alternativeNames = (hosts: readonly string[], critical = false): Extension => {
  const names = hosts.map(
    (host) => new GeneralName(isIP(host) === 0 ? { dNSName: host } : { iPAddress: host }),
  )
  return extension(id_ce_subjectAltName, critical, new SubjectAlternativeName(names))
}

const publicKeyInfo = (key: KeyObject): SubjectPublicKeyInfo => {
  const spki = key.type === 'public' ? key : createPublicKey(key)
  return AsnConvert.parse(spki.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo)
}

/** SHA-1 of the public key (RFC 5280 §4.2.1.2, method 1). */
const keyIdentifierOf = (key: KeyObject): Buffer =>
  createHash('sha1')
    .update(Buffer.from(publicKeyInfo(key).subjectPublicKey))
    .digest()

export const subjectKeyIdentifier = (key: KeyObject): Extension =>
  extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(keyIdentifierOf(key)))

/** An issuer as its certificates name it: the bytes of its name, which some clients compare, and its key. */
export interface Issuer {
  readonly name: Name
  readonly identifier: Extension
}

export const issuerOf = ({ raw, publicKey }: X509Certificate): Issuer => {
  const { subject, extensions = [] } = AsnConvert.parse(raw, Certificate).tbsCertificate
  const own = extensions.find(({ extnID }) => extnID === id_ce_subjectKeyIdentifier)
  const keyIdentifier =
    own === undefined
      ? new KeyIdentifier(keyIdentifierOf(publicKey))
      : AsnConvert.parse(own.extnValue, SubjectKeyIdentifier)
  return {
    name: subject,
    identifier: extension(id_ce_authorityKeyIdentifier, false, new AuthorityKeyIdentifier({ keyIdentifier })),
  }
}

/** Algorithms of signatures by curve (RFC 5758 §3.2). */
const ECDSA: Readonly<Record<string, { readonly algorithm: string; readonly hash: string }>> = {
  prime256v1: { algorithm: '1.2.840.10045.4.3.2', hash: 'sha256' },
  secp384r1: { algorithm: '1.2.840.10045.4.3.3', hash: 'sha384' },
  secp521r1: { algorithm: '1.2.840.10045.4.3.4', hash: 'sha512' },
}
/** PKCS #1 v1.5 with SHA-256, whose parameters are NULL (RFC 4055 §5). */
const RSA = { algorithm: '1.2.840.113549.1.1.11', hash: 'sha256', parameters: null }

/** Throws an Error for keys of another kind. */
const algorithmOf = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) => {
  const algorithm = asymmetricKeyType === 'rsa' ? RSA : ECDSA[asymmetricKeyDetails?.namedCurve ?? '']
  if (algorithm === undefined)
    throw new Error('Certificates are signed with RSA, or EC on P-256, P-384 or P-521.')
  return algorithm
}

const signInThread = promisify(sign)

/** The certificate, DER, signed with the issuer's private key. Throws an Error for keys that cannot sign one. */
export const signCertificate = async (fields: CertificateFields, signingKey: KeyObject): Promise<Buffer> => {
  const { serialNumber, issuer, subject, notBefore, notAfter, key, extensions } = fields
  const { hash, ...algorithm } = algorithmOf(signingKey)
  const signatureAlgorithm = new AlgorithmIdentifier(algorithm)
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: new Uint8Array(serialNumber).buffer,
    signature: signatureAlgorithm,
    issuer,
    validity: new Validity({ notBefore: new Date(notBefore), notAfter: new Date(notAfter) }),
    subject,
    subjectPublicKeyInfo: publicKeyInfo(key),
    extensions: new Extensions([...extensions]),
  })
  const signature = await signInThread(hash, Buffer.from(AsnConvert.serialize(tbsCertificate)), signingKey)
  const signatureValue = new Uint8Array(signature).buffer
  return Buffer.from(
    AsnConvert.serialize(new Certificate({ tbsCertificate, signatureAlgorithm, signatureValue })),
  )
}
