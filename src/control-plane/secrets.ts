import type { Settings } from './options.ts'

/** Name of the edge certificate. */
export const EDGE_CERTIFICATE = 'edge'

/** `Secret` messages. */
export const secrets = ({ tls }: Settings) =>
  tls === undefined
    ? []
    : [
        {
          name: EDGE_CERTIFICATE,
          tls_certificate: {
            certificate_chain: { inline_string: tls.certificate },
            private_key: { inline_string: tls.key },
          },
        },
      ]
