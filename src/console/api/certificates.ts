import type { Metrics } from './metrics.ts'

export interface NodeCertificate {
  readonly name: string
  /** ms since the epoch; undefined: it cannot be read. */
  readonly ends: number | undefined
}

const NAMES: Readonly<Record<string, string>> = {
  edge_certificate: 'edge',
  forward_ca: 'forward proxy authority',
}

/** The certificates that the node watches. */
export const nodeCertificates = (metrics: Metrics): readonly NodeCertificate[] =>
  metrics.of('certificate_expiry_timestamp_seconds').map(({ labels: { certificate = '' }, value }) => ({
    name: NAMES[certificate] ?? certificate,
    ends: value > 0 ? value * 1_000 : undefined,
  }))
