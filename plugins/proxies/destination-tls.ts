import {
  authorityError,
  type CertificateInfo,
  describeCertificates,
  identityErrors,
  plainCertificates,
  plainKey,
} from '#kit'
import {
  type DestinationTls,
  field,
  invalid,
  isoTime,
  newId,
  nullable,
  Secret,
  type Static,
  Type,
} from '#sdk'

const pem = (description: string, maxLength: number) => Type.String({ minLength: 1, maxLength, description })

/** Write-only: the client certificate for a destination, and the authorities for the destination's certificate. */
export const DestinationTlsInput = Type.Object(
  {
    client_certificate: nullable(
      1,
      pem('PEM chain, the leaf certificate first; sent to the destination.', 32_768),
    ),
    client_key: nullable(2, pem('PEM key of the certificate, without a passphrase; never returned.', 16_384)),
    ca: nullable(
      3,
      pem("PEM authorities for the destination's certificate, in place of the service's.", 65_536),
    ),
  },
  {
    title: 'ProxyDestinationTlsInput',
    description: 'Certificates for the destination, which must be https://. Never returned as they are.',
  },
)

const Info = Type.Object(
  {
    subject: field(1, Type.String()),
    fingerprint: field(2, Type.String({ description: 'SHA-256, hexadecimal.' })),
    expires_at: field(3, Type.String({ format: 'date-time' })),
  },
  { title: 'ProxyCertificate' },
)

/** The readable description of stored certificates. */
export const DestinationTlsOutput = Type.Object(
  {
    client_certificate: Type.Optional(field(1, Info)),
    ca: Type.Optional(Type.Array(Info, { field: 2 })),
  },
  { title: 'ProxyDestinationTls' },
)

/** As it is stored; `id` changes with each change of the certificates. */
export const StoredTls = Type.Object({
  id: Type.String(),
  client_certificate: Type.Optional(Type.String()),
  client_key: Type.Optional(Type.String()),
  ca: Type.Optional(Type.String()),
})
export type StoredTls = Static<typeof StoredTls>

const issuesOf = (
  { client_certificate, client_key, ca }: Static<typeof DestinationTlsInput>,
  now: number,
): Readonly<Record<string, string | undefined>> => {
  const authorities = ca ? authorityError(ca, now) : undefined
  if (!client_certificate && !client_key)
    return { ca: ca ? authorities : 'is required when there is no client certificate' }
  if (!client_certificate) return { client_certificate: 'is required with a client key', ca: authorities }
  if (!client_key) return { client_key: 'is required with a client certificate', ca: authorities }
  const wrong = identityErrors({ certificate: client_certificate, key: client_key }, now)
  return { client_certificate: wrong.certificate, client_key: wrong.key, ca: authorities }
}

const isSame = (a: Omit<StoredTls, 'id'>, b: Omit<StoredTls, 'id'>): boolean =>
  a.client_certificate === b.client_certificate && a.client_key === b.client_key && a.ca === b.ca

/** The stored form; `before` when nothing changed. Throws `invalid` with the issues of each member. */
export const parseDestinationTls = (
  input: Static<typeof DestinationTlsInput>,
  {
    now,
    url,
    before,
  }: { readonly now: number; readonly url: string; readonly before: StoredTls | undefined },
): StoredTls => {
  if (!/^https:/i.test(url)) throw invalid({ destination_tls: ['needs an https:// destination'] })
  const { client_certificate, client_key, ca } = input
  const next = {
    ...(client_certificate ? { client_certificate } : {}),
    ...(client_key ? { client_key } : {}),
    ...(ca ? { ca } : {}),
  }
  // Expired certificates do not prevent other changes.
  if (before !== undefined && isSame(before, next)) return before
  const issues = Object.entries(issuesOf(input, now)).flatMap(([member, issue]) =>
    issue === undefined ? [] : [[`destination_tls.${member}`, [issue]] as const],
  )
  if (issues.length > 0) throw invalid(Object.fromEntries(issues))
  // Text around the certificates is dropped: Envoy logs text that it cannot parse.
  return {
    id: newId(),
    ...(client_certificate ? { client_certificate: plainCertificates(client_certificate) } : {}),
    ...(client_key ? { client_key: plainKey(client_key) } : {}),
    ...(ca ? { ca: plainCertificates(ca) } : {}),
  }
}

const reported = ({ subject, fingerprint, expires }: CertificateInfo): Static<typeof Info> => ({
  subject,
  fingerprint,
  expires_at: isoTime(expires),
})

/** The API's description of stored certificates, without secrets. */
export const showDestinationTls = ({
  client_certificate,
  ca,
}: StoredTls): Static<typeof DestinationTlsOutput> => {
  const [own] = client_certificate === undefined ? [] : describeCertificates(client_certificate)
  return {
    ...(own === undefined ? {} : { client_certificate: reported(own) }),
    ...(ca === undefined ? {} : { ca: describeCertificates(ca).map(reported) }),
  }
}

/** The stored certificates for the gateway. */
export const tlsOf = ({ id, client_certificate, client_key, ca }: StoredTls): DestinationTls => ({
  id,
  ...(client_certificate === undefined || client_key === undefined
    ? {}
    : { client: { certificate: client_certificate, key: new Secret(client_key) } }),
  ...(ca === undefined ? {} : { authorities: ca }),
})
