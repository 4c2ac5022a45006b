import type { OwnRoute } from '../http/types.ts'

/** `/ca.pem`: the authorities that clients of the forward proxy should trust (completions §15), without a key. */
export const caPemRoute = (caPem: () => Promise<string>): OwnRoute => ({
  path: '/ca.pem',
  name: 'ca_pem',
  handler: async (_request, reply) => reply.type('application/x-pem-file').send(await caPem()),
})
